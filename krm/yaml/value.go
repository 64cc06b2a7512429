package yaml

import (
	"maps"
	"slices"
	"strings"
	"unsafe"
)

// Type tells what a [Value] holds.
type Type uint8

// The types of the JSON data model, and None for a value that is absent.
const (
	None Type = iota // no value: what a lookup of a missing field returns
	Null
	Bool
	Int
	Float
	Time // a timestamp: kept as written, a string in RFC 3339 form in the output
	String
	Seq
	Map
)

// String returns the name that messages use for t.
func (t Type) String() string {
	return [...]string{"nothing", "null", "boolean", "integer", "number", "timestamp", "string", "list", "mapping"}[t]
}

// Article returns the name of t as it stands in a sentence.
func (t Type) Article() string {
	switch t {
	case None, Null:
		return t.String()
	case Int:
		return "an " + t.String()
	}
	return "a " + t.String()
}

// A Value is an immutable node of the JSON data model: a scalar, a list or a mapping with ordered keys.
// The zero Value is None, which is different from Null.
//
// A number keeps its source text; only the emitter brings it into kustomize's form. Values may be shared between
// resources and goroutines without locks because no method changes one: [Value.With] and its relatives return a new
// Value that shares all untouched parts.
//
// A Value is 16 bytes: rendering large trees is bound by memory traffic, not by computation.
type Value struct {
	p     unsafe.Pointer // *byte of the text, *link if it is linked, *Value of the items or *Field of the fields
	n     uint32         // length of what p points to
	typ   Type
	flags flags
}

// flags say how a value was written and what it stands for. They are bits of one field because the compiler keeps a struct of up to
// four fields in registers.
type flags uint8

const (
	// linked: a string that stands for one node in several places, see [Linked].
	linked flags = 1 << iota
	// marked: a string that was written in quotes, a null that was written as nothing, a list or mapping that was written in
	// brackets, any other scalar that has its type from its text alone: see style.go.
	marked
	// reread: the output may show another text than the value has, see reread.go; of a string without quotes, that it is one
	// because of its text alone, see style.go.
	reread
)

// is reports whether a flag is set.
func (v Value) is(f flags) bool { return v.flags&f != 0 }

// flagged returns v with a flag set or not.
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

// Number returns a number that is written as text in the source; t is [Int] or [Float].
func Number(t Type, text string) Value { return scalar(t, text) }

// isTrue reports whether a boolean is true, however it is written.
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

// MapOf returns a mapping of fields, in that order. It takes ownership of the slice; keys must be unique.
func MapOf(fields ...Field) Value {
	return Value{p: unsafe.Pointer(unsafe.SliceData(fields)), n: uint32(len(fields)), typ: Map}
}

// StrMap returns a mapping of strings with sorted keys, each as [SetStr] makes it.
func StrMap(m map[string]string) Value {
	fields := make([]Field, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		fields = append(fields, Field{k, SetStr(m[k])})
	}
	return MapOf(fields...)
}

// Type returns what v holds.
func (v Value) Type() Type { return v.typ }

// Exists reports whether v is not None.
func (v Value) Exists() bool { return v.typ != None }

// IsNull reports whether v is None or Null.
func (v Value) IsNull() bool { return v.typ <= Null }

// IsScalar reports whether v is a boolean, number or string.
func (v Value) IsScalar() bool { return v.typ >= Bool && v.typ <= String }

// Text returns the text of a scalar: the contents of a string, the source text of a number or boolean, for instance
// "0x1F" or "True". It returns "" for everything else.
func (v Value) Text() string {
	if !v.IsScalar() {
		return ""
	}
	if v.is(linked) {
		return (*link)(v.p).text
	}
	return unsafe.String((*byte)(v.p), v.n)
}

// Items returns the items of a list, nil for everything else. The slice must not be changed.
func (v Value) Items() []Value {
	if v.typ != Seq {
		return nil
	}
	return unsafe.Slice((*Value)(v.p), v.n)
}

// Fields returns the fields of a mapping, nil for everything else. The slice must not be changed.
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

// Index returns where the field key of a mapping is, -1 when there is none.
func (v Value) Index(key string) int {
	fields := v.Fields()
	for i := range fields {
		k, n := fields[i].Key, len(key)
		// Keys of large mappings begin alike and end in different ways.
		if len(k) == n && (n == 0 || k[n-1] == key[n-1]) && k == key {
			return i
		}
	}
	return -1
}

// Get returns the field key of a mapping, None when there is none.
func (v Value) Get(key string) Value {
	if i := v.Index(key); i >= 0 {
		return v.Fields()[i].Value
	}
	return Value{}
}

// At returns the value at a path of mapping keys, None when there is none.
func (v Value) At(path ...string) Value {
	for _, key := range path {
		v = v.Get(key)
	}
	return v
}

// With returns v with the field key set to x: in its place if it exists, else at the end; v itself if x is there already. A
// Value that is no mapping is replaced by a mapping of one field.
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

// WithAt returns v with the value at a path of mapping keys set to x; missing mappings are made.
func (v Value) WithAt(x Value, path ...string) Value {
	if len(path) == 0 {
		return x
	}
	return v.With(path[0], v.Get(path[0]).WithAt(x, path[1:]...))
}

// Without returns v without the field key; v itself if there is no such field.
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

// EditItems returns the list v with each item replaced by what edit returns for it, and v itself if that changes nothing.
// It ends at the first error.
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

// EditFields returns the mapping v with the value of each field replaced by what edit returns, and v itself if that changes
// nothing.
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

// Same reports whether v and w are the same node in memory: a constant-time test that an edit changed nothing.
func (v Value) Same(w Value) bool { return v == w }

// Equal reports whether v and w hold the same data: the order of a mapping's keys does not count, numbers are compared
// by their text.
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

// Clone returns a copy of v that shares no memory with v, so that v's source text can be freed.
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
