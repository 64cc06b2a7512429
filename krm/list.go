package krm

import (
	"fmt"
	"iter"
)

// A List is a sequence of resources in load order with an index by identity, so that lookups never scan. A List is owned
// by one step at a time and not safe for concurrent use; [List.Clone] makes a private copy that shares the resources.
type List struct {
	items []*Resource
	cur   *index // by current identity
	any   *index // by current and previous identities
	names map[string][]int
	// Notes is for what a step has found out about the resources and the next one may want to know. It must name the
	// resources that it is about: nothing is done to it when the list changes.
	Notes any
	// unique is true if it is known that no two resources have the same identity.
	unique bool
}

// NewList returns a list of rs without looking for duplicate identities. It takes ownership of the slice.
func NewList(rs ...*Resource) *List { return &List{items: rs, unique: len(rs) < 2} }

// Len returns the number of resources.
func (l *List) Len() int { return len(l.items) }

// At returns resource i. It must not be changed; change a copy and [List.Set] it.
func (l *List) At(i int) *Resource { return l.items[i] }

// All iterates over positions and resources. [List.Set] may be called meanwhile.
func (l *List) All() iter.Seq2[int, *Resource] {
	return func(yield func(int, *Resource) bool) {
		for i, r := range l.items {
			if !yield(i, r) {
				return
			}
		}
	}
}

// Clone returns a list of the same resources that can be changed independently.
func (l *List) Clone() *List {
	return &List{items: append([]*Resource(nil), l.items...), unique: l.unique}
}

func (l *List) buildCur() *index {
	if l.cur == nil {
		l.cur = newIndex(len(l.items))
		for i := range l.items {
			l.cur.add(l.items, i, -1)
		}
	}
	return l.cur
}

func (l *List) buildAny() *index {
	if l.any == nil {
		l.any = newIndex(len(l.items))
		for i := range l.items {
			l.any.addAll(l.items, i)
		}
	}
	return l.any
}

// Find returns the positions of the resources whose current identity is id, in order.
func (l *List) Find(id ID) []int { return l.buildCur().find(l.items, id.Key()) }

// FindAny returns the positions of the resources that have id as their current or a previous identity, in order of
// position.
func (l *List) FindAny(id ID) []int { return l.buildAny().find(l.items, id.Key()) }

// A DuplicateError says that two resources of one list have the same identity.
type DuplicateError struct {
	ID            ID
	First, Second Pos
}

func (e *DuplicateError) Error() string {
	msg := fmt.Sprintf("duplicate resource %s", e.ID)
	if e.First.File != "" {
		msg += fmt.Sprintf(" (already at %s)", e.First)
	}
	return msg
}

// Append adds r at the end; a resource of the same current identity is a [DuplicateError].
func (l *List) Append(r *Resource) error {
	cur := l.buildCur()
	if i := cur.first(l.items, r.id.Key()); i >= 0 {
		return &DuplicateError{r.id, l.items[i].Pos, r.Pos}
	}
	at := len(l.items)
	l.items = append(l.items, r)
	cur.add(l.items, at, -1)
	if l.any != nil {
		l.any.addAll(l.items, at)
	}
	if l.names != nil {
		l.addNames(r, at)
	}
	return nil
}

// Set puts r in the place of resource i.
func (l *List) Set(i int, r *Resource) {
	old := l.items[i]
	if old.id != r.id {
		l.cur, l.any, l.names, l.unique = nil, nil, nil, len(l.items) < 2
	} else if !sameHistory(old, r) {
		l.any, l.names = nil, nil
	}
	l.items[i] = r
}

// sameHistory reports whether r has the identities of old: all of its previous ones, and more only if they are the
// current one.
func sameHistory(old, r *Resource) bool {
	if len(r.Prev) < len(old.Prev) {
		return false
	}
	for i := range r.Prev {
		if i < len(old.Prev) && r.Prev[i] != old.Prev[i] || i >= len(old.Prev) && r.PrevID(i).Key() != r.id.Key() {
			return false
		}
	}
	return true
}

// Replace makes rs the resources of the list, without looking for duplicates. It takes ownership of the slice.
func (l *List) Replace(rs []*Resource) { *l = List{items: rs} }

// Filter keeps the resources for which keep returns true.
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

// CheckUnique returns a [DuplicateError] for the first two resources of the same current identity, nil if there are none.
func (l *List) CheckUnique() error {
	if l.unique || len(l.items) < 2 {
		return nil
	}
	if !l.buildCur().duplicates {
		l.unique = true
		return nil
	}
	seen := make(map[ID]*Resource, len(l.items))
	for _, r := range l.items {
		if old := seen[r.id.Key()]; old != nil {
			return &DuplicateError{r.id, old.Pos, r.Pos}
		}
		seen[r.id.Key()] = r
	}
	return nil
}
