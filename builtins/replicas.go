// Follows api/internal/builtins/ReplicaCountTransformer.go,
// api/filters/replicacount/replicacount.go.

package builtins

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Replica is an entry of `replicas:`.
type Replica struct {
	// Name is the current or a previous name of the resource.
	Name  string `json:"name,omitempty"`
	Count int64  `json:"count"`
}

// ReplicaCountTransformer sets the number of replicas of resources with a given name.
type ReplicaCountTransformer struct {
	Replica    Replica     `json:"replica,omitempty"`
	FieldSpecs *FieldSpecs `json:"fieldSpecs,omitempty"`
}

// Configure never fails.
func (t *ReplicaCountTransformer) Configure(Env) error { return nil }

// Transform fails if no resource has both the name and a kind in FieldSpecs. It warns if such
// resources exist but none has the field.
func (t *ReplicaCountTransformer) Transform(list *krm.List, warn Warn) error {
	count := yaml.Number(yaml.Int, strconv.FormatInt(t.Replica.Count, 10))
	found, set := false, false
	edit := func(old yaml.Value) (yaml.Value, error) {
		set = true
		switch {
		case !old.IsNull() && !old.IsScalar():
			return old, errNotScalar(old)
		case old.Type() == yaml.Int && old.Text() == count.Text():
			return old, nil
		}
		if old.Quoted() {
			return yaml.QuotedStr(count.Text()), nil
		}
		return count, nil
	}
	for _, i := range list.Named(t.Replica.Name) {
		r := list.At(i)
		for _, spec := range t.FieldSpecs.All() {
			if !t.matches(r, spec.GVK()) {
				continue
			}
			found = true
			if !spec.GVK().Selects(r.ID().GVK) {
				continue
			}
			v, err := spec.Edit(r.Value(), yaml.Int, edit)
			if err != nil {
				return resourceError(r, err)
			}
			if !v.Same(r.Value()) { // a field may be the name by which the next iteration finds r
				r = r.Copy()
				r.SetValue(v)
				list.Set(i, r)
			}
		}
	}
	if !found {
		return t.notFound(list)
	}
	if !set && warn != nil {
		warn(diag.NoReplicas, "replicas of %q: the resource has no such field%s", t.Replica.Name,
			diag.Next(func() []string { return []string{"remove the entry, or patch the field that sets the count"} }))
	}
	return nil
}

// UseFields implements [FieldLister].
func (t *ReplicaCountTransformer) UseFields(c *Config) { t.FieldSpecs = c.Replicas }

// Selects implements [Chooser].
func (t *ReplicaCountTransformer) Selects(Files) (list []*Selector) {
	for _, spec := range t.FieldSpecs.All() {
		list = append(list, &Selector{Kind: spec.Kind, Name: t.Replica.Name})
	}
	return list
}

// Sets implements [Setter].
func (t *ReplicaCountTransformer) Sets(q FieldQuery) (Setting, bool) {
	return Setting{Where: "it applies to resources named " + diag.OneLine(t.Replica.Name)}, q.among(t.FieldSpecs)
}

// Causes implements [Causer].
func (t *ReplicaCountTransformer) Causes(e Edit) Likelihood {
	return likelyIf(e.Field == "replicas" && strings.Contains(e.Name, t.Replica.Name))
}

// StandsFor implements [FieldForm].
func (t *ReplicaCountTransformer) StandsFor() []KustomizationField {
	return []KustomizationField{{Name: "replicas", Each: true, Key: "replica"}}
}

func (t *ReplicaCountTransformer) matches(r *krm.Resource, selector krm.GVK) bool {
	if id := r.ID(); id.Name == t.Replica.Name && selector.Selects(id.GVK) {
		return true
	}
	for i := range r.Prev {
		if id := r.PrevID(i); id.Name == t.Replica.Name && selector.Selects(id.GVK) {
			return true
		}
	}
	return false
}

func (t *ReplicaCountTransformer) notFound(list *krm.List) error {
	var kinds, names []string
	for _, spec := range t.FieldSpecs.All() {
		kinds = append(kinds, spec.GVK().String())
	}
	for _, r := range list.All() {
		if slices.ContainsFunc(t.FieldSpecs.All(), func(s FieldSpec) bool { return s.GVK().Selects(r.ID().GVK) }) {
			names = append(names, r.ID().Name, r.OrigID().Name)
		}
	}
	e := &diag.Error{
		Msg:   fmt.Sprintf("no resource named %q has replicas (kinds that can have them: %s)", t.Replica.Name, strings.Join(kinds, ", ")),
		Code:  diag.NoReplicas,
		Hints: t.unlisted(list),
	}
	if e.Hints == nil {
		e.Hints = diag.DidYouMean(t.Replica.Name, names)
	}
	if e.Hints == nil && len(names) > 0 {
		e.Hint("resources with replicas are: %s", diag.Some(slices.Compact(slices.Sorted(slices.Values(names)))))
	} else if e.Hints == nil {
		e.Hint("no resource here has replicas: check that the entry is in the layer that has the resource")
	}
	return diag.In(e, "name")
}
