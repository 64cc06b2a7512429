// Follows api/internal/builtins/LabelTransformer.go,
// api/internal/builtins/AnnotationsTransformer.go, api/filters/labels/labels.go,
// api/filters/annotations/annotations.go.

package builtins

import (
	"maps"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/lint"
)

// LabelTransformer adds labels, or replaces their values, in every field of FieldSpecs
// (`labels:`, `commonLabels:`).
type LabelTransformer struct {
	Labels     map[string]string `json:"labels,omitempty"`
	FieldSpecs *FieldSpecs       `json:"fieldSpecs,omitempty"`

	entries entries
	keys    []string // of Labels
	selects bool     // FieldSpecs include selectors
}

// Configure warns about labels that Kubernetes rejects. It never fails.
func (t *LabelTransformer) Configure(env Env) error {
	env.doubtLabels(t.Labels, "a label", true)
	t.entries = newEntries(t.Labels, t.FieldSpecs)
	t.keys = slices.Sorted(maps.Keys(t.Labels))
	t.selects = slices.ContainsFunc(t.FieldSpecs.All(), func(fs FieldSpec) bool {
		return fs.Kind == "Deployment" && strings.HasSuffix(fs.Path, "selector/matchLabels")
	})
	return nil
}

// Transform adds the labels. It fails if a field on the way to the labels is a scalar, or if the
// labels are not a mapping.
func (t *LabelTransformer) Transform(list *krm.List, warn Warn) error {
	if err := t.entries.add(list); err != nil || !t.selects {
		return err
	}
	lint.KeptSelectors(list, t.keys, warn)
	return nil
}

// UseFields implements [FieldLister].
func (t *LabelTransformer) UseFields(c *Config) { t.FieldSpecs = c.CommonLabels }

// Sets implements [Setter].
func (t *LabelTransformer) Sets(q FieldQuery) (s Setting, ok bool) {
	key := q.key()
	if t.Labels[key] == "" {
		return s, false
	}
	s.Where = t.FieldSpecs.describe()
	return s, q.ends("labels", key) || q.ends("matchLabels", key) || q.ends("selector", key)
}

// StandsFor implements [FieldForm].
func (t *LabelTransformer) StandsFor() []KustomizationField {
	return []KustomizationField{{Name: "labels", Each: true}, {Name: "commonLabels", Key: "labels", Instead: "labels"}}
}

// AnnotationsTransformer adds annotations, or replaces their values, in every field of FieldSpecs
// (`commonAnnotations:`).
type AnnotationsTransformer struct {
	Annotations map[string]string `json:"annotations,omitempty"`
	FieldSpecs  *FieldSpecs       `json:"fieldSpecs,omitempty"`

	entries entries
}

// Configure warns about annotations that Kubernetes rejects. It never fails.
func (t *AnnotationsTransformer) Configure(env Env) error {
	env.doubtLabels(t.Annotations, "an annotation", false)
	t.entries = newEntries(t.Annotations, t.FieldSpecs)
	return nil
}

// Transform is like [LabelTransformer.Transform], for annotations.
func (t *AnnotationsTransformer) Transform(list *krm.List, _ Warn) error { return t.entries.add(list) }

// UseFields implements [FieldLister].
func (t *AnnotationsTransformer) UseFields(c *Config) { t.FieldSpecs = c.CommonAnnotations }

// Sets implements [Setter].
func (t *AnnotationsTransformer) Sets(q FieldQuery) (s Setting, ok bool) {
	key := q.key()
	if t.Annotations[key] == "" {
		return s, false
	}
	s.Where = t.FieldSpecs.describe()
	return s, q.ends("annotations", key)
}

// StandsFor implements [FieldForm].
func (t *AnnotationsTransformer) StandsFor() []KustomizationField {
	return []KustomizationField{{Name: "commonAnnotations", Key: "annotations"}}
}

// entries are the entries to add to the mappings at fields.
type entries struct {
	fields *FieldSpecs
	pairs  []pair
	// annotates is true if fields include metadata.annotations without creating it. The mapping
	// nevertheless exists in resources for which kustomize keeps state in annotations.
	annotates bool
}

