package krm

import "hash/maphash"

// An index finds the positions of resources in a list by identity. It is a hash table that does not hold the identities,
// which are large, but says where in the list they are.
type index struct {
	slots      []int32 // 1 + an entry, 0 for none; their number is a power of two
	entries    []indexEntry
	duplicates bool // some identity has several positions
}

// An indexEntry is one identity of one resource.
type indexEntry struct {
	hash       uint32
	pos        int32
	prev       int32 // which of the previous identities, -1 for the current one
	next, last int32 // the next entry of the same identity, 0 for none; the last one, in the first
}

var indexSeed = maphash.MakeSeed()

func newIndex(n int) *index {
	size := 8
	for size < 2*n {
		size *= 2
	}
	return &index{slots: make([]int32, size), entries: make([]indexEntry, 0, n)}
}

func hashID(key ID) uint32 { return uint32(maphash.Comparable(indexSeed, key)) }

// slot returns where the first entry of key is, or would be.
func (x *index) slot(items []*Resource, key ID, hash uint32) *int32 {
	mask := uint32(len(x.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := &x.slots[i]
		if *s == 0 {
			return s
		}
		if e := &x.entries[*s-1]; e.hash == hash && e.key(items) == key {
			return s
		}
	}
}

func (e *indexEntry) key(items []*Resource) ID {
	r := items[e.pos]
	if e.prev < 0 {
		return r.id.Key()
	}
	return r.PrevID(int(e.prev)).Key()
}

// first returns the first position of key, -1 if there is none.
func (x *index) first(items []*Resource, key ID) int {
	if s := *x.slot(items, key, hashID(key)); s > 0 {
		return int(x.entries[s-1].pos)
	}
	return -1
}

func (x *index) find(items []*Resource, key ID) []int {
	var found []int
	for s := *x.slot(items, key, hashID(key)); s > 0; s = x.entries[s-1].next {
		found = append(found, int(x.entries[s-1].pos))
	}
	return found
}

// add adds identity prev of the resource at pos, the last one so far.
func (x *index) add(items []*Resource, pos, prev int) {
	if 2*len(x.entries) >= len(x.slots) {
		x.grow()
	}
	e := indexEntry{pos: int32(pos), prev: int32(prev)}
	key := e.key(items)
	e.hash = hashID(key)
	s := x.slot(items, key, e.hash)
	at := int32(len(x.entries)) + 1
	if *s == 0 {
		*s, e.last = at, at
	} else {
		first := &x.entries[*s-1]
		last := &x.entries[first.last-1]
		if last.pos == e.pos {
			return
		}
		last.next, first.last = at, at
		x.duplicates = true
	}
	x.entries = append(x.entries, e)
}

// addAll adds all identities of the resource at pos.
func (x *index) addAll(items []*Resource, pos int) {
	x.add(items, pos, -1)
	for i := range items[pos].Prev {
		x.add(items, pos, i)
	}
}

func (x *index) grow() {
	old := x.slots
	x.slots = make([]int32, 2*len(old))
	mask := uint32(len(x.slots) - 1)
	for _, s := range old {
		if s == 0 {
			continue
		}
		i := x.entries[s-1].hash & mask
		for x.slots[i] != 0 {
			i = (i + 1) & mask
		}
		x.slots[i] = s
	}
}
