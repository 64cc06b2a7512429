package krm

// An Ownership says what a step may do with a list that another step has made, and so whether its resources must be copied before
// they change. A list and its resources go through these states:
//
//   - A step makes a list. Resources that it makes or copies for it are the list's own: [List.Change] changes them in place.
//   - Other steps get the list. While more than one of them has yet to look, it is Borrowed: each takes a copy of the list, which knows
//     the same resources and has none of its own.
//   - The last of several users gets it HandedOver: the list itself may be changed, but the other users know its resources, so it has
//     none of its own any more.
//   - An only user gets it Exclusive: list and resources are its own, and nothing is copied again.
//
// A resource is its list's own if the list has copied it ([List.Change]): it carries the list's owner, which no other list has. A
// resource that no list owns is shared, for ever, and never changes.
type Ownership uint8

// The ways in which a step gets a list. The zero value is the one that is always right.
const (
	Borrowed Ownership = iota
	HandedOver
	Exclusive
)

// Take returns l for a step that got it in the way that o says: a list that the step may change.
func (l *List) Take(o Ownership) *List {
	switch o {
	case Exclusive:
		return l
	case HandedOver:
		l.owner = nil
		return l
	}
	return l.Clone()
}

// An owner tells the resources of a list from those of others.
type owner struct{ _ byte }

// Change calls change with resource i, which is copied before unless it is the list's own already: a resource goes through many
// steps, and only the first one needs to spare those who know it.
func (l *List) Change(i int, change func(r *Resource)) {
	r := l.items[i]
	if l.owner == nil {
		l.owner = new(owner)
	}
	if r.owner != l.owner {
		r = r.Copy()
		r.owner = l.owner
		l.items[i] = r
	}
	id, prev, size := r.id, r.Prev, r.size
	change(r)
	l.countSize(size, r)
	l.changed(r, id, prev)
}
