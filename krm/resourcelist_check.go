package krm

// checkUnchanged returns an error if rs, the answer of a validator, differ from what it got. Their order does not count,
// and a validator may add the label validated-by. Values count as the function saw them: it got 10 for 012.
func (d *wireDecoder) checkUnchanged(rs []*Resource) error {
	answer := NewList(rs...)
	for _, r := range d.in.All() {
		at := answer.Find(r.id)
		if len(at) == 0 {
			return d.errorf("", "a validator must not change resources, but it removed %s", r.id)
		}
		before := r.value
		if a := r.Annotations(); a.Exists() {
			before = d.cleanAnnotations(before, a)
		}
		if field, same := unchanged(before, withoutLabel(answer.At(at[0]).value, before), nil); !same {
			return d.errorf("", "a validator must not change resources, but it changed %s: %s", r.id, FieldPath(field))
		}
	}
	for _, r := range rs {
		if len(d.known.Find(r.id)) == 0 {
			return d.errorf("", "a validator must not change resources, but it added %s", r.id)
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

// unchanged reports whether after, which a function returned, is what before was in its input, and if not, where it
// differs.
func unchanged(before, after Value, path []any) (field []any, same bool) {
	if before == after {
		return nil, true
	}
	switch {
	case before.typ == Map && after.typ == Map:
		get := after.lookup()
		for _, f := range before.Fields() {
			if field, same := unchanged(f.Value, get(f.Key), append(path, f.Key)); !same {
				return field, false
			}
		}
		if before.n >= after.n {
			return nil, true
		}
		get = before.lookup()
		for _, f := range after.Fields() {
			if !get(f.Key).Exists() {
				return append(path, f.Key), false
			}
		}
		return nil, true
	case before.typ == Seq && after.typ == Seq && before.n == after.n:
		for i, x := range before.Items() {
			if field, same := unchanged(x, after.Items()[i], append(path, i)); !same {
				return field, false
			}
		}
		return nil, true
	}
	return path, sameScalar(before, after)
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
	return difference(nameless(r.value, r.Annotations()), nameless(it.Value, r.Annotations()))
}

func difference(before, after Value) (n int) {
	switch {
	case before.typ == Map && after.typ == Map:
		get := after.lookup()
		for _, f := range before.Fields() {
			n += difference(f.Value, get(f.Key))
		}
		get = before.lookup()
		for _, f := range after.Fields() {
			if !get(f.Key).Exists() {
				n += scalars(f.Value)
			}
		}
		return n
	case before.typ == Seq && after.typ == Seq:
		for i := range max(before.Len(), after.Len()) {
			n += difference(before.item(i), after.item(i))
		}
		return n
	case sameScalar(before, after):
		return 0
	}
	return scalars(before) + scalars(after)
}

// lookup returns [Value.Get] for many calls: with an index, if v is large.
func (v Value) lookup() func(key string) Value {
	if v.Len() <= 16 {
		return v.Get
	}
	index := make(map[string]Value, v.Len())
	for _, f := range v.Fields() {
		index[f.Key] = f.Value
	}
	return func(key string) Value { return index[key] }
}

// item returns item i of a list, None if there is none.
func (v Value) item(i int) Value {
	if i < v.Len() {
		return v.Items()[i]
	}
	return Value{}
}

// scalars returns how many scalars, and empty lists and mappings, v has.
func scalars(v Value) (n int) {
	for _, f := range v.Fields() {
		n += scalars(f.Value)
	}
	for _, x := range v.Items() {
		n += scalars(x)
	}
	if n == 0 && v.Exists() {
		n = 1
	}
	return n
}

func sameScalar(before, after Value) bool {
	switch before.typ {
	case Null:
		return after.typ == Null || before.IsOmitted() && after.typ == String && after.n == 0
	case String:
		return after.typ == String && before.outputText() == after.Text()
	case Time:
		return (after.typ == String || after.typ == Time) && timeText(before.Text()) == timeText(after.Text())
	case Bool:
		return after.typ == Bool && before.isTrue() == after.isTrue()
	case Int, Float:
		return (after.typ == Int || after.typ == Float) &&
			string(appendLiteral(nil, before, false)) == string(appendLiteral(nil, after, false))
	}
	return false
}
