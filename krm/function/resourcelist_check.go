package function

import (
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// checkUnchanged returns an error if rs, the answer of a validator, differs from its input. The
// order is ignored, and a validator may add the label validated-by. Values are compared in the
// form that the function received: 012 was sent as 10.
func (d *wireDecoder) checkUnchanged(rs []*krm.Resource) error {
	answer := krm.NewList(rs...)
	for _, r := range d.in.All() {
		at := answer.Find(r.ID())
		if len(at) == 0 {
			return d.errorf("", "a validator must not change resources, but it removed %s", r.ID())
		}
		before := r.Value()
		if a := r.Annotations(); a.Exists() {
			before = d.cleanAnnotations(before, a)
		}
		if field, same := yaml.Unchanged(before, withoutLabel(answer.At(at[0]).Value(), before)); !same {
			return d.errorf("", "a validator must not change resources, but it changed %s: %s", r.ID(), diag.FieldPath(field))
		}
	}
	for _, r := range rs {
		if len(d.known.Find(r.ID())) == 0 {
			return d.errorf("", "a validator must not change resources, but it added %s", r.ID())
		}
	}
	return nil
}

// withoutLabel returns v without the label validated-by, unless before also has it.
func withoutLabel(v, before yaml.Value) yaml.Value {
	const label = "validated-by"
	labels := v.At("metadata", "labels")
	if !labels.Get(label).Exists() || before.At("metadata", "labels", label).Exists() {
		return v
	}
	if labels.Len() == 1 && !before.At("metadata", "labels").Exists() {
		return v.With("metadata", v.Get("metadata").Without("labels"))
	}
	return v.WithAt(labels.Without(label), "metadata", "labels")
}

// distance returns the number of differing scalars, empty lists and empty mappings between an item
// and input resource i, ignoring name and namespace.
func (d *wireDecoder) distance(i int, it *yaml.Item) int {
	nameless := func(v, annotations yaml.Value) yaml.Value {
		v = d.cleanAnnotations(v, annotations)
		if meta := v.Get("metadata"); meta.Type() == yaml.Map {
			return v.With("metadata", meta.Without("name").Without("namespace"))
		}
		return v
	}
	r := d.in.At(i)
	return yaml.Difference(nameless(r.Value(), r.Annotations()), nameless(it.Value, r.Annotations()))
}
