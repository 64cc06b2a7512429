package builtins

import (
	"slices"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/lint"
)

// A mergeMemory remembers the long lists of an object between the patches that change it. A merge
// visits the whole object, and it needs the identity of each item of the lists that it merges.
// Without the memory, n patches that each add an item to one list would visit n²/2 items.
//
// The memory belongs to an owned resource: see [krm.List.Memory]. Values are immutable, so a list
// that a different step has changed is a different value, which the memory does not know.
type mergeMemory struct {
	lists []*knownList
	next  int // the element of lists to replace when there are maxKnown
	// flat are long mappings of scalars that a merge without a patch leaves unchanged. Their new
	// fields are in room.
	flat     []yaml.Value
	nextFlat int // the element of flat to replace when there are maxKnown
	room     yaml.FieldRoom
}

const (
	// fewItems is the length up to which a search in a list is faster than an index.
	fewItems = 16
	// maxKnown is the maximum number of lists in a memory, and of mappings.
	maxKnown = 8
)

// memoryOf returns the memory of resource i, nil unless the list owns the resource.
func memoryOf(list *krm.List, i int) *mergeMemory {
	place := list.Memory(i)
	if place == nil {
		return nil
	}
	if *place == nil {
		*place = new(mergeMemory)
	}
	memory := (*place).(*mergeMemory)
	for _, k := range memory.lists {
		k.next = nil // of a merge that failed
	}
	return memory
}

// A knownList is a long well-formed list with an index of its items. A merge without a patch leaves
// them unchanged, except the items in loose: a string that lost its quotes in one merge gets them
// back in the next one.
type knownList struct {
	kinds *schema.Schema
	node  schema.Node
	keys  []string // the merge keys that the items have
	list  yaml.Value
	// items has the items in the order in which they were added, None for removed items. index has
	// the indexes in items by identity. It does not have positions in the list, because an item
	// that comes first changes all of them.
	items []yaml.Value
	index map[string]int
	loose []string    // the identities of items that a merge without a patch changes
	names *lint.Names // of items, nil before the first use
	room  yaml.ItemRoom
	next  *listChange // by the current merge
}

// A listChange is the effect of a merge on a list. It becomes effective with [mergeMemory.commit],
// because checks of the merge look up items of the list before it.
type listChange struct {
	list   yaml.Value
	ids    []string
	values []yaml.Value // the items ids, None if removed
	loose  []string     // of the new list
	lost   bool         // the list may no longer be as described in knownList
}

// list returns the index of the list v, nil if it is short or malformed.
func (memory *mergeMemory) list(m *merger, v yaml.Value, n schema.Node) *knownList {
	if memory == nil || v.Len() <= fewItems {
		return nil
	}
	if k := memory.find(m.schema, v, n); k != nil {
		return k
	}
	return memory.learn(m, v, n)
}

func (memory *mergeMemory) find(kinds *schema.Schema, v yaml.Value, n schema.Node) *knownList {
	for _, k := range memory.lists {
		if k.list.WithStyleOf(v).Same(v) && k.kinds == kinds && k.node == n {
			return k
		}
	}
	return nil
}

// knows reports whether a merge without a patch leaves the list v unchanged.
func (memory *mergeMemory) knows(m *merger, v yaml.Value, n schema.Node) bool {
	if memory == nil || v.Len() <= fewItems {
		return false
	}
	for _, k := range memory.lists { // lists that were just merged and are visited once more
		c := k.next
		if c != nil && !c.lost && len(c.loose) == 0 && c.list.WithStyleOf(v).Same(v) && k.kinds == m.schema && k.node == n {
			return true
		}
	}
	k := memory.list(m, v, n)
	return k != nil && len(k.loose) == 0
}

