package history

import "github.com/krmflow/krmflow/krm/yaml"

// Follow translates path, a path in v, to a path in other, an earlier or later state of the same
// object. Items of lists may have moved in between. It returns the translated path and the value
// there. If other has no such value, whole is false and the path ends at the last value that
// exists.
func Follow(v, other yaml.Value, path []any) (found []any, there yaml.Value, whole bool) {
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

// sameItem returns the index in items of the earlier or later state of item, or -1. place is the
// index of item in its own list and preferred. Otherwise items match if they are equal, or if
// the first of the usual key fields that item has is equal.
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
