package yaml

import "unsafe"

const (
	// MaxResource is the size in bytes to which steps may grow a resource.
	MaxResource = 64 << 20
	// MaxList is the maximum total size in bytes of the resources of a list.
	MaxList = 1 << 30
)

const (
	itemSize  = int(unsafe.Sizeof(Value{}))
	fieldSize = int(unsafe.Sizeof(Field{}))
)

// Size returns the size of v in bytes as if no part were shared, or limit if that is less. Values
// share their parts: a value that was doubled thirty times takes little memory, but code that
// walks it visits each part a billion times.
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

// Growth returns the size of v minus that of old, in bytes. It descends only into parts that
// differ.
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

// fieldsGrowth is [Growth] for the fields of mappings. The sum does not depend on which fields are
// compared with each other.
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

// sameFields returns the number of leading fields that a and b share in memory.
func sameFields(a, b []Field) int {
	if unsafe.SliceData(a) == unsafe.SliceData(b) {
		return min(len(a), len(b))
	}
	return 0
}

func itemsGrowth(old, items []Value) int {
	n := itemSize * (len(items) - len(old))
	if more := len(items) - len(old); more > 0 && len(old) > 0 && &items[more] == &old[0] { // see ItemRoom
		old, items = nil, items[:more]
	}
	for len(old) > 0 && len(items) > 0 && old[len(old)-1] == items[len(items)-1] {
		old, items = old[:len(old)-1], items[:len(items)-1]
	}
	// An item that was moved to the front shifts those that were before it. The first of them may
	// have changed, because it was moved before. Like the order of fields, the order of items does
	// not affect the sum.
	var moved []Value
	if both := min(len(old), len(items)); both > 1 && old[0] == items[1] || both > 2 && old[1] == items[2] {
		moved, items = items[:1:1], items[1:]
	}
	both := min(len(old), len(items))
	for i := range both {
		if old[i] != items[i] {
			n += Growth(old[i], items[i])
		}
	}
	rest := old[both:]
	if len(moved) > 0 && len(rest) > 0 {
		n += Growth(rest[0], moved[0])
		moved, rest = nil, rest[1:]
	}
	for _, x := range append(moved, items[both:]...) {
		n += x.Size(2 * MaxResource)
	}
	for _, x := range rest {
		n -= x.Size(2 * MaxResource)
	}
	return n
}
