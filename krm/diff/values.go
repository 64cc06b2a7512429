package diff

import (
	"maps"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A differ collects edits. Values are in JSON form.
type differ struct {
	renames map[string]string // old to new names of resources with a content hash
	edits   []Edit
	inside  int // number of enclosing texts that were parsed
	hide    *secret.Set
	moves   *moving // nil without moves
	// relocated reports that the values are a resource that has moved.
	relocated bool
}

// value adds the edits from old to now. If hidden is true, no part of either may be shown.
func (d *differ) value(path Path, old, now yaml.Value, node schema.Node, hidden bool) {
	switch {
	case old.Equal(now):
	case old.Type() == yaml.Map && now.Type() == yaml.Map:
		d.mapping(path, old, now, node, hidden)
	case old.Type() == yaml.Seq && now.Type() == yaml.Seq && !hidden:
		d.list(path, old.Items(), now.Items(), node)
	case old.Type() == yaml.String && now.Type() == yaml.String && !hidden:
		d.text(path, old.Text(), now.Text())
	default:
		d.add(Edit{Op: Replace, Path: path, Old: old, New: now}, hidden)
	}
}

// add adds e after hiding values that must not be shown.
func (d *differ) add(e Edit, hidden bool) {
	if hidden {
		e.Old, e.New, e.Hidden = yaml.Value{}, yaml.Value{}, true
		d.edits = append(d.edits, e)
		return
	}
	old, now := e.Old, e.New
	e.Old, e.New = d.hide.Show(old), d.hide.Show(now)
	if old.IsScalar() && now.IsScalar() && d.oneSided(old, now) {
		e.Old, e.New = yaml.Str(secret.Hidden), yaml.Str(secret.Hidden)
	}
	e.Hidden = !e.Old.Equal(old) || !e.New.Equal(now)
	e.Moves = !e.Hidden && d.explains(&e)
	d.edits = append(d.edits, e)
}

func (d *differ) mapping(path Path, old, now yaml.Value, node schema.Node, hidden bool) {
	values := append(secret.Fields(old), secret.Fields(now)...)
	keys := map[string]bool{}
	for _, v := range []yaml.Value{old, now} {
		for _, f := range v.Fields() {
			keys[f.Key] = true
		}
	}
	before, after := lookup(old), lookup(now)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		at, x, y := path.with(Step{Field: key}), before(key), after(key)
		conceal := hidden || slices.Contains(values, key)
		switch {
		case !x.Exists():
			d.add(Edit{Op: Add, Path: at, New: y}, conceal)
		case !y.Exists():
			d.add(Edit{Op: Remove, Path: at, Old: x}, conceal)
		default:
			d.value(at, x, y, node.Field(key), conceal)
		}
	}
}

// lookup returns [yaml.Value.Get] for repeated calls: it uses an index if v is large.
func lookup(v yaml.Value) func(string) yaml.Value {
	if v.Len() <= 16 {
		return v.Get
	}
	index := make(map[string]yaml.Value, v.Len())
	for _, f := range v.Fields() {
		index[f.Key] = f.Value
	}
	return func(key string) yaml.Value { return index[key] }
}

// list adds the edits from the list old to the list now.
func (d *differ) list(path Path, old, now []yaml.Value, node schema.Node) {
	pairs, names := d.pairs(old, now, node)
	partner := make([]int, len(now)) // index into pairs, plus one
	gone := make([]bool, len(old))
	for i := range gone {
		gone[i] = true
	}
	for k, p := range pairs {
		partner[p[1]], gone[p[0]] = k+1, false
	}
	for i, x := range old {
		if gone[i] {
			d.add(Edit{Op: Remove, Path: path.with(Step{Item: true, From: i, To: -1, Key: names(x)}), Old: x}, false)
		}
	}
	moved := outOfOrder(pairs)
	for j, y := range now {
		k := partner[j] - 1
		if k < 0 {
			d.add(Edit{Op: Add, Path: path.with(Step{Item: true, From: -1, To: j, Key: names(y)}), New: y}, false)
			continue
		}
		i := pairs[k][0]
		at := path.with(Step{Item: true, From: i, To: j, Key: names(y)})
		if moved[k] {
			d.add(Edit{Op: Move, Path: at}, false)
		}
		d.value(at, old[i], y, node.Elem(), false)
	}
}

// pairs matches the items of two lists, in the order of the new list. names returns the [Step.Key]
// of an item.
func (d *differ) pairs(old, now []yaml.Value, node schema.Node) (pairs [][2]int, names func(yaml.Value) string) {
	if keys := itemKeys(old, now, node); keys != nil {
		places := make(map[string]int, len(old))
		for i, x := range old {
			places[keyOf(x, keys)] = i
		}
		for j, y := range now {
			if i, ok := places[keyOf(y, keys)]; ok {
				pairs = append(pairs, [2]int{i, j})
			}
		}
		if d.moves != nil && len(d.moves.names) > 0 {
			pairs = d.renamedItems(pairs, old, now, keys)
		}
		return pairs, func(v yaml.Value) string { return nameOf(d.hide.HideValue(v), keys) }
	}
	return align(old, now), func(yaml.Value) string { return "" }
}

