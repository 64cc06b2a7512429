package yaml

import "unsafe"

// A FieldRoom is space behind the fields of a mapping, for those that are added to it: to copy all fields for each new one takes a time
// that grows with the square of their number. Values of fewer fields do not see the new ones. It is for one that is changed by one
// step; the zero FieldRoom has no space yet.
type FieldRoom struct {
	last     Value // the mapping with all fields so far
	capacity int
}

// With returns v, a mapping, with a field that it does not have, as [Value.With] does.
func (r *FieldRoom) With(v Value, key string, x Value) Value {
	const few = 12
	n := len(v.Fields())
	if n < few {
		return v.With(key, x)
	}
	if r.last != v || r.capacity == n {
		fields := make([]Field, n, 2*n)
		copy(fields, v.Fields())
		r.capacity = 2 * n
		v = v.WithFields(fields...)
	}
	fields := unsafe.Slice((*Field)(v.p), n+1)
	fields[n] = Field{key, x}
	r.last = v.WithFields(fields...)
	return r.last
}
