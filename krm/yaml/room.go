package yaml

import "unsafe"

// A FieldRoom is spare capacity after the fields of a few mappings, for steps that add many fields.
// [Value.With] copies all fields for each new one, which takes quadratic time. Values with fewer
// fields share the array and do not see the new fields. A FieldRoom must not be used concurrently,
// and belongs to one resource. The zero FieldRoom has no capacity yet.
type FieldRoom struct {
	grown []grown
	next  int // the element of grown to replace when there are maxGrown
}

// grown is a mapping with spare capacity.
type grown struct {
	last     Value // the mapping with all fields so far
	capacity int
	index    map[string]int // of the fields; nil before the first use
}

const (
	// maxGrown is the maximum number of mappings with spare capacity in a resource. A resource has
	// labels and annotations in two or three places.
	maxGrown = 8
	// RoomFields is the number of fields from which on a FieldRoom has an effect.
	RoomFields = 12
)

func (r *FieldRoom) find(v Value) *grown {
	for i := range r.grown {
		if r.grown[i].last == v {
			return &r.grown[i]
		}
	}
	return nil
}

// Index is [Value.Index], in constant time if v is a result of [FieldRoom.With].
func (r *FieldRoom) Index(v Value, key string) int {
	g := r.find(v)
	if g == nil {
		return v.Index(key)
	}
	if g.index == nil {
		g.index = make(map[string]int, g.capacity)
		for i, f := range v.Fields() {
			g.index[f.Key] = i
		}
	}
	if i, ok := g.index[key]; ok {
		return i
	}
	return -1
}

// With returns the mapping v with a new field key, which v must not have, as [Value.With] does.
func (r *FieldRoom) With(v Value, key string, x Value) Value {
	n := len(v.Fields())
	if n < RoomFields {
		return v.With(key, x)
	}
	g := r.find(v)
	if g == nil {
		if len(r.grown) < maxGrown {
			r.grown = append(r.grown, grown{})
			g = &r.grown[len(r.grown)-1]
		} else {
			g = &r.grown[r.next]
			r.next = (r.next + 1) % maxGrown
			*g = grown{}
		}
	}
	if g.capacity == 0 || g.capacity == n {
		fields := make([]Field, n, 2*n)
		copy(fields, v.Fields())
		g.capacity = 2 * n
		v = v.WithFields(fields...)
	}
	fields := unsafe.Slice((*Field)(v.p), n+1)
	fields[n] = Field{key, x}
	if g.index != nil {
		g.index[key] = n
	}
	g.last = v.WithFields(fields...)
	return g.last
}

// An ItemRoom is spare capacity before the items of a list, for steps that add many items at its
// front. Lists with fewer items share the array and do not see the new items. An ItemRoom must not
// be used concurrently. The zero ItemRoom has no capacity yet.
type ItemRoom struct {
	array []Value
	first int // index of the first used item
}

// Prepend returns the list v with items before its own items.
func (r *ItemRoom) Prepend(v Value, items []Value) Value {
	if len(items) == 0 {
		return v
	}
	old := v.Items()
	if used := r.array[r.first:]; len(items) > r.first || len(used) != len(old) || len(old) == 0 || &used[0] != &old[0] {
		n := len(items) + len(old)
		r.array, r.first = make([]Value, 2*n), 2*n-len(old)
		copy(r.array[r.first:], old)
	}
	r.first -= len(items)
	copy(r.array[r.first:], items)
	return v.WithItems(r.array[r.first:]...)
}
