package krm

import "unsafe"

// A room is space behind the fields of a mapping, for those that are added to it: to copy all fields for each new one takes a time
// that grows with the square of their number. Values of fewer fields do not see the new ones.
type room struct {
	last     Value // the mapping with all fields so far
	capacity int
}

// WithField returns v, a mapping within the object of r, with a field that it does not have. It is [Value.With] for one who adds
// many, and owns r: see [List.Change].
func (r *Resource) WithField(v Value, key string, x Value) Value {
	const few = 12
	n := len(v.Fields())
	if n < few {
		return v.With(key, x)
	}
	if r.room == nil || r.room.last != v || r.room.capacity == n {
		fields := make([]Field, n, 2*n)
		copy(fields, v.Fields())
		r.room = &room{capacity: 2 * n}
		v = v.WithFields(fields...)
	}
	fields := unsafe.Slice((*Field)(v.p), n+1)
	fields[n] = Field{key, x}
	r.room.last = v.WithFields(fields...)
	return r.room.last
}
