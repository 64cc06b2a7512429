package krm

import (
	"hash/maphash"
	"slices"
)

// An index maps the hash of a name or identity to positions in a list. The keys are hashes because
// keys that hold the names or identities themselves would take more memory than most steps
// allocate. Hashes can collide, so lookups compare the resource: see [index.find].
type index struct {
	first map[uint64]int32   // first position for a hash
	more  map[uint64][]int32 // further positions, in order
}

var indexSeed = maphash.MakeSeed()

func hashName(name string) uint64 { return maphash.String(indexSeed, name) }
func hashID(key ID) uint64        { return maphash.Comparable(indexSeed, key) }

func newIndex(n int) *index { return &index{first: make(map[uint64]int32, n)} }

// add adds pos. Positions must be added in non-decreasing order.
func (x *index) add(hash uint64, pos int) {
	at := int32(pos)
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

// insert adds pos. Positions may be added in any order.
func (x *index) insert(hash uint64, pos int) {
	at := int32(pos)
	first, ok := x.first[hash]
	more := x.more[hash]
	switch {
	case !ok || first <= at && (len(more) == 0 || more[len(more)-1] <= at):
		x.add(hash, pos)
		return
	case at == first:
		return
	case at < first:
		x.first[hash], at = at, first
	}
	if i, ok := slices.BinarySearch(more, at); !ok {
		if x.more == nil {
			x.more = map[uint64][]int32{}
		}
		x.more[hash] = slices.Insert(more, i, at)
	}
}

// find returns the positions for hash, in order, that pass the comparison meant.
func (x *index) find(hash uint64, meant func(pos int) bool) []int {
	first, ok := x.first[hash]
	if !ok {
		return nil
	}
	more := x.more[hash]
	found := make([]int, 0, 1+len(more))
	if meant(int(first)) {
		found = append(found, int(first))
	}
	for _, at := range more {
		if meant(int(at)) {
			found = append(found, int(at))
		}
	}
	return found
}