// learn adds the list v to the memory. It returns nil if v is malformed or if a merge would change
// many items that the patch does not mention.
func (memory *mergeMemory) learn(m *merger, v yaml.Value, n schema.Node) *knownList {
	k := &knownList{kinds: m.schema, node: n, keys: usedFields(n.MergeKeys(), v.Items()), list: v}
	ids, ok := itemIDs(nil, k.keys, v.Items())
	if !ok {
		return nil
	}
	for i, item := range v.Items() {
		if k.settled(m, item) {
			continue
		}
		if k.loose = append(k.loose, ids[i]); len(k.loose) > fewItems {
			return nil
		}
	}
	k.items, k.index = slices.Clone(v.Items()), make(map[string]int, len(ids))
	for i, id := range ids {
		k.index[id] = i
	}
	memory.lists = addKnown(memory.lists, k, &memory.next)
	return k
}

// addKnown adds x to a list of at most maxKnown elements. If the list is full, x replaces the
// element with the index next.
func addKnown[T any](list []T, x T, next *int) []T {
	if len(list) < maxKnown {
		return append(list, x)
	}
	list[*next] = x
	*next = (*next + 1) % maxKnown
	return list
}

// settled reports whether a merge without a patch leaves an item unchanged.
func (k *knownList) settled(m *merger, item yaml.Value) bool {
	if len(k.keys) == 0 { // scalars
		return true
	}
	kept, err := m.keep(item, k.node.Elem())
	return err == nil && kept.Same(item)
}

// id returns the identity of an item of a patch. ok is false if an item of the list cannot have the
// same identity because the list has other keys.
func (k *knownList) id(item yaml.Value) (id string, ok bool) {
	for _, key := range k.node.MergeKeys() {
		if !slices.Contains(k.keys, key) && item.Get(key).Text() != "" {
			return "", false
		}
	}
	return itemID(k.keys, item)
}

// Find implements [lint.Items].
func (k *knownList) Find(item yaml.Value) yaml.Value {
	if id, ok := k.id(item); ok {
		if i, ok := k.index[id]; ok {
			return k.items[i]
		}
	}
	return yaml.Value{}
}

// Misspelt implements [lint.Items].
func (k *knownList) Misspelt(name string) (known string, ok bool) {
	if len(k.keys) != 1 || k.keys[0] != "name" {
		return "", false
	}
	if k.names == nil {
		k.names = new(lint.Names)
		for _, item := range k.items {
			k.names.Add(item.Get("name").Text())
		}
	}
	first := -1
	for _, i := range k.names.Misspelt(name) {
		if item := k.items[i]; item.Exists() {
			if at := slices.Index(k.list.Items(), item); first < 0 || at < first {
				first, known = at, item.Get("name").Text()
			}
		}
	}
	return known, true
}

// merge is [merger.mergeItems] for the known list. ok is false if the patch is malformed or if the
// current merge has changed the list already, since an object may contain a list twice.
func (k *knownList) merge(m *merger, patch []yaml.Value) (v yaml.Value, ok bool, err error) {
	c := &listChange{ids: make([]string, len(patch)), values: make([]yaml.Value, len(patch))}
	for i, item := range patch {
		if c.ids[i], ok = k.id(item); !ok {
			return v, false, nil
		}
	}
	if k.next != nil || !distinct(c.ids) {
		return v, false, nil
	}
	k.next = c
	for _, id := range k.loose {
		if !slices.Contains(c.ids, id) {
			c.ids, c.values = append(c.ids, id), append(c.values, yaml.Value{})
		}
	}
	dest, newFirst := k.list.Items(), len(k.keys) > 1
	at := make([]int, len(c.ids)) // positions in dest, -1 for new items
	var order, first []int        // indexes of ids: the order of the merge, and the items that come first
	for i, id := range c.ids {
		at[i] = -1
		if old, ok := k.index[id]; ok {
			at[i] = slices.Index(dest, k.items[old])
		}
		if i < len(patch) && (at[i] < 0 || !newFirst) {
			first = append(first, i)
		}
		order = append(order, i)
	}
	if newFirst {
		slices.SortStableFunc(order, func(i, j int) int { return at[i] - at[j] })
	}
	for _, i := range order {
		pos := max(at[i], i)
		switch {
		case i >= len(patch):
			pos = at[i]
			v, err = m.keep(dest[pos], k.node.Elem())
		case at[i] < 0:
			v, err = m.add(patch[i], k.node.Elem())
		default:
			v, err = m.mergeItem(dest[at[i]], patch[i], k.node.Elem())
		}
		if err != nil {
			return v, true, atItem(pos, err)
		}
		c.values[i] = v
		if id, ok := itemID(k.keys, v); v.Exists() && (!ok || id != c.ids[i]) {
			c.lost = true
		} else if v.Exists() && !k.settled(m, v) {
			c.loose = append(c.loose, id)
		}
	}
	c.lost = c.lost || len(c.loose) > fewItems
	c.list = k.result(c, at, first, len(patch))
	return c.list, true, nil
}

