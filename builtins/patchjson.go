// Follows api/internal/builtins/PatchTransformer.go,
// api/internal/builtins/PatchJson6902Transformer.go, api/filters/patchjson6902/patchjson6902.go.

package builtins

import (
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// applyTo applies the patch to the resources selected by target. With remember, it records the
// previous identities of the resources.
func (p jsonPatch) applyTo(target *Selector, list *krm.List, warn Warn, remember bool) error {
	found, err := target.Select(list)
	if err != nil {
		return diag.In(err, "target")
	}
	if len(found) == 0 {
		warnIn(warn, []any{"target"}, diag.TargetMatchesNothing, "the target (%s) matches no resource%s", target, target.near(list))
		return nil
	}
	anyChanged := false
	over := &overwrites{}
	for _, i := range found {
		r := list.At(i)
		c := r.Copy()
		c.Unlink() // kustomize makes a new object from the patched JSON
		v, err := patchObject(p, c, remember, warn, over)
		if err != nil {
			return p.at(resourceError(r, err))
		}
		if over != nil && over.report(p, r.ID(), v, warn) {
			over = nil // one object is enough
		}
		anyChanged = anyChanged || !v.Equal(r.Value())
		if remember {
			c.PushID()
		}
		if meta := v.Get("metadata"); meta.Exists() && meta.Type() != yaml.Map {
			forget(c)
		}
		c.SetValue(v)
		list.Set(i, c)
		if err := list.CheckSize(); err != nil {
			return err
		}
	}
	if !anyChanged && !p.pins() {
		warn(diag.PatchChangesNothing, "the patch changes nothing%s", nothingChanged)
	}
	return nil
}

// pins reports whether the patch only replaces values. Such a patch that changes nothing is usually
// meant to fix values that are the default today.
func (p jsonPatch) pins() bool {
	return !slices.ContainsFunc(p.ops, func(op jsonOp) bool { return op.op != "replace" })
}

// patchObject returns the patched object of r. If the patch removes all annotations, it also
// clears the provenance of r: kustomize keeps the provenance in annotations and does not protect
// it from the patch, unlike its other annotations.
func patchObject(patch jsonPatch, r *krm.Resource, remember bool, warn Warn, over *overwrites) (yaml.Value, error) {
	v := r.Value()
	tracked := r.Origin != nil && v.Get("metadata").Type() == yaml.Map
	if tracked {
		v = v.WithAt(yaml.Str(""), "metadata", "annotations", originAnnotation)
	}
	// A resource with state of kustomize has annotations at this point.
	if remember || hasState(r) {
		v = withAnnotations(v)
	}
	before := r.Rewritten()
	if patch.reads() {
		v = rewrittenIn(v, before, false) // the place of some values affects how they are rewritten
		before = v
	}
	v, err := patch.apply(v, r.Room(), warn, over)
	if err != nil {
		return v, err
	}
	if v.Type() != yaml.Map {
		return v, diag.JSONPatchOperation.Errorf("the result of the patch is not an object")
	}
	for _, field := range []string{"labels", "annotations"} { // a list would be lost
		if v.At("metadata", field).Type() == yaml.Seq && r.Value().At("metadata", field).Type() != yaml.Seq {
			return v, diag.UnfitField.Errorf("metadata.%s: expected a mapping, found a list", field)
		}
	}
	if tracked {
		annotations := v.At("metadata", "annotations")
		if annotations.Get(originAnnotation).Exists() {
			v = v.WithAt(annotations.Without(originAnnotation), "metadata", "annotations")
		} else {
			r.Origin, r.Transformations = nil, nil
		}
	}
	v = rewrittenIn(v, before, false)
	r.SetRewritten(v)
	// Afterwards kustomize writes all annotations back as strings, and drops an empty mapping.
	return textFields(v, "annotations", jsonText), nil
}

// reads reports whether p compares, copies or moves values.
func (p jsonPatch) reads() bool {
	return slices.ContainsFunc(p.ops, func(o jsonOp) bool { return o.op == "test" || o.op == "copy" || o.op == "move" })
}

// withAnnotations adds an empty mapping of annotations to v if v has metadata without
// annotations.
func withAnnotations(v yaml.Value) yaml.Value {
	if meta := v.Get("metadata"); meta.Type() == yaml.Map && meta.Get("annotations").IsNull() {
		return v.With("metadata", meta.With("annotations", yaml.MapOf()))
	}
	return v
}

// hasState reports whether kustomize keeps state of r in annotations.
func hasState(r *krm.Resource) bool {
	return len(r.Prev) > 0 || len(r.Prefixes) > 0 || len(r.Suffixes) > 0 || r.NeedsHash || r.Behavior != "" || r.Origin != nil ||
		len(r.Transformations) > 0
}

// jsonText returns the text of a scalar after conversion to JSON and back.
func jsonText(v yaml.Value) string {
	switch v.Type() {
	case yaml.Int, yaml.Float:
		if f, err := strconv.ParseFloat(string(yaml.AppendJSON(nil, v)), 64); err == nil {
			return strconv.FormatFloat(f, 'g', -1, 64)
		}
	case yaml.Bool, yaml.Null:
		return string(yaml.AppendJSON(nil, v))
	}
	return v.Text()
}

// rewritten returns v after conversion to JSON and back, which keeps only the necessary quotes.
func rewritten(v yaml.Value) yaml.Value {
	return rewrittenIn(v, yaml.Value{}, false)
}

// rewrittenIn is like rewritten, for a value that is in brackets or not. Values equal to their
// counterparts in done have been rewritten before and are skipped.
func rewrittenIn(v, done yaml.Value, brackets bool) yaml.Value {
	if v == done {
		return v
	}
	if brackets || v.IsUntyped() {
		v = v.Reread(brackets)
	}
	brackets = brackets || v.InBrackets()
	switch v.Type() {
	case yaml.Null:
		return v.Reread(false)
	case yaml.Bool:
		if text := jsonText(v); text != v.Text() {
			return yaml.BoolValue(text == "true")
		}
	case yaml.Int:
		if text := v.Text(); text[0] < '1' || text[0] > '9' || strings.Contains(text, "_") {
			return yaml.Number(yaml.Int, string(yaml.AppendJSON(nil, v)))
		}
	case yaml.Float:
		// Integers keep their digits.
		if text := jsonText(v); text != v.Text() && strings.ContainsAny(v.Text(), ".eE") {
			return yaml.Number(yaml.Float, text)
		}
	case yaml.Time:
		return yaml.QuotedStr(strings.Trim(string(yaml.AppendJSON(nil, v)), `"`))
	case yaml.String:
		v = v.Reread(false)
		if quoted := needsQuotes(v.Text()); quoted != v.Quoted() {
			return v.WithQuotes(quoted)
		}
	case yaml.Seq:
		var items []yaml.Value
		for i, x := range v.Items() {
			if y := rewrittenIn(x, itemAt(done, i), brackets); !y.Same(x) {
				if items == nil {
					items = slices.Clone(v.Items())
				}
				items[i] = y
			}
		}
		if items != nil {
			return yaml.SeqOf(items...)
		}
		return v.AsBlock()
	case yaml.Map:
		var fields []yaml.Field
		for i, f := range v.Fields() {
			if y := rewrittenIn(f.Value, fieldIn(done, i, f.Key), brackets); !y.Same(f.Value) {
				if fields == nil {
					fields = slices.Clone(v.Fields())
				}
				fields[i].Value = y
			}
		}
		if fields != nil {
			return yaml.MapOf(fields...)
		}
		return v.AsBlock()
	}
	return v
}

// itemAt returns item i of a list, None if there is none.
func itemAt(v yaml.Value, i int) yaml.Value {
	if items := v.Items(); i < len(items) {
		return items[i]
	}
	return yaml.Value{}
}

// fieldIn returns the value of a field of a mapping, None if there is none. It first looks at
// index i, which is right unless an earlier field was added or removed.
func fieldIn(v yaml.Value, i int, key string) yaml.Value {
	if fields := v.Fields(); i < len(fields) && fields[i].Key == key {
		return fields[i].Value
	}
	return v.Get(key)
}

// needsQuotes reports whether kyaml writes a string in quotes or as a block.
func needsQuotes(s string) bool { return strings.Contains(s, "\n") || yaml.ScalarText(s) != s }