// renamedItems adds pairs of items whose key is the name of a moved resource, such as the subjects
// of a RoleBinding.
func (d *differ) renamedItems(pairs [][2]int, old, now []yaml.Value, keys []string) [][2]int {
	usedOld, open := make([]bool, len(old)), map[string]int{}
	for j, y := range now {
		open[keyOf(y, keys)] = j
	}
	for _, p := range pairs {
		usedOld[p[0]] = true
		delete(open, keyOf(now[p[1]], keys))
	}
	for i, x := range old {
		to, ok := only(d.moves.names[x.Get(keys[0]).Text()])
		if usedOld[i] || !ok {
			continue
		}
		key := keyOf(x.With(keys[0], yaml.Str(to)), keys)
		if j, ok := open[key]; ok {
			delete(open, key)
			pairs = append(pairs, [2]int{i, j})
		}
	}
	slices.SortFunc(pairs, func(p, q [2]int) int { return p[1] - q[1] })
	return pairs
}

// commonKeys are the fields that identify items of lists without a schema, in order of preference.
var commonKeys = [...]string{"name", "key", "id", "uid", "uuid", "path", "mountPath", "host", "port", "type"}

// itemKeys returns the fields that identify the items of both lists, nil if there are none.
func itemKeys(old, now []yaml.Value, node schema.Node) []string {
	if keys := node.MergeKeys(); len(keys) > 0 && tellApart(old, keys) && tellApart(now, keys) {
		return keys
	}
	for _, key := range commonKeys {
		if keys := []string{key}; tellApart(old, keys) && tellApart(now, keys) {
			return keys
		}
	}
	return nil
}

// tellApart reports whether all items have the first key, and no two items have equal values for
// all keys.
func tellApart(items []yaml.Value, keys []string) bool {
	seen := make(map[string]bool, len(items))
	for _, x := range items {
		if !x.Get(keys[0]).IsScalar() {
			return false
		}
		for _, key := range keys[1:] {
			if v := x.Get(key); v.Exists() && !v.IsScalar() {
				return false
			}
		}
		k := keyOf(x, keys)
		if seen[k] {
			return false
		}
		seen[k] = true
	}
	return true
}

// keyOf returns the values of the keys, encoded as one string.
func keyOf(item yaml.Value, keys []string) string {
	var b []byte
	for _, key := range keys {
		b = append(yaml.AppendJSON(b, item.Get(key)), 0)
	}
	return string(b)
}

// nameOf returns the form of an item's keys for messages, for instance "name=web".
func nameOf(item yaml.Value, keys []string) string {
	var parts []string
	for _, key := range keys {
		if v := item.Get(key); v.IsScalar() {
			parts = append(parts, key+"="+secret.HideAddresses(v.Text()))
		}
	}
	return strings.Join(parts, ",")
}

// align pairs items that can be identified only by their content. It pairs equal items in the same
// order first, then equal items that moved. The remaining items between two pairs are matched in
// order, if they have compatible types: they probably are changed items.
func align(old, now []yaml.Value) (pairs [][2]int) {
	a, b := numbers(old, now, func(x yaml.Value) string { return string(yaml.AppendJSON(nil, x)) })
	pairs = common(a, b)
	usedOld, usedNew := make([]bool, len(a)), make([]bool, len(b))
	take := func(i, j int) {
		usedOld[i], usedNew[j] = true, true
	}
	for _, p := range pairs {
		take(p[0], p[1])
	}
	anchors := append(slices.Clone(pairs), [2]int{len(a), len(b)})
	waiting := map[int][]int{}
	for i, id := range a {
		if !usedOld[i] {
			waiting[id] = append(waiting[id], i)
		}
	}
	for j, id := range b {
		if list := waiting[id]; !usedNew[j] && len(list) > 0 {
			waiting[id] = list[1:]
			take(list[0], j)
			pairs = append(pairs, [2]int{list[0], j})
		}
	}
	i, j := 0, 0
	for _, end := range anchors {
		for i < end[0] && j < end[1] {
			switch {
			case usedOld[i]:
				i++
			case usedNew[j]:
				j++
			default:
				if kin(old[i], now[j]) {
					pairs = append(pairs, [2]int{i, j})
				}
				i, j = i+1, j+1
			}
		}
		i, j = end[0]+1, end[1]+1
	}
	slices.SortFunc(pairs, func(p, q [2]int) int { return p[1] - q[1] })
	return pairs
}

// numbers assigns a number to each item of two lists. Items for which text returns equal strings
// have equal numbers.
func numbers[T any](old, now []T, text func(T) string) (a, b []int) {
	ids := map[string]int{}
	of := func(items []T) []int {
		list := make([]int, len(items))
		for i, x := range items {
			t := text(x)
			if _, ok := ids[t]; !ok {
				ids[t] = len(ids)
			}
			list[i] = ids[t]
		}
		return list
	}
	return of(old), of(now)
}

// kin reports whether a may have been changed to b: they have the same type, or both are scalars.
func kin(a, b yaml.Value) bool {
	return a.Type() == b.Type() || a.IsScalar() && b.IsScalar()
}
