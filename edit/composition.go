package edit

import (
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// CompositionFields lists the fields of a Composition in the order in which they are written.
var CompositionFields = []string{"apiVersion", "kind", "metadata", "catalogs", "transformersFrom", "transformerOverrides", "transformers",
	"transformerOrder"}

// isComposition reports whether the file is a Composition. Of the lists that edits change, a
// Composition has only resources: the paths of its ResourceAccumulator. Edits of other lists are
// refused.
func (k *Kustomization) isComposition() bool { return k.value.Get("kind").Text() == "Composition" }

// compositionField returns the value in a Composition that corresponds to a field of a
// Kustomization.
func (k *Kustomization) compositionField(name string) yaml.Value {
	switch name {
	case "resources":
		_, entry := k.accumulator()
		return entry.Get("paths")
	case "bases":
		return yaml.Value{}
	}
	k.refuse("a Composition has no %s", name)
	return yaml.Value{}
}

// setInComposition implements [Kustomization.set] for a Composition.
func (k *Kustomization) setInComposition(name string, v yaml.Value) {
	if name != "resources" {
		k.refuse("a Composition has no %s", name)
		return
	}
	i, entry := k.accumulator()
	transformers := slices.Clone(k.value.Get("transformers").Items())
	switch {
	case i < 0: // resources come first, so that later entries change them
		entry = yaml.MapOf(yaml.Field{Key: "apiVersion", Value: yaml.Str("builtin")},
			yaml.Field{Key: "kind", Value: yaml.Str("ResourceAccumulator")},
			yaml.Field{Key: "paths", Value: v})
		transformers = slices.Insert(transformers, 0, entry)
	case v.IsEmpty():
		transformers = slices.Delete(transformers, i, i+1)
	default:
		transformers[i] = put(entry, "paths", v)
	}
	x := yaml.SeqOf(transformers...)
	if x.IsEmpty() {
		x = yaml.Value{}
	}
	k.value = put(k.value, "transformers", x)
}

// accumulator returns the ResourceAccumulator in transformers and its index, or -1 if there is
// none. It refuses the edit if there are several.
func (k *Kustomization) accumulator() (int, yaml.Value) {
	at, found := -1, yaml.Value{}
	for i, t := range k.value.Get("transformers").Items() {
		if t.Get("apiVersion").Text() != "builtin" || t.Get("kind").Text() != "ResourceAccumulator" {
			continue
		}
		if at >= 0 {
			k.refuse("this Composition has several ResourceAccumulators")
			return at, found
		}
		at, found = i, t
	}
	return at, found
}

// refuse records the reason an edit is impossible in a Composition. The first reason is kept.
func (k *Kustomization) refuse(format string, args ...any) {
	if k.refused == nil {
		k.refused = diag.Errorf(diag.Pos{}, "", format, args...).Hint("edit its transformers by hand")
	}
}
