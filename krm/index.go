package krm

import "hash/maphash"

// An index finds the positions of resources in a list by identity. Its keys are hashes: identities are so large that they would
// take more memory than all that most steps make.
type index struct {
	previous bool               // by previous identities, too
	first    map[uint64]int32   // the first position of a hash
	more     map[uint64][]int32 // the others, in order
}

var indexSeed = maphash.MakeSeed()

func newIndex(n int, previous bool) *index {
	return &index{previous: previous, first: make(map[uint64]int32, n)}
}

// add adds r, at pos, which has no lower position than those before.
func (x *index) add(r *Resource, pos int) {
	x.addID(r.id, pos)
	if x.previous {
		for i := range r.Prev {
			x.addID(r.PrevID(i), pos)
		}
	}
}

func (x *index) addID(id ID, pos int) {
	hash, at := maphash.Comparable(indexSeed, id.Key()), int32(pos)
	first, ok := x.first[hash]
	if !ok {
		x.first[hash] = at
		return
	}
	more := x.more[hash]
	if first == at || len(more) > 0 && more[len(more)-1] == at {
		return
	}
	if x.more == nil {
		x.more = map[uint64][]int32{}
	}
	x.more[hash] = append(more, at)
}

// find returns the positions in items, the list that x is of.
func (x *index) find(items []*Resource, id ID) []int {
	id = id.Key()
	hash := maphash.Comparable(indexSeed, id)
	first, ok := x.first[hash]
	if !ok {
		return nil
	}
	found := make([]int, 0, 1)
	if x.has(items[first], id) {
		found = append(found, int(first))
	}
	for _, at := range x.more[hash] {
		if x.has(items[at], id) {
			found = append(found, int(at))
		}
	}
	return found
}

// has reports whether r has the identity id, or had it if that counts.
func (x *index) has(r *Resource, id ID) bool {
	if r.id.Key() == id {
		return true
	}
	for i := 0; x.previous && i < len(r.Prev); i++ {
		if r.PrevID(i).Key() == id {
			return true
		}
	}
	return false
}
