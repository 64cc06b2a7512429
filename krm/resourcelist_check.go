package krm

// checkUnchanged returns an error if rs, the answer of a validator, differ from what it got. Their order does not count,
// and a validator may add the label validated-by. Values count as the function saw them: it got 10 for 012.
func (d *wireDecoder) checkUnchanged(rs []*Resource) error {
	answer := NewList(rs...)
	for _, r := range d.in.All() {
		at := answer.Find(r.ID())
		if len(at) == 0 {
			return d.errorf("", "a validator must not change resources, but it removed %s", r.ID())
		}
		before := r.Value()
		if a := r.Annotations(); a.Exists() {
			before = d.cleanAnnotations(before, a)
		}
		if field, same := Unchanged(before, withoutLabel(answer.At(at[0]).Value(), before)); !same {
			return d.errorf("", "a validator must not change resources, but it changed %s: %s", r.ID(), FieldPath(field))
		}
	}
	for _, r := range rs {
		if len(d.known.Find(r.ID())) == 0 {
			return d.errorf("", "a validator must not change resources, but it added %s", r.ID())
		}
	}
	return nil
}

// withoutLabel returns v without the label validated-by, unless before has it, too.
func withoutLabel(v, before Value) Value {
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

// distance returns in how many scalars, and empty lists and mappings, an item and resource i of the input differ, name and
// namespace left out.
func (d *wireDecoder) distance(i int, it *Item) int {
	nameless := func(v, annotations Value) Value {
		v = d.cleanAnnotations(v, annotations)
		if meta := v.Get("metadata"); meta.Type() == Map {
			return v.With("metadata", meta.Without("name").Without("namespace"))
		}
		return v
	}
	r := d.in.At(i)
	return Difference(nameless(r.Value(), r.Annotations()), nameless(it.Value, r.Annotations()))
}
