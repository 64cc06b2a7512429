// Follows api/internal/builtins/PrefixTransformer.go, api/internal/builtins/SuffixTransformer.go,
// api/filters/prefix/prefix.go, api/filters/suffix/suffix.go.

package builtins

import (
	"strings"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// PrefixTransformer adds a prefix to names (`namePrefix:`).
type PrefixTransformer struct {
	Prefix     string      `json:"prefix,omitempty"`
	FieldSpecs *FieldSpecs `json:"fieldSpecs,omitempty"`
}

// Configure fails if there are no fieldSpecs. An empty list is valid and selects no fields.
func (t *PrefixTransformer) Configure(Env) error { return checkAffix(t.FieldSpecs) }

// Transform adds the prefix to the selected fields. If metadata.name is selected, the resource
// records the prefix and its previous identity. CustomResourceDefinitions, APIServices and
// Namespaces keep their names.
func (t *PrefixTransformer) Transform(list *krm.List, _ Warn) error {
	return addAffix(list, t.FieldSpecs, affix{
		text: t.Prefix,
		join: func(old string) string { return t.Prefix + old },
		note: func(r *krm.Resource, parts []string) { r.Prefixes = append(r.Prefixes, parts...) },
	})
}

// UseFields implements [FieldLister].
func (t *PrefixTransformer) UseFields(c *Config) { t.FieldSpecs = c.NamePrefix }

// Causes implements [Causer].
func (t *PrefixTransformer) Causes(e Edit) Likelihood { return likelyIf(e.Field == "name") }

// StandsFor implements [FieldForm].
func (t *PrefixTransformer) StandsFor() []KustomizationField {
	return []KustomizationField{{Name: "namePrefix", Key: "prefix"}}
}

// SuffixTransformer adds a suffix to names (`nameSuffix:`).
type SuffixTransformer struct {
	Suffix     string      `json:"suffix,omitempty"`
	FieldSpecs *FieldSpecs `json:"fieldSpecs,omitempty"`
}

// Configure fails if there are no fieldSpecs. An empty list is valid and selects no fields.
func (t *SuffixTransformer) Configure(Env) error { return checkAffix(t.FieldSpecs) }

// Transform is like [PrefixTransformer.Transform], for a suffix.
func (t *SuffixTransformer) Transform(list *krm.List, _ Warn) error {
	return addAffix(list, t.FieldSpecs, affix{
		text: t.Suffix,
		join: func(old string) string { return old + t.Suffix },
		note: func(r *krm.Resource, parts []string) { r.Suffixes = append(r.Suffixes, parts...) },
	})
}

// UseFields implements [FieldLister].
func (t *SuffixTransformer) UseFields(c *Config) { t.FieldSpecs = c.NameSuffix }

// Causes implements [Causer].
func (t *SuffixTransformer) Causes(e Edit) Likelihood { return likelyIf(e.Field == "name") }

// StandsFor implements [FieldForm].
func (t *SuffixTransformer) StandsFor() []KustomizationField {
	return []KustomizationField{{Name: "nameSuffix", Key: "suffix"}}
}

// PrefixSuffixTransformer runs a [PrefixTransformer] and then a [SuffixTransformer].
type PrefixSuffixTransformer struct {
	Prefix     string      `json:"prefix,omitempty"`
	Suffix     string      `json:"suffix,omitempty"`
	FieldSpecs *FieldSpecs `json:"fieldSpecs,omitempty"`
}

// Configure fails if there are no fieldSpecs. An empty list is valid and selects no fields.
func (t *PrefixSuffixTransformer) Configure(Env) error { return checkAffix(t.FieldSpecs) }

// Transform runs both transformers.
func (t *PrefixSuffixTransformer) Transform(list *krm.List, warn Warn) error {
	prefix := &PrefixTransformer{Prefix: t.Prefix, FieldSpecs: t.FieldSpecs}
	if err := prefix.Transform(list, warn); err != nil {
		return err
	}
	suffix := &SuffixTransformer{Suffix: t.Suffix, FieldSpecs: t.FieldSpecs}
	return suffix.Transform(list, warn)
}

// UseFields implements [FieldLister].
func (t *PrefixSuffixTransformer) UseFields(c *Config) { t.FieldSpecs = c.NamePrefix }

// Causes implements [Causer].
func (t *PrefixSuffixTransformer) Causes(e Edit) Likelihood { return likelyIf(e.Field == "name") }

func checkAffix(specs *FieldSpecs) error {
	if specs == nil {
		return advised(notGiven("fieldSpecs are missing"),
			"to change names, write fieldSpecs: [{path: metadata/name}], or use namePrefix and nameSuffix in the Kustomization")
	}
	return nil
}

// An affix is a prefix or suffix, with functions that add it to a name and record it in a
// resource.
type affix struct {
	text string
	join func(old string) string
	note func(r *krm.Resource, parts []string)
}

func addAffix(list *krm.List, fields *FieldSpecs, a affix) error {
	if a.text == "" {
		return nil
	}
	return list.Parts(func(part *krm.List) error { return a.addTo(part, fields) })
}

func (a affix) addTo(list *krm.List, fields *FieldSpecs) error {
	parts := strings.Split(a.text, ",")
	var added growth // of one resource
	edit := func(v yaml.Value) (yaml.Value, error) {
		if !v.IsNull() && !v.IsScalar() {
			return v, errNotScalar(v)
		}
		w := sameStyle(v, a.join(v.SourceText()))
		return w, added.add(v, w)
	}
	for i, r := range list.All() {
		orig := r.OrigID().GVK
		if keepsName(orig) {
			continue
		}
		specs := fields.pick(orig).specs
		if len(specs) == 0 {
			continue
		}
		var err error
		added = 0
		list.Change(i, func(r *krm.Resource) { err = a.apply(r, specs, parts, edit) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (a affix) apply(r *krm.Resource, specs []compiledSpec, parts []string, edit func(yaml.Value) (yaml.Value, error)) error {
	for i := range specs {
		spec := &specs[i]
		if spec.Path == "metadata/name" {
			a.note(r, parts)
			r.PushID()
		}
		if !spec.GVK().Selects(r.ID().GVK) {
			continue
		}
		v, err := spec.edit(r.Value(), yaml.Int, edit)
		if err != nil {
			return resourceError(r, err)
		}
		r.SetValue(v)
	}
	return nil
}

// keepsName reports whether objects of kind g must keep their names because other objects or the
// cluster depend on them.
func keepsName(g krm.GVK) bool {
	switch g.Kind {
	case "CustomResourceDefinition", "Namespace":
		return true
	case "APIService":
		return g.Group == "apiregistration.k8s.io"
	}
	return false
}
