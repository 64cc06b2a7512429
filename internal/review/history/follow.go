package history

import "github.com/krmflow/krmflow/krm/yaml"

// Follow returns the path in other, an earlier or later state of an object, of what is at path in v: items of lists may have had other places. It
// returns what is there. If other has nothing there, whole is false, and the path ends where that begins.
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

// sameItem returns which of items is another state of item, which is at place now; -1 for none.
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
