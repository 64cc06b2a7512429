package lint

import (
	"hash/maphash"
	"strings"
)

// Names is an index of many names for the question which of them a name misspells. The comparison
// with each name would take quadratic time for a list that grows by one name with each patch. The
// zero value has no names.
type Names struct {
	names   []string
	first   map[uint64]int32 // the latest of entries by hash
	entries []nameEntry
}

// A nameEntry is a name with one letter removed, or the complete name.
type nameEntry struct{ name, next int32 }

var nameSeed = maphash.MakeSeed()

// Add adds a name. Its index is the number of earlier names.
func (n *Names) Add(name string) {
	at := int32(len(n.names))
	n.names = append(n.names, name)
	if n.first == nil {
		n.first = map[uint64]int32{}
	}
	neighbours(name, func(hash uint64) {
		next, ok := n.first[hash]
		if !ok {
			next = -1
		}
		n.first[hash] = int32(len(n.entries))
		n.entries = append(n.entries, nameEntry{at, next})
	})
}

// Misspelt returns the indexes of the names that name is probably a misspelling of, in no
// particular order and possibly repeated.
func (n *Names) Misspelt(name string) (found []int) {
	neighbours(name, func(hash uint64) {
		for i, ok := n.first[hash]; ok && i >= 0; i = n.entries[i].next {
			if at := n.entries[i].name; isTypo(name, n.names[at]) {
				found = append(found, int(at))
			}
		}
	})
	return found
}

// neighbours yields the hashes of a name in lower case and of all texts that result from it by
// removing one byte. Two names have a hash in common if one letter is swapped, missing, additional
// or wrong. The bytes that are removed are not digits, since [isTypo] accepts no difference in a
// digit; otherwise numbered names would all be neighbours.
func neighbours(name string, yield func(hash uint64)) {
	if len(name) < minTypo {
		return
	}
	name = strings.ToLower(name)
	yield(maphash.String(nameSeed, name))
	b := []byte(name[1:]) // name without byte i
	for i := range len(name) {
		if c := name[i]; c < '0' || c > '9' {
			yield(maphash.Bytes(nameSeed, b))
		}
		if i < len(b) {
			b[i] = name[i]
		}
	}
}
