package builtins

import (
	"errors"
	"strconv"

	"github.com/krmflow/krmflow/krm"
)

// applyJSON applies a JSON patch to what target selects. With remember, the identities that the resources had are
// recorded.
func applyJSON(patch jsonPatch, target *Selector, list *krm.List, warn Warn, remember bool) error {
	found, err := target.Select(list)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		warn("the target (%s) matches no resource", target)
		return nil
	}
	anyChanged := false
	for _, i := range found {
		r := list.At(i)
		v, err := patchObject(patch, r, remember)
		if err != nil {
			return resourceError(r, err)
		}
		changed := !v.Same(r.Value())
		anyChanged = anyChanged || changed
		if !changed && !remember {
			continue
		}
		c := r.Copy()
		if remember {
			c.PushID()
		}
		c.SetValue(v)
		list.Set(i, c)
	}
	if !anyChanged {
		warn("the patch changes nothing")
	}
	return nil
}

func patchObject(patch jsonPatch, r *krm.Resource, remember bool) (krm.Value, error) {
	old := r.Value()
	v := old
	meta := old.Get("metadata")
	// A resource of which kustomize remembers something has annotations at this time.
	added := (remember || hasState(r)) && meta.Type() == krm.Map && meta.Get("annotations").IsNull()
	if added {
		v = v.With("metadata", meta.With("annotations", krm.MapOf()))
	}
	v, err := patch.apply(v)
	if err != nil {
		return v, err
	}
	if v.Type() != krm.Map {
		return v, errors.New("the patch leaves no object")
	}
	// Afterwards kustomize writes all annotations back as strings; it has no empty ones.
	v = textFields(v, "annotations", jsonText)
	if added && v.Equal(old) {
		return old, nil
	}
	return v, nil
}

// hasState reports whether kustomize keeps anything about r in annotations.
func hasState(r *krm.Resource) bool {
	return len(r.Prev) > 0 || len(r.Prefixes) > 0 || len(r.Suffixes) > 0 || r.NeedsHash || r.Behavior != "" || r.Origin != nil || len(r.Transformations) > 0
}

// jsonText returns the text of a scalar after a way through JSON.
func jsonText(v krm.Value) string {
	if v.Type() == krm.Int || v.Type() == krm.Float {
		if f, err := strconv.ParseFloat(string(krm.AppendJSON(nil, v)), 64); err == nil {
			return strconv.FormatFloat(f, 'g', -1, 64)
		}
	}
	if v.Type() == krm.Null {
		return "null"
	}
	return v.Text()
}
