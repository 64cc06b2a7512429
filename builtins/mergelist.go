// Follows kyaml/yaml/walk/associative_sequence.go, kyaml/yaml/walk/nonassociative_sequence.go.

package builtins

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Nearly all lists are well formed: every item has the keys, and no two items have equal keys.
// For these lists, the code below computes the result of kustomize's procedure in one pass. All
// other lists go through [itemMerge].

// keepItems merges a list with nothing.
func (m *merger) keepItems(dest yaml.Value, n schema.Node) (yaml.Value, error) {
	if m.memory.knows(m, dest, n) {
		return dest, nil
	}
	keys := n.MergeKeys()
	var room [16]string
	if _, ok := itemIDs(room[:0], usedFields(keys, dest.Items()), dest.Items()); !ok {
		v, err := newItemMerge(m, dest.Items(), nil, n).run()
		return orSame(v, dest), err
	}
	if len(keys) == 0 {
		return dest, nil
	}
	elem := n.Elem()
	return mapItems(dest, func(item yaml.Value) (yaml.Value, error) { return m.keep(item, elem) })
}

// settleItems merges a list with itself.
func (m *merger) settleItems(patch yaml.Value, n schema.Node) (yaml.Value, error) {
	var room [16]string
	if _, ok := itemIDs(room[:0], usedFields(n.MergeKeys(), patch.Items()), patch.Items()); !ok {
		l := newItemMerge(m, patch.Items(), patch.Items(), n)
		l.same = true
		return l.run()
	}
	elem := n.Elem()
	return mapItems(patch, func(item yaml.Value) (yaml.Value, error) { return m.settle(item, elem) })
}

// mapItems returns v with each item replaced by the result of f and items with the result None
// removed, or v itself if nothing changes.
func mapItems(v yaml.Value, f func(yaml.Value) (yaml.Value, error)) (yaml.Value, error) {
	items := v.Items()
	var changed []yaml.Value // nil until the first change
	for i, item := range items {
		x, err := f(item)
		if err != nil {
			return yaml.Value{}, atItem(i, err)
		}
		if changed == nil && !x.Same(item) {
			changed = append(make([]yaml.Value, 0, len(items)), items[:i]...)
		}
		if changed != nil && x.Exists() {
			changed = append(changed, x)
		}
	}
	if changed == nil {
		return v, nil
	}
	return v.WithItems(changed...), nil
}

// mergeItems merges two lists. All items of the patch come first, whether they are new or not.
// With several keys, only new items come first.
func (m *merger) mergeItems(dest, patch yaml.Value, n schema.Node) (yaml.Value, error) {
	if known := m.memory.list(m, dest, n); known != nil {
		if v, ok, err := known.merge(m, patch.Items()); ok {
			return v, err
		}
	}
	keys := usedFields(n.MergeKeys(), dest.Items(), patch.Items())
	destIDs, ok := itemIDs(nil, keys, dest.Items())
	patchIDs, ok2 := itemIDs(nil, keys, patch.Items())
	if !ok || !ok2 {
		return newItemMerge(m, dest.Items(), patch.Items(), n).run()
	}
	l := listMerge{m: m, elem: n.Elem(), dest: dest.Items(), patch: patch.Items()}
	l.find(destIDs, patchIDs)
	if len(keys) > 1 {
		return l.newFirst()
	}
	return l.patchFirst()
}

// A listMerge merges two well-formed lists.
type listMerge struct {
	m           *merger
	elem        schema.Node
	dest, patch []yaml.Value
	inDest      []int // for each patch item, its index in dest, -1 if new
	inPatch     []int // for each dest item, its index in patch, -1 if absent
	items       []yaml.Value
}

func (l *listMerge) find(destIDs, patchIDs []string) {
	l.inDest, l.inPatch = make([]int, len(patchIDs)), make([]int, len(destIDs))
	for i := range l.inPatch {
		l.inPatch[i] = -1
	}
	where := func(id string) int { return slices.Index(destIDs, id) }
	if len(destIDs) > 16 {
		index := make(map[string]int, len(destIDs))
		for i, id := range destIDs {
			index[id] = i + 1
		}
		where = func(id string) int { return index[id] - 1 }
	}
	for i, id := range patchIDs {
		if l.inDest[i] = where(id); l.inDest[i] >= 0 {
			l.inPatch[l.inDest[i]] = i
		}
	}
}

