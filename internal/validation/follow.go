package validation

import (
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/validate"
)

// follow returns the path in other, an earlier state of an object, of what is at path in v: items of lists may have had other places. It
// ends where other has nothing.
func follow(v, other yaml.Value, path []any) (found []any, there yaml.Value, whole bool) {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.Get(step)
			if !other.Get(step).Exists() {
				return found, other, false
			}
			other, found = other.Get(step), append(found, step)
		case int:
			if step >= len(v.Items()) {
				return found, other, false
			}
			item := v.Items()[step]
			i := sameItem(item, other.Items(), step)
			if i < 0 {
				return found, other, false
			}
			v, other, found = item, other.Items()[i], append(found, i)
		}
	}
	return found, other, true
}

// sameItem returns which of items is an earlier state of item, which is at place now; -1 for none.
func sameItem(item yaml.Value, items []yaml.Value, place int) int {
	if place < len(items) && items[place].Equal(item) {
		return place
	}
	for i, x := range items {
		if x.Equal(item) {
			return i
		}
	}
	for _, key := range []string{"name", "mountPath", "containerPort", "port", "key", "type", "path", "host", "ip"} {
		want := item.Get(key)
		if !want.IsScalar() {
			continue
		}
		for i, x := range items {
			if x.Get(key).Equal(want) {
				return i
			}
		}
		return -1
	}
	if place < len(items) && items[place].Type() == item.Type() && !item.IsScalar() {
		return place
	}
	return -1
}

// has reports whether an object had what is wrong with v, a later state of it, and where that was.
func has(f *validate.Finding, v, earlier yaml.Value) (path []any, ok bool) {
	path, there, whole := follow(v, earlier, f.Path)
	switch {
	case !whole:
		return path, false
	case f.Code == validate.MissingField:
		return path, there.Type() == yaml.Map
	case f.Value.IsScalar():
		return path, there.Equal(f.Value)
	}
	return path, there.Type() == f.Value.Type()
}
