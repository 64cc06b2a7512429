package yaml

import (
	"maps"
	"slices"
	"strings"
	"unsafe"
)

// A Type is the type of a [Value].
type Type uint8

// The types of the JSON data model, and None for an absent value.
const (
	None Type = iota // no value: the result of looking up a missing field
	Null
	Bool
	Int
	Float
	Time // timestamp: keeps its text, and is a string in RFC 3339 form in the output
	String
	Seq
	Map
)

// String returns the name of t for messages.
func (t Type) String() string {
	return [...]string{"nothing", "null", "boolean", "integer", "number", "timestamp", "string", "list", "mapping"}[t]
}

// Article returns the name of t with its article, as in "a string".
func (t Type) Article() string {
	switch t {
	case None, Null:
		return t.String()
	case Int:
		return "an " + t.String()
	}
	return "a " + t.String()
}

// A Value is an immutable node of the JSON data model: a scalar, a list, or a mapping with ordered
// keys. The zero Value is None, which is different from Null.
//
// A number keeps its source text. Only the emitter converts it to kustomize's form. Resources and
// goroutines may share values without locks, because no method changes a value: [Value.With] and
// similar methods return a new Value that shares all unchanged parts.
//
// A Value has only 16 bytes, because rendering large trees is limited by memory traffic rather
// than by computation. For the same reason it does not store its position in the source: see
// [Source.Locate].
type Value struct {
	// p is a *byte of the text, *link if linked, *Value of the items or *Field of the fields.
	p     unsafe.Pointer
	n     uint32 // length of the data at p
	typ   Type
	flags flags
}

// flags describe how a value was written and its special meanings. They are bits of one field
// because the compiler keeps structs of at most four fields in registers.
type flags uint8

const (
	// linked: a string that is one node in several places, see [Linked].
	linked flags = 1 << iota
	// marked: a string that was written in quotes, a null that was written as nothing, or a list
	// or mapping that was written in brackets. For any other scalar: it has its type only from its
	// text, see style.go.
	marked
	// reread: the output may show a different text, see reread.go. For a string without quotes: it
	// is a string only because of its text, see style.go.
	reread
)

// is reports whether flag f is set.
func (v Value) is(f flags) bool { return v.flags&f != 0 }

// flagged returns v with flag f set or cleared.
func (v Value) flagged(f flags, set bool) Value {
	v.flags &^= f
	if set {
		v.flags |= f
	}
	return v
}

// A Field is one entry of a mapping.
type Field struct {
	Key   string
	Value Value
}

// NullValue is the explicit null.
var NullValue = Value{typ: Null}

// Str returns a string value.
func Str(s string) Value { return scalar(String, s) }

// BoolValue returns a boolean value.
func BoolValue(b bool) Value {
	if b {
		return scalar(Bool, "true")
	}
	return scalar(Bool, "false")
}

// Number returns the number with the given source text. t must be [Int] or [Float].
func Number(t Type, text string) Value { return scalar(t, text) }

// isTrue reports whether v is a true boolean, in any spelling.
func (v Value) isTrue() bool {
	return v.typ == Bool && (v.Text() == "true" || v.Text() == "True" || v.Text() == "TRUE")
}

func scalar(t Type, s string) Value {
	return Value{p: unsafe.Pointer(unsafe.StringData(s)), n: uint32(len(s)), typ: t}
}

// SeqOf returns a list of items. It takes ownership of the slice.
func SeqOf(items ...Value) Value {
	return Value{p: unsafe.Pointer(unsafe.SliceData(items)), n: uint32(len(items)), typ: Seq}
}

// MapOf returns a mapping of fields, in that order. It takes ownership of the slice. Keys must be
// unique.
func MapOf(fields ...Field) Value {
	return Value{p: unsafe.Pointer(unsafe.SliceData(fields)), n: uint32(len(fields)), typ: Map}
}

// StrMap returns a mapping of strings with sorted keys. The strings have the style of [SetStr].
func StrMap(m map[string]string) Value {
	fields := make([]Field, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		fields = append(fields, Field{k, SetStr(m[k])})
	}
	return MapOf(fields...)
}

// Type returns the type of v.
func (v Value) Type() Type { return v.typ }

// Exists reports whether v is not None.
func (v Value) Exists() bool { return v.typ != None }

// IsNull reports whether v is None or Null.
func (v Value) IsNull() bool { return v.typ <= Null }

// IsScalar reports whether v is a boolean, number, timestamp or string.
func (v Value) IsScalar() bool { return v.typ >= Bool && v.typ <= String }

// Text returns the text of a scalar: the contents of a string, or the source text of other
// scalars, for instance "0x1F" or "True". It returns "" for all other values.
func (v Value) Text() string {
	if !v.IsScalar() {
		return ""
	}
	if v.is(linked) {
		return (*link)(v.p).text
	}
	return unsafe.String((*byte)(v.p), v.n)
}

// Items returns the items of a list, nil for all other values. The slice must not be changed.
func (v Value) Items() []Value {
	if v.typ != Seq {
		return nil
	}
	return unsafe.Slice((*Value)(v.p), v.n)
}

// Fields returns the fields of a mapping, nil for all other values. The slice must not be changed.
func (v Value) Fields() []Field {
	if v.typ != Map {
		return nil
	}
	return unsafe.Slice((*Field)(v.p), v.n)
}

// Len returns the number of items or fields.
func (v Value) Len() int {
	if v.typ != Seq && v.typ != Map {
		return 0
	}
	return int(v.n)
}