func (l *listMerge) patchFirst() (yaml.Value, error) {
	for i := range l.patch {
		if err := l.merge(l.inDest[i], i); err != nil {
			return yaml.Value{}, err
		}
	}
	for i := range l.dest {
		if l.inPatch[i] >= 0 {
			continue
		}
		if err := l.merge(i, -1); err != nil {
			return yaml.Value{}, err
		}
	}
	return yaml.SeqOf(l.items...), nil
}

func (l *listMerge) newFirst() (yaml.Value, error) {
	for i := range l.patch {
		if l.inDest[i] >= 0 {
			continue
		}
		if err := l.merge(-1, i); err != nil {
			return yaml.Value{}, err
		}
	}
	for i := range l.dest {
		if err := l.merge(i, l.inPatch[i]); err != nil {
			return yaml.Value{}, err
		}
	}
	return yaml.SeqOf(l.items...), nil
}

// merge appends the result of merging dest item di and patch item pi; -1 means none.
func (l *listMerge) merge(di, pi int) (err error) {
	var v yaml.Value
	switch {
	case pi < 0:
		v, err = l.m.keep(l.dest[di], l.elem)
	case di < 0:
		v, err = l.m.add(l.patch[pi], l.elem)
	default:
		v, err = l.m.mergeItem(l.dest[di], l.patch[pi], l.elem)
	}
	if err != nil {
		return atItem(max(di, pi), err)
	}
	if v.Exists() {
		l.items = append(l.items, v)
	}
	return nil
}

// mergeItem merges two items with the same identity.
func (m *merger) mergeItem(dest, patch yaml.Value, n schema.Node) (yaml.Value, error) {
	if dest.IsScalar() {
		return dest, nil
	}
	v, err := m.merge(dest, patch, n)
	// Kustomize overwrites an item with directive replace by the original item in the end.
	if d, _, _ := mapDirective(patch); d == replaceDirective {
		v = dest
	}
	return v, err
}

// usedFields returns the keys that any item has, or all keys if there are none.
func usedFields(keys []string, lists ...[]yaml.Value) []string {
	if len(keys) <= 1 {
		return keys
	}
	used := make([]string, 0, len(keys))
	for _, key := range keys {
		if slices.ContainsFunc(lists, func(items []yaml.Value) bool {
			return slices.ContainsFunc(items, func(item yaml.Value) bool { return item.Get(key).Text() != "" })
		}) {
			used = append(used, key)
		}
	}
	if len(used) == 0 {
		return keys
	}
	return used
}

// itemIDs appends the identity of each item to ids: the values of its keys or, without keys, its
// text. ok is false if an item has no identity or two are equal.
func itemIDs(ids, keys []string, items []yaml.Value) (_ []string, ok bool) {
	for _, item := range items {
		id, ok := itemID(keys, item)
		if !ok {
			return nil, false
		}
		ids = append(ids, id)
	}
	return ids, distinct(ids)
}

func itemID(keys []string, item yaml.Value) (id string, ok bool) {
	switch len(keys) {
	case 0:
		return item.Text(), item.Text() != ""
	case 1:
		id = item.Get(keys[0]).Text()
		return id, id != ""
	}
	parts := make([]string, len(keys))
	for i, key := range keys {
		if parts[i] = item.Get(key).Text(); parts[i] == "" {
			return "", false
		}
	}
	return strings.Join(parts, "\x00"), true
}

func distinct(ids []string) bool {
	if len(ids) <= 16 {
		for i, id := range ids {
			if slices.Contains(ids[:i], id) {
				return false
			}
		}
		return true
	}
	seen := make(map[string]bool, len(ids))
	for _, id := range ids {
		if seen[id] {
			return false
		}
		seen[id] = true
	}
	return true
}