// A pair holds its value twice. If the key is missing, kustomize inserts the same YAML node
// everywhere; if the key exists, kustomize only copies the node's contents.
type pair struct {
	key   string
	added yaml.Value // linked: the shared node
	set   yaml.Value
}

func newEntries(m map[string]string, specs *FieldSpecs) entries {
	e := entries{fields: specs}
	e.annotates = slices.ContainsFunc(specs.All(), func(fs FieldSpec) bool {
		return fs.Path == "metadata/annotations" && !fs.CreateIfNotPresent
	})
	for _, k := range slices.Sorted(maps.Keys(m)) {
		quoted := yaml.SetStr(m[k]).Quoted()
		e.pairs = append(e.pairs, pair{k, yaml.Linked(m[k]).WithQuotes(quoted), yaml.Str(m[k]).WithQuotes(quoted)})
	}
	return e
}

func (e *entries) add(list *krm.List) error {
	if len(e.pairs) == 0 {
		return nil
	}
	return list.Parts(e.addTo)
}

func (e *entries) addTo(part *krm.List) error {
	a := adder{entries: e, list: part}
	edit := a.edit
	for i, r := range part.All() {
		a.at = i
		old := r.Value()
		if e.annotates && hasState(r) {
			old = withAnnotations(old)
		}
		v, err := e.fields.edit(old, r.ID().GVK, yaml.Map, edit)
		if err != nil {
			return resourceError(r, err)
		}
		if r.Origin != nil { // with an origin, kustomize rewrites the annotations
			if annotations := v.At("metadata", "annotations"); annotations.Type() == yaml.Map {
				v = v.WithAt(annotations.Unlinked(), "metadata", "annotations")
			}
		}
		if !v.Same(old) {
			part.Change(i, func(r *krm.Resource) { r.SetLinkedValue(v) })
		}
	}
	return nil
}

// An adder adds entries to the resource at a position of a list.
type adder struct {
	*entries
	list *krm.List
	at   int
}

// edit is [entries.edit] for a mapping of the resource. Many components may each add an entry, so
// a large mapping is extended in place if the list owns the resource.
func (a *adder) edit(m yaml.Value) (yaml.Value, error) {
	if m.Len() < yaml.RoomFields || m.Type() != yaml.Map || a.pairs[0].key == "" {
		return a.entries.edit(m)
	}
	room := a.list.Room(a.at)
	if room == nil {
		return a.entries.edit(m)
	}
	for i := range a.pairs {
		p := &a.pairs[i]
		switch at := room.Index(m, p.key); {
		case at < 0:
			m = room.With(m, p.key, p.added)
		case !p.in(m.Fields()[at].Value):
			return a.entries.edit(m) // it copies m
		}
	}
	return m, nil
}

// edit adds the entries to a mapping. A null that may not be created remains null.
func (e *entries) edit(m yaml.Value) (yaml.Value, error) {
	if m.Type() != yaml.Map {
		if m.IsNull() {
			return m, nil
		}
		return m, errFound("a mapping", m)
	}
	if e.pairs[0].key == "" { // the pairs are sorted by key
		return m, diag.BadValue.Errorf("a key is empty")
	}
	at := m.Finder(len(e.pairs))
	if e.in(&at) {
		return m, nil
	}
	fields := make([]yaml.Field, m.Len(), m.Len()+len(e.pairs))
	copy(fields, m.Fields())
	for _, p := range e.pairs {
		switch i := at.Index(p.key); {
		case i < 0:
			fields = append(fields, yaml.Field{Key: p.key, Value: p.added})
		case !p.in(fields[i].Value):
			fields[i].Value = p.set.WithStyleOf(fields[i].Value)
		}
	}
	return m.WithFields(fields...), nil
}

// in reports whether a mapping already has all pairs.
func (e *entries) in(at *yaml.Finder) bool {
	for i := range e.pairs {
		if !e.pairs[i].in(at.Get(e.pairs[i].key)) {
			return false
		}
	}
	return true
}

func (p *pair) in(v yaml.Value) bool { return v.Type() == yaml.String && v.Text() == p.set.Text() }
