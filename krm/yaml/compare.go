package yaml

import "slices"

// Unchanged reports whether after equals before as it would be after writing and reading it. If
// not, it returns the path of the first difference. The order of fields is ignored.
func Unchanged(before, after Value) (field []any, same bool) { return unchanged(before, after, nil) }

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

// Difference returns the number of scalars, empty lists and empty mappings in which two values
// differ.
func Difference(before, after Value) (n int) {
	switch {
	case before.typ == Map && after.typ == Map:
		get := after.lookup()
		for _, f := range before.Fields() {
			n += Difference(f.Value, get(f.Key))
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
			n += Difference(before.item(i), after.item(i))
		}
		return n
	case sameScalar(before, after):
		return 0
	}
	return scalars(before) + scalars(after)
}

// lookup returns [Value.Get] for repeated calls: it uses an index if v is large.
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

// item returns item i of a list, None if it does not exist.
func (v Value) item(i int) Value {
	if i < v.Len() {
		return v.Items()[i]
	}
	return Value{}
}

// scalars returns the number of scalars, empty lists and empty mappings in v.
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
	before, after = before.Settled(), after.Settled()
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

// Refolded returns v with folded texts in the form that they have after writing and reading them.
// kustomize does this once more to the output of a function.
func Refolded(v Value) Value {
	switch v.Type() {
	case String:
		if v.IsFolded() {
			return Str(v.outputText()).WithStyleOf(v)
		}
	case Seq:
		w := v
		for i, x := range v.Items() {
			if y := Refolded(x); !y.Same(x) {
				if w.Same(v) {
					w = SeqOf(slices.Clone(v.Items())...)
				}
				w.Items()[i] = y
			}
		}
		return w
	case Map:
		w := v
		for i, f := range v.Fields() {
			if y := Refolded(f.Value); !y.Same(f.Value) {
				if w.Same(v) {
					w = MapOf(slices.Clone(v.Fields())...)
				}
				w.Fields()[i].Value = y
			}
		}
		return w
	}
	return v
}
