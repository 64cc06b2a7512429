package yaml

import "unsafe"

// A FieldRoom is spare capacity after the fields of a mapping, for a step that adds many fields.
// [Value.With] copies all fields for each new one, which takes quadratic time. Values with fewer
// fields share the array and do not see the new fields. A FieldRoom must be used by one step only.
// The zero FieldRoom has no capacity yet.
type FieldRoom struct {
	last     Value // the mapping with all fields so far
	capacity int
}

// With returns the mapping v with a new field key, which v must not have, as [Value.With] does.
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