// IsEmpty reports whether v is None, Null, an empty list or an empty mapping.
func (v Value) IsEmpty() bool { return v.typ <= Null || v.typ >= Seq && v.n == 0 }

// Index returns the index of the field key of a mapping, -1 if there is none.
func (v Value) Index(key string) int {
	fields := v.Fields()
	for i := range fields {
		k, n := fields[i].Key, len(key)
		// Keys of large mappings often differ only at the end, so compare the last byte first.
		if len(k) == n && (n == 0 || k[n-1] == key[n-1]) && k == key {
			return i
		}
	}
	return -1
}

// Get returns the field key of a mapping, None if there is none.
func (v Value) Get(key string) Value {
	if i := v.Index(key); i >= 0 {
		return v.Fields()[i].Value
	}
	return Value{}
}

// At returns the value at a path of mapping keys, None if there is none.
func (v Value) At(path ...string) Value {
	for _, key := range path {
		v = v.Get(key)
	}
	return v
}

// With returns v with the field key set to x: in its place if it exists, else at the end. It
// returns v itself if the field is already x. A value that is not a mapping is replaced by a
// mapping of one field.
func (v Value) With(key string, x Value) Value {
	i := v.Index(key)
	if i < 0 {
		fields := make([]Field, v.fieldCount()+1)
		copy(fields, v.Fields())
		fields[len(fields)-1] = Field{key, x}
		return v.WithFields(fields...)
	}
	if v.Fields()[i].Value.Same(x) {
		return v
	}
	fields := append([]Field(nil), v.Fields()...)
	fields[i].Value = x
	return v.WithFields(fields...)
}

func (v Value) fieldCount() int { return len(v.Fields()) }

// WithAt returns v with the value at a path of mapping keys set to x. It creates missing mappings.
func (v Value) WithAt(x Value, path ...string) Value {
	if len(path) == 0 {
		return x
	}
	return v.With(path[0], v.Get(path[0]).WithAt(x, path[1:]...))
}

// Without returns v without the field key, or v itself if there is no such field.
func (v Value) Without(key string) Value {
	i := v.Index(key)
	if i < 0 {
		return v
	}
	fields := make([]Field, 0, v.n-1)
	fields = append(fields, v.Fields()[:i]...)
	return v.WithFields(append(fields, v.Fields()[i+1:]...)...)
}

// WithItem returns the list v with item i replaced by x.
func (v Value) WithItem(i int, x Value) Value {
	items := append([]Value(nil), v.Items()...)
	items[i] = x
	return v.WithItems(items...)
}

// EditItems returns the list v with each item replaced by the result of edit, or v itself if
// nothing changes. It stops at the first error.
func (v Value) EditItems(edit func(Value) (Value, error)) (Value, error) {
	var changed []Value
	for i, item := range v.Items() {
		w, err := edit(item)
		if err != nil {
			return v, err
		}
		if w.Same(item) {
			continue
		}
		if changed == nil {
			changed = append(changed, v.Items()...)
		}
		changed[i] = w
	}
	if changed == nil {
		return v, nil
	}
	return v.WithItems(changed...), nil
}

// EditFields returns the mapping v with the value of each field replaced by the result of edit, or
// v itself if nothing changes.
func (v Value) EditFields(edit func(Field) Value) Value {
	var changed []Field
	for i, f := range v.Fields() {
		w := edit(f)
		if w.Same(f.Value) {
			continue
		}
		if changed == nil {
			changed = append(changed, v.Fields()...)
		}
		changed[i].Value = w
	}
	if changed == nil {
		return v
	}
	return v.WithFields(changed...)
}

// Same reports whether v and w are the same node in memory. It is a constant-time test for an edit
// that changed nothing.
func (v Value) Same(w Value) bool { return v == w }

// Equal reports whether v and w have the same data. The order of mapping keys is ignored, and
// numbers are compared by their text.
func (v Value) Equal(w Value) bool {
	if v == w {
		return true
	}
	if v.typ != w.typ || v.n != w.n {
		return false
	}
	switch v.typ {
	case Seq:
		for i, x := range v.Items() {
			if !x.Equal(w.Items()[i]) {
				return false
			}
		}
		return true
	case Map:
		for i, f := range v.Fields() {
			x := w.Fields()[i].Value
			if w.Fields()[i].Key != f.Key {
				if x = w.Get(f.Key); !x.Exists() {
					return false
				}
			}
			if !f.Value.Equal(x) {
				return false
			}
		}
		return true
	}
	return v.Text() == w.Text()
}

// StringMap returns the scalar fields of a mapping as strings, nil if there are none.
func (v Value) StringMap() map[string]string {
	if len(v.Fields()) == 0 {
		return nil
	}
	m := make(map[string]string, len(v.Fields()))
	for _, f := range v.Fields() {
		m[f.Key] = f.Value.Text()
	}
	return m
}

// Clone returns a copy of v that shares no memory with it, so that the source text of v can be
// freed.
func (v Value) Clone() Value {
	switch v.typ {
	case Seq:
		items := make([]Value, v.n)
		for i, x := range v.Items() {
			items[i] = x.Clone()
		}
		return v.WithItems(items...)
	case Map:
		fields := make([]Field, v.n)
		for i, f := range v.Fields() {
			fields[i] = Field{strings.Clone(f.Key), f.Value.Clone()}
		}
		return v.WithFields(fields...)
	case None, Null:
		return v
	}
	v.p = unsafe.Pointer(unsafe.StringData(strings.Clone(v.Text())))
	v.flags &^= linked
	return v
}
