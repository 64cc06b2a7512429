package krm

import "github.com/krmflow/krmflow/krm/yaml"

// An Ownership says which resources of an existing list a step may change in place, and which it
// must copy first. Several consumers may share a list, so its resources are copied on write. In a
// chain of steps, however, each list has one consumer. Ownership spares it the copies: without
// ownership, each step of the chain would copy every resource that it changes.
//
// A list goes through these states:
//
//   - A step makes a list. The list owns the resources that [List.Change] has copied for it, and
//     changes them in place from then on.
//   - While several consumers have yet to read the list, it is Borrowed: each takes a clone, which
//     shares the resources and owns none of them.
//   - The last of several consumers gets the list HandedOver. It may change the list itself, but
//     the other consumers still refer to the resources, so the list gives up ownership of them.
//   - A sole consumer gets the list Exclusive: it owns the list and the resources that the list
//     owns, and nothing is copied again.
//
// A list owns a resource if the resource carries the list's owner, which no other list has. A
// resource that no list owns is shared and never changes.
type Ownership uint8

// The states in which a step receives a list. The zero value, Borrowed, is always safe.
const (
	Borrowed Ownership = iota
	HandedOver
	Exclusive
)

// Take returns a list that the step may change: l itself, or a clone if l is Borrowed.
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

// An owner marks the resources of a list. Only its address matters.
type owner struct{ _ byte }

// Room returns the spare capacity of the mappings in resource i, nil unless the list owns the
// resource. A list that does not must copy the resource first: see [List.Change].
func (l *List) Room(i int) *yaml.FieldRoom {
	if !l.owns(i) {
		return nil
	}
	return l.items[i].fieldRoom()
}

// Memory returns the place of a value that a package of steps keeps with resource i from one step
// to the next, nil unless the list owns the resource. Copies of the resource do not have the value.
// It must not affect results.
func (l *List) Memory(i int) *any {
	if !l.owns(i) {
		return nil
	}
	return &l.items[i].memory
}

// owns reports whether the list owns resource i.
func (l *List) owns(i int) bool { return l.owner != nil && l.items[i].owner == l.owner }

// Change calls change with resource i. It copies the resource first unless the list already owns
// it: a resource passes through many steps, and only the first change must spare the other lists
// that share it.
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
	id, prev, size, old := r.id, r.Prev, r.size, r.value
	change(r)
	l.countSize(size, r)
	l.changed(i, id, prev)
	l.addLabels(old, r.value, i)
}
