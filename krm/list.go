package krm

import (
	"fmt"
	"iter"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// MaxResources is the maximum length of a list. It is far more than a cluster can hold. Without a
// limit, a few small files that each include the next one twice could exhaust memory. A function's
// output could do the same.
const MaxResources = 1 << 18

// A List is a sequence of resources in load order, indexed by identity. A List is owned by one
// step at a time and must not be used concurrently. [List.Clone] makes a private copy that shares
// the resources.
type List struct {
	items []*Resource
	cur   *index // by current identity
	any   *index // by current and previous identities
	names *index // by current and previous names
	// labels is the index by labels and annotations, and scans the number of searches without it:
	// see [List.Labelled].
	labels *index
	scans  int
	// owner marks the resources that belong to this list alone: see [Ownership].
	owner *owner
	// size is the total size of the resources. tooLarge is the error if a size limit was exceeded.
	size     int
	tooLarge error
	// from is the position of a part's first resource in the whole list: see [List.From].
	from int
	// part is true for a part. Parts share the indexes of the whole list and cannot update them.
	part bool
	// unique is true if the list is known to have no duplicate identities.
	unique bool
}

// NewList returns a list of rs without checking for duplicate identities. It takes ownership of
// the slice.
func NewList(rs ...*Resource) *List {
	l := &List{items: rs, unique: len(rs) < 2}
	for _, r := range rs {
		l.countSize(0, r)
	}
	return l
}

// countSize adds the size of r, which replaces a resource of size old.
func (l *List) countSize(old int, r *Resource) {
	l.size += r.size - old
	if r.size > yaml.MaxResource && r.size > old {
		l.tooLarge = diag.Limitf("%s exceeds the limit of %d MiB", r.id, yaml.MaxResource>>20)
		return
	}
	l.checkSize()
}

func (l *List) checkSize() {
	if l.size > yaml.MaxList {
		l.tooLarge = diag.Limitf("the list exceeds the limit of %d MiB", yaml.MaxList>>20)
	}
}

// Size returns the approximate total size of the resources in bytes. Values that resources share
// are counted once per resource.
func (l *List) Size() int { return l.size }

// CheckSize returns an error that wraps [diag.ErrLimit] if the list or one of its resources
// exceeded its size limit. From then on [List.All] yields nothing more, so that the running step
// ends early. Callers that run a step must call CheckSize afterwards.
func (l *List) CheckSize() error { return l.tooLarge }

// Len returns the number of resources.
func (l *List) Len() int { return len(l.items) }

// At returns resource i. The caller must not change it: use [List.Change], or pass a changed copy
// to [List.Set].
func (l *List) At(i int) *Resource { return l.items[i] }

// All iterates over positions and resources. The loop body may call [List.Set].
func (l *List) All() iter.Seq2[int, *Resource] {
	return func(yield func(int, *Resource) bool) {
		for i, r := range l.items {
			if l.tooLarge != nil || !yield(i, r) {
				return
			}
		}
	}
}

// Clone returns a list of the same resources that can be changed independently.
func (l *List) Clone() *List {
	return &List{items: append([]*Resource(nil), l.items...), size: l.size, tooLarge: l.tooLarge, unique: l.unique}
}

func (l *List) buildCur() *index {
	if l.cur == nil {
		l.cur = newIndex(len(l.items))
		for i, r := range l.items {
			l.cur.add(hashID(r.id.Key()), i)
		}
	}
	return l.cur
}

func (l *List) buildAny() *index {
	if l.any == nil {
		l.any = newIndex(len(l.items))
		for i, r := range l.items {
			l.addIDs(r, i)
		}
	}
	return l.any
}

// addIDs adds the current and previous identities of r, at pos, to l.any.
func (l *List) addIDs(r *Resource, pos int) {
	l.any.add(hashID(r.id.Key()), pos)
	for i := range r.Prev {
		l.any.add(hashID(r.PrevID(i).Key()), pos)
	}
}

// Find returns the positions of the resources whose current identity is id, in order.
func (l *List) Find(id ID) []int {
	id = id.Key()
	return l.find(id, hashID(id))
}

// find is [List.Find] for a key with a known hash.
func (l *List) find(key ID, hash uint64) []int {
	return l.buildCur().find(hash, func(i int) bool { return l.items[i].id.Key() == key })
}

// FindAny returns the positions of the resources whose current or previous identity is id, in
// order.
func (l *List) FindAny(id ID) []int {
	id = id.Key()
	return l.buildAny().find(hashID(id), func(i int) bool { return l.items[i].hasID(id) })
}

// A DuplicateError reports two resources with the same identity in one list.
type DuplicateError struct {
	ID            ID
	First, Second diag.Pos
	// Inputs are the indexes of the merged lists that contain the resources. Both are 0 if there
	// is only one list.
	Inputs [2]int
	// Entry leads from the field of the merged lists to the entry that brings the second resource,
	// if known.
	Entry []any
	// Ways are the chains of references from the root to the file of each resource, if known.
	Ways []string
}

func (e *DuplicateError) Error() string { return e.Diag().Error() }

// Diag returns the error with hints.
func (e *DuplicateError) Diag() *diag.Error {
	d := diag.Errorf(diag.Pos{}, "", "duplicate resource %s", e.ID)
	if e.First.File != "" {
		d.Msg += fmt.Sprintf(" (already at %s)", e.First)
	}
	for _, way := range e.Ways {
		d.Hint("%s", way)
	}
	switch {
	case e.Second.File == "":
		d.Hint("give one of them a different name or namespace, or remove it")
	case e.First == e.Second:
		d.Hint("it is included twice: list the file or its layer once, or give each layer a different namePrefix or namespace")
	default:
		d.Hint("the other one is at %s: remove one, give it a different name or namespace, or turn it into a patch", e.Second)
	}
	return d
}

// Part returns Entry: see [diag.PathOf].
func (e *DuplicateError) Part() []any { return e.Entry }

// Kind returns the error code: see [diag.CodeOf].
func (e *DuplicateError) Kind() diag.Code { return diag.SameID }

// Append adds r at the end. It returns a [DuplicateError] if the list already has a resource with
// the same current identity.
func (l *List) Append(r *Resource) error {
	key := r.id.Key()
	hash := hashID(key)
	if same := l.find(key, hash); len(same) > 0 {
		return &DuplicateError{ID: r.id, First: l.items[same[0]].Pos, Second: r.Pos}
	}
	at := len(l.items)
	l.items = append(l.items, r)
	l.countSize(0, r)
	l.cur.add(hash, at)
	if l.any != nil {
		l.addIDs(r, at)
	}
	if l.names != nil {
		l.addNames(r, at)
	}
	l.addLabels(yaml.Value{}, r.value, at)
	return nil
}

// Set replaces resource i with r.
func (l *List) Set(i int, r *Resource) {
	old := l.items[i]
	l.items[i] = r
	l.countSize(old.size, r)
	l.changed(i, old.id, old.Prev)
	l.addLabels(old.value, r.value, i)
}

// changed updates or drops the indexes after resource i changed. id and prev are its identity and
// previous identities before the change.
func (l *List) changed(i int, id ID, prev []ID) {
	r := l.items[i]
	if id != r.id {
		l.cur, l.unique = nil, len(l.items) < 2
	} else if r.sameHistory(prev) {
		return
	}
	if l.part || id.Group != r.id.Group || id.Version != r.id.Version || !r.continues(prev) {
		l.any, l.names = nil, nil
		return
	}
	// The resource has all of its earlier identities, and new ones. A chain of layers that rename
	// it would otherwise index all of them again in each layer. Lookups compare the resource, so
	// the entry of an identity that is neither current nor previous does no harm.
	if l.any != nil {
		l.any.insert(hashID(r.id.Key()), i)
		for n := len(prev); n < len(r.Prev); n++ {
			l.any.insert(hashID(r.PrevID(n).Key()), i)
		}
	}
	if l.names != nil {
		l.names.insert(hashName(r.id.Name), i)
		for _, p := range r.Prev[len(prev):] {
			l.names.insert(hashName(p.Name), i)
		}
	}
}

// sameHistory reports whether the index of previous identities is still valid for r, which had the
// previous identities prev. It is valid if r still has all of them and any additional one equals
// its current identity, which the index contains as well.
func (r *Resource) sameHistory(prev []ID) bool {
	if !r.continues(prev) {
		return false
	}
	for i := len(prev); i < len(r.Prev); i++ {
		if r.PrevID(i).Key() != r.id.Key() {
			return false
		}
	}
	return true
}

// continues reports whether the previous identities of r start with prev. They do if they were only
// appended to, which the comparison of the addresses finds without comparing all of them: in a
// chain of layers, each layer adds one.
func (r *Resource) continues(prev []ID) bool {
	if len(r.Prev) < len(prev) || len(prev) == 0 {
		return len(prev) == 0
	}
	return &r.Prev[0] == &prev[0] || slices.Equal(r.Prev[:len(prev)], prev)
}

// Replace makes rs the resources of the list, without checking for duplicates. It takes ownership
// of the slice.
func (l *List) Replace(rs []*Resource) { *l = *NewList(rs...) }

// Filter removes the resources for which keep returns false.
func (l *List) Filter(keep func(*Resource) bool) {
	var rs []*Resource
	for _, r := range l.items {
		if keep(r) {
			rs = append(rs, r)
		}
	}
	if len(rs) != len(l.items) {
		unique := l.unique
		l.Replace(rs)
		l.unique = unique
	}
}

// CheckUnique returns a [DuplicateError] for the first two resources with the same current
// identity, nil if there are none.
func (l *List) CheckUnique() error {
	if l.unique || len(l.items) < 2 {
		return nil
	}
	if len(l.buildCur().more) == 0 {
		l.unique = true
		return nil
	}
	seen := make(map[ID]*Resource, len(l.items))
	for _, r := range l.items {
		if old := seen[r.id.Key()]; old != nil {
			return &DuplicateError{ID: r.id, First: old.Pos, Second: r.Pos}
		}
		seen[r.id.Key()] = r
	}
	return nil
}