// result returns the list after a merge. The changed items were at the positions at. The first n
// are from the patch, and those with the indexes first come first.
func (k *knownList) result(c *listChange, at, first []int, n int) yaml.Value {
	var items []yaml.Value
	for _, i := range first {
		if c.values[i].Exists() {
			items = append(items, c.values[i])
		}
	}
	hits := make([]int, 0, len(at)) // indexes of changed items in the list
	for i, pos := range at {
		if pos >= 0 {
			hits = append(hits, i)
		}
	}
	if len(hits) == 0 {
		return k.room.Prepend(k.list, items)
	}
	slices.SortFunc(hits, func(i, j int) int { return at[i] - at[j] })
	items = slices.Grow(items, k.list.Len())
	rest, from := k.list.Items(), 0
	for _, i := range hits {
		items = append(items, rest[from:at[i]]...)
		if from = at[i] + 1; (len(k.keys) > 1 || i >= n) && c.values[i].Exists() {
			items = append(items, c.values[i])
		}
	}
	return k.list.WithItems(append(items, rest[from:]...)...)
}

// commit makes the results of a merge known.
func (memory *mergeMemory) commit() {
	if memory == nil {
		return
	}
	for _, k := range memory.lists {
		if c := k.next; c != nil && !c.lost {
			k.change(c)
		}
	}
	memory.lists = slices.DeleteFunc(memory.lists, func(k *knownList) bool { return k.next != nil && k.next.lost })
	for _, k := range memory.lists {
		k.next = nil
	}
}

func (k *knownList) change(c *listChange) {
	k.list, k.loose = c.list, c.loose
	for i, id := range c.ids {
		v := c.values[i]
		old, found := k.index[id]
		switch {
		case found && v.Exists():
			k.items[old] = v
		case found:
			k.items[old] = v
			delete(k.index, id)
		case v.Exists():
			k.index[id] = len(k.items)
			k.items = append(k.items, v)
			if k.names != nil {
				k.names.Add(v.Get("name").Text())
			}
		}
	}
}

// isFlat reports whether v is a long mapping of scalars that a merge without a patch leaves
// unchanged.
func (memory *mergeMemory) isFlat(v yaml.Value) bool {
	if memory == nil || v.Len() <= fewItems || v.Type() != yaml.Map {
		return false
	}
	if slices.Contains(memory.flat, v) {
		return true
	}
	for _, f := range v.Fields() {
		if !isFlatField(f.Value) {
			return false
		}
	}
	memory.flat = addKnown(memory.flat, v, &memory.nextFlat)
	return true
}

func isFlatField(v yaml.Value) bool { return v.IsScalar() && v.SetAgain().Same(v) }

// addScalars does the work of [merger.mergeMap] for a long mapping and a patch that only adds a few
// scalars. For all others, ok is false.
func (memory *mergeMemory) addScalars(dest, patch yaml.Value) (v yaml.Value, ok bool) {
	if patch.Len() > fewItems || !memory.isFlat(dest) {
		return v, false
	}
	for _, f := range patch.Fields() {
		if !isFlatField(f.Value) || memory.room.Index(dest, f.Key) >= 0 {
			return v, false
		}
	}
	v = dest
	for _, f := range patch.Fields() {
		v = memory.room.With(v, f.Key, f.Value)
	}
	memory.flat[slices.Index(memory.flat, dest)] = v
	return v, true
}
