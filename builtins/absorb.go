// Follows api/resmap/reswrangler.go, api/resource/resource.go, api/types/generationbehavior.go.

package builtins

import (
	"maps"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/lint"
)

// Absorb adds a generated resource to list. If list contains a resource that has or had the
// identity of r, then r replaces it and takes over its name. With behavior "replace", r inherits
// the labels and annotations that it does not set itself; with "merge", it also inherits entries
// of data and binaryData.
//
// Absorb fails if r.Behavior is "create" or empty and list contains such a resource, and if it is
// "merge" or "replace" and list does not.
func Absorb(list *krm.List, r *krm.Resource, warn Warn) error {
	found := list.FindAny(r.ID())
	merges := r.Behavior == "merge" || r.Behavior == "replace"
	switch {
	case len(found) == 0 && merges:
		return missing(list, r)
	case len(found) == 0:
		return list.Append(r)
	case len(found) > 1:
		err := diag.Errorf(r.Pos, "", "%d resources match %s: expected one to merge into", len(found), r.ID()).With(diag.CannotMerge)
		for _, i := range found {
			err.Hint("%s", list.At(i).ID())
		}
		return err
	case !merges:
		err := diag.Errorf(r.Pos, "", "%s already exists", r.ID()).With(diag.ExistsAlready)
		if isHelm(r) { // charts have no behavior
			return err.Hint("set a different releaseName, unless the chart has fixed names")
		}
		return err.Hint("set the generator's behavior to merge or replace to change it")
	}
	old := list.At(found[0])
	lint.FileReplaced(old, r, warn)
	merged, err := mergeGenerated(old, r)
	if err != nil {
		return err
	}
	if merged.ID().Key() != old.ID().Key() {
		return diag.Errorf(r.Pos, "", "%s cannot replace %s", r.ID(), old.ID()).With(diag.CannotMerge)
	}
	list.Set(found[0], merged)
	return nil
}

func missing(list *krm.List, r *krm.Resource) error {
	var names []string
	for _, other := range list.All() {
		if other.ID().Kind == r.ID().Kind {
			names = append(names, other.OrigID().Name)
		}
	}
	err := diag.Errorf(r.Pos, "", "found no %s to %s", r.ID(), r.Behavior).With(diag.NothingToMerge)
	if slices.Contains(names, r.ID().Name) {
		return err.Hint("a resource with this name exists in a different namespace or with a different apiVersion")
	}
	if err.Hints = diag.DidYouMean(r.ID().Name, names); err.Hints == nil {
		err.Hint("use behavior: create to create it; merge and replace change resources that already exist")
	}
	return err
}

// mergeGenerated returns r completed with the inherited parts of old.
func mergeGenerated(old, r *krm.Resource) (*krm.Resource, error) {
	merged := r.Copy()
	v := r.Value()
	meta := v.Get("metadata")
	oldMeta := old.Value().Get("metadata")
	for _, field := range []string{"labels", "annotations"} {
		meta = withStrings(meta, field, withNulls(oldMeta.Get(field)), withNulls(meta.Get(field)))
	}
	meta = meta.With("name", sameStyle(meta.Get("name"), old.ID().Name))
	switch ns := old.ID().Namespace; {
	case ns == "":
		meta = meta.Without("namespace")
	case meta.Get("namespace").Exists():
		meta = meta.With("namespace", sameStyle(meta.Get("namespace"), ns))
	default:
		meta = meta.With("namespace", yaml.Str(ns))
	}
	v = v.With("metadata", meta)
	if r.Behavior == "merge" {
		data := old.Value().Get("data")
		if secret.Is(old.Value()) {
			var err error
			if data, err = encodedStringData(old); err != nil {
				return nil, err
			}
		}
		v = withStrings(v, "data", data, v.Get("data"))
		v = withStrings(v, "binaryData", old.Value().Get("binaryData"), v.Get("binaryData"))
	}
	merged.SetValue(v)
	merged.Prev, merged.Prefixes, merged.Suffixes, merged.RefVars = old.Prev, old.Prefixes, old.Suffixes, old.RefVars
	merged.Behavior = old.Behavior
	merged.NeedsHash = old.NeedsHash && r.NeedsHash
	merged.Transformations = old.Transformations
	if old.Origin != nil && (r.Behavior == "merge" || r.Origin == nil) {
		merged.Origin = old.Origin
	}
	return merged.Copy(), nil
}

// withStrings sets field of v to the union of two mappings, with all values as strings. Entries
// of over take precedence. If the union is empty, withStrings removes the field.
func withStrings(v yaml.Value, field string, base, over yaml.Value) yaml.Value {
	entries := base.StringMap()
	if entries == nil {
		entries = over.StringMap()
	} else {
		maps.Copy(entries, over.StringMap())
	}
	if len(entries) == 0 {
		return v.Without(field)
	}
	return v.With(field, yaml.StrMap(entries))
}

// withNulls returns the mapping v with each null replaced by its source text as a string.
func withNulls(v yaml.Value) yaml.Value {
	return v.EditFields(func(f yaml.Field) yaml.Value {
		if f.Value.IsNull() {
			return yaml.Str(f.Value.SourceText())
		}
		return f.Value
	})
}

// encodedStringData returns the data of a Secret as an API server stores it: the encoded entries
// of stringData override those in data.
func encodedStringData(r *krm.Resource) (yaml.Value, error) {
	data := r.Value().Get("data")
	encoded := map[string]string{}
	for _, f := range r.Value().Get("stringData").Fields() {
		if t := f.Value.Type(); t == yaml.Map || t == yaml.Seq {
			return data, diag.Errorf(r.Pos, "stringData."+f.Key, "%s: expected a string, found a %s", r.ID(), t).With(diag.WrongType)
		}
		encoded[f.Key] = encodeBase64(f.Value.Text())
	}
	if len(encoded) == 0 {
		return data, nil
	}
	return withStrings(yaml.MapOf(), "data", data, yaml.StrMap(encoded)).Get("data"), nil
}
