package yaml

import "unsafe"

const (
	// MaxResource is the size in bytes up to which steps may make a resource grow.
	MaxResource = 64 << 20
	// MaxList is the size in bytes that the resources of a list may have together.
	MaxList = 1 << 30
)

const (
	itemSize  = int(unsafe.Sizeof(Value{}))
	fieldSize = int(unsafe.Sizeof(Field{}))
)

// Size returns how many bytes v would take if no part of it was shared with another place, and limit if that is less. Values
// share their parts: one that was doubled thirty times takes little memory, but whoever walks it meets every part a billion times.
func (v Value) Size(limit int) int {
	n := 0
	switch v.typ {
	case Seq:
		n = itemSize * int(v.n)
		for _, x := range v.Items() {
			if n >= limit {
				return limit
			}
			n += x.Size(limit - n)
		}
	case Map:
		n = fieldSize * int(v.n)
		for _, f := range v.Fields() {
			if n += len(f.Key); n >= limit {
				return limit
			}
			n += f.Value.Size(limit - n)
		}
	default:
		n = len(v.Text())
	}
	return min(n, limit)
}

// Growth returns by how many bytes v is larger than old. It enters only what differs.
func Growth(old, v Value) int {
	switch {
	case old == v:
		return 0
	case old.typ == Map && v.typ == Map:
		return fieldsGrowth(old.Fields(), v.Fields())
	case old.typ == Seq && v.typ == Seq:
		return itemsGrowth(old.Items(), v.Items())
	}
	return v.Size(2*MaxResource) - old.Size(2*MaxResource)
}

// fieldsGrowth is growth of mappings. Which fields are compared makes no difference for the sum.
func fieldsGrowth(old, fields []Field) int {
	n := fieldSize * (len(fields) - len(old))
	same := sameFields(old, fields)
	old, fields = old[same:], fields[same:]
	for len(old) > 0 && len(fields) > 0 && old[len(old)-1] == fields[len(fields)-1] {
		old, fields = old[:len(old)-1], fields[:len(fields)-1]
	}
	both := min(len(old), len(fields))
	for i := range both {
		if old[i].Value != fields[i].Value || len(old[i].Key) != len(fields[i].Key) {
			n += len(fields[i].Key) - len(old[i].Key) + Growth(old[i].Value, fields[i].Value)
		}
	}
	for _, f := range fields[both:] {
		n += len(f.Key) + f.Value.Size(2*MaxResource)
	}
	for _, f := range old[both:] {
		n -= len(f.Key) + f.Value.Size(2*MaxResource)
	}
	return n
}

// sameFields returns how many fields a and b have in common because they are in the same place.
func sameFields(a, b []Field) int {
	if unsafe.SliceData(a) == unsafe.SliceData(b) {
		return min(len(a), len(b))
	}
	return 0
}

func itemsGrowth(old, items []Value) int {
	n := itemSize * (len(items) - len(old))
	for len(old) > 0 && len(items) > 0 && old[len(old)-1] == items[len(items)-1] {
		old, items = old[:len(old)-1], items[:len(items)-1]
	}
	both := min(len(old), len(items))
	for i := range both {
		if old[i] != items[i] {
			n += Growth(old[i], items[i])
		}
	}
	for _, x := range items[both:] {
		n += x.Size(2 * MaxResource)
	}
	for _, x := range old[both:] {
		n -= x.Size(2 * MaxResource)
	}
	return n
}
