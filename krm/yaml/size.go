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

func fieldsGrowth(old, fields []Field) int {
	n := fieldSize * (len(fields) - len(old))
	for len(old) > 0 && len(fields) > 0 && old[0] == fields[0] {
		old, fields = old[1:], fields[1:]
	}
	for len(old) > 0 && len(fields) > 0 && old[len(old)-1] == fields[len(fields)-1] {
		old, fields = old[:len(old)-1], fields[:len(fields)-1]
	}
	// Which of them are compared makes no difference for the sum.
	for i := range max(len(old), len(fields)) {
		var a, b Field
		if i < len(old) {
			a = old[i]
		}
		if i < len(fields) {
			b = fields[i]
		}
		n += len(b.Key) - len(a.Key) + Growth(a.Value, b.Value)
	}
	return n
}

func itemsGrowth(old, items []Value) int {
	n := itemSize * (len(items) - len(old))
	for len(old) > 0 && len(items) > 0 && old[0] == items[0] {
		old, items = old[1:], items[1:]
	}
	for len(old) > 0 && len(items) > 0 && old[len(old)-1] == items[len(items)-1] {
		old, items = old[:len(old)-1], items[:len(items)-1]
	}
	for i := range max(len(old), len(items)) {
		var a, b Value
		if i < len(old) {
			a = old[i]
		}
		if i < len(items) {
			b = items[i]
		}
		n += Growth(a, b)
	}
	return n
}
