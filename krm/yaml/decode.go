package yaml

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// A DecodeError is a mistake in a configuration: an unknown field or a value of the wrong type.
type DecodeError struct {
	Path  []any // keys (string) and indexes (int)
	Msg   string
	Hints []string  // see diag.Error
	Code  diag.Code // see diag.Error
	// More is the number of omitted mistakes, in the last error of a list that is too long, else
	// 0.
	More diag.MoreError
}

// Field returns the path in the form for messages, for instance "patches[2].target.kind".
func (e *DecodeError) Field() string { return diag.FieldPath(e.Path) }

func (e *DecodeError) Error() string {
	return (&diag.Error{Field: e.Field(), Msg: e.Msg, Hints: e.Hints}).Error()
}

// Kind returns e.Code: see [diag.CodeOf].
func (e *DecodeError) Kind() diag.Code { return e.Code }

// In returns the mistake with its position in src, which must have been read by [Source.Value].
func (e *DecodeError) In(src *Source) *diag.Error {
	if e.More > 0 {
		return &diag.Error{Pos: diag.Pos{File: src.File}, Msg: e.Msg, Err: e.More}
	}
	return &diag.Error{Pos: src.Locate(0, e.Path...), Field: src.Field(e.Path), Msg: e.Msg, Hints: e.Hints, Code: e.Code}
}

// Decoding holds the options of [Decoding.Decode]. They reproduce differences between the kinds of
// configuration files in kustomize. The zero Decoding is for Kustomizations.
type Decoding struct {
	// AllowUnknown ignores unknown fields, as kustomize does in configurations of built-in
	// transformers and generators.
	AllowUnknown bool
	// Ignored, if not nil, is called for the first [diag.MaxMistakes] fields that AllowUnknown
	// ignores.
	Ignored func(*DecodeError)
	// ScalarsAsText accepts a number or boolean where a string is expected. kustomize does so in
	// all configuration files except Kustomizations, but not in a field of an embedded struct or
	// in one with the tag `decode:"text"`.
	ScalarsAsText bool
	// Exact accepts only the exact name of each field, any scalar as text, and yes, on and similar
	// words as booleans. It also drops nulls from lists. kustomize does so for prefixes and
	// suffixes.
	Exact bool
}

// Decode stores v in the variable that into points to. It follows encoding/json with
// DisallowUnknownFields: fields have the names in their `json:` tags and match exactly or else
// case-insensitively, embedded structs are inlined, and null leaves a variable unchanged. It
// supports structs, pointers, slices, maps with string keys, scalars, any, Value, which receives
// the value as it is, TextOrMap and Wrapper.
//
// Decode continues after a mistake. It returns the mistakes in document order: at most
// [diag.MaxMistakes], followed by an error with the number of omitted ones. It panics only if into
// points to an unsupported type. It is safe for concurrent use.
func Decode(v Value, into any) []*DecodeError { return Decoding{}.Decode(v, into) }

// Decode is like the function [Decode], with the options of d.
func (d Decoding) Decode(v Value, into any) []*DecodeError {
	run := decoder{Decoding: d}
	run.path = run.room[:0]
	run.value(v, reflect.ValueOf(into).Elem())
	if run.more > 0 {
		run.errs = append(run.errs, &DecodeError{Msg: run.more.Error(), More: run.more})
	}
	return run.errs
}

// TextOrMap is the result of [Decode] for a value that may be a string or a mapping. For a string,
// Map is None.
type TextOrMap struct {
	Text string
	Map  Value
}

// A Wrapper is a struct that [Decode] replaces with another variable: it decodes into the pointer
// that Wrapped returns.
type Wrapper interface{ Wrapped() any }

func (d *decoder) textOrMap(v Value, into *TextOrMap) {
	if v.Type() == Map {
		into.Map = v
		return
	}
	d.value(v, reflect.ValueOf(&into.Text).Elem())
}

type decoder struct {
	Decoding
	path []step
	room [12]step
	errs []*DecodeError
	more diag.MoreError
	// ignored is the number of calls of Ignored.
	ignored int
}

// A step is an element of a path: a key, or an index if index is not negative.
type step struct {
	key   string
	index int
}

func (d *decoder) fail(code diag.Code, hints func() []string, format string, args ...any) {
	if len(d.errs) >= diag.MaxMistakes {
		d.more++
		return
	}
	d.errs = append(d.errs, d.mistake(code, hints(), format, args...))
}

// mistake returns an error at the current path.
func (d *decoder) mistake(code diag.Code, hints []string, format string, args ...any) *DecodeError {
	path := make([]any, len(d.path))
	for i, s := range d.path {
		if path[i] = s.key; s.index >= 0 {
			path[i] = s.index
		}
	}
	return &DecodeError{Path: path, Msg: fmt.Sprintf(format, args...), Hints: hints, Code: code}
}

// secret reports whether the value may become part of a Secret.
func (d *decoder) secret() bool {
	has := func(key string) bool {
		return slices.ContainsFunc(d.path, func(s step) bool { return s.key == key })
	}
	return has("sourceValue") || has("literals") && !has("configMapGenerator")
}

// mismatch records that the value has the wrong type.
func (d *decoder) mismatch(want string, v Value) {
	hints := func() []string {
		switch {
		case want == "a list" && v.IsScalar():
			return []string{"write each entry on a separate line, after a dash"}
		case want == "a list":
			return []string{"put a dash before each entry"}
		case want == "a mapping":
			return []string{"write fields, as key: value"}
		case want == "a string" && !v.IsScalar():
			return []string{"write a single string; quote a text that looks like key: value"}
		case want != "a string":
			return []string{"write " + want + ", without quotes"}
		case v.Type() == Bool:
			return []string{"put it in quotes: y, yes, on and similar words are booleans here"}
		case d.secret():
			return []string{"put it in quotes"}
		}
		return []string{"put it in quotes: " + strconv.Quote(v.Text())}
	}
	d.fail(diag.WrongType, hints, "must be %s, not %s", want, v.Type().Article())
}

// noMapping records that v is not a mapping, although a mapping with the fields of table is
// expected. A text may be intended for the field path or patch, so the hints suggest those.
func (d *decoder) noMapping(v Value, table *fieldTable) {
	text := v.Text()
	switch {
	case v.Type() != String || table.find("path") == nil:
		d.mismatch("a mapping", v)
	case !strings.ContainsAny(text, "\n{["):
		d.fail(diag.WrongType, func() []string { return []string{"write path: " + text} }, "must be a mapping, not a string")
	default:
		d.fail(diag.WrongType, func() []string { return []string{"write the text after patch: |"} }, "must be a mapping, not a string")
	}
}

func (d *decoder) value(v Value, into reflect.Value) {
	if into.Type() == reflect.TypeFor[Value]() {
		*into.Addr().Interface().(*Value) = v
		return
	}
	if into.Type() == reflect.TypeFor[TextOrMap]() {
		d.textOrMap(v, into.Addr().Interface().(*TextOrMap))
		return
	}
	if v.IsNull() {
		switch into.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
			into.SetZero()
		}
		return
	}
	switch into.Kind() {
	case reflect.Pointer:
		if into.IsNil() {
			into.Set(reflect.New(into.Type().Elem()))
		}
		d.value(v, into.Elem())
	case reflect.Struct:
		if w, ok := into.Addr().Interface().(Wrapper); ok {
			d.value(v, reflect.ValueOf(w.Wrapped()).Elem())
			return
		}
		d.structure(v, into)
	case reflect.Slice:
		d.slice(v, into)
	case reflect.Map:
		d.mapping(v, into)
	case reflect.Interface:
		into.Set(reflect.ValueOf(v.plain()))
	default:
		d.scalar(v, into)
	}
}

func (d *decoder) structure(v Value, into reflect.Value) {
	table := fieldsOf(into.Type())
	if v.Type() != Map {
		d.noMapping(v, table)
		return
	}
	fields := v.Fields()
	if !d.Exact && table.ambiguous(fields) {
		// encoding/json reads keys in sorted order. The order matters if two keys are spellings of
		// one name.
		fields = slices.Clone(fields)
		slices.SortStableFunc(fields, func(a, b Field) int { return strings.Compare(a.Key, b.Key) })
	}
	for _, f := range fields {
		d.path = append(d.path, step{f.Key, -1})
		if sf := table.find(f.Key); sf != nil && (!d.Exact || sf.name == f.Key) {
			asText := d.ScalarsAsText
			d.ScalarsAsText = asText && !sf.exact || d.Exact
			d.value(f.Value, sf.in(into))
			d.ScalarsAsText = asText
		} else if !d.AllowUnknown {
			d.fail(diag.UnknownField, func() []string { return table.meant(f.Key) }, "unknown field %q", f.Key)
		} else if d.Ignored != nil && d.ignored < diag.MaxMistakes {
			d.ignored++
			d.Ignored(d.mistake(diag.UnknownField, table.meant(f.Key), "unknown field %q is ignored", f.Key))
		}
		d.path = d.path[:len(d.path)-1]
	}
}

func (d *decoder) slice(v Value, into reflect.Value) {
	if v.Type() != Seq {
		d.mismatch("a list", v)
		return
	}
	items := v.Items()
	if d.Exact {
		items = slices.DeleteFunc(slices.Clone(items), Value.IsNull)
	}
	list := reflect.MakeSlice(into.Type(), len(items), len(items))
	for i, x := range items {
		d.path = append(d.path, step{"", i})
		d.value(x, list.Index(i))
		d.path = d.path[:len(d.path)-1]
	}
	into.Set(list)
}

func (d *decoder) mapping(v Value, into reflect.Value) {
	if v.Type() != Map {
		d.mismatch("a mapping", v)
		return
	}
	if into.IsNil() {
		into.Set(reflect.MakeMapWithSize(into.Type(), v.Len()))
	}
	elem := reflect.New(into.Type().Elem()).Elem()
	for _, f := range v.Fields() {
		d.path = append(d.path, step{f.Key, -1})
		elem.SetZero()
		d.value(f.Value, elem)
		into.SetMapIndex(reflect.ValueOf(f.Key).Convert(into.Type().Key()), elem)
		d.path = d.path[:len(d.path)-1]
	}
}

func (d *decoder) scalar(v Value, into reflect.Value) {
	switch into.Kind() {
	case reflect.String:
		switch {
		case v.Type() == String || v.Type() == Time:
			into.SetString(v.canonicalText())
		case d.ScalarsAsText && v.IsScalar():
			into.SetString(v.canonicalText())
		default:
			d.mismatch("a string", v)
		}
	case reflect.Bool:
		switch {
		case v.Type() == Bool:
			into.SetBool(v.isTrue())
		case d.Exact && v.Type() == String && resolve(v.Text(), true).Type() == Bool:
			into.SetBool(resolve(v.Text(), true).isTrue())
		default:
			d.mismatch("true or false", v)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, ok := v.AsInt()
		if !ok || into.OverflowInt(n) {
			d.mismatch("an integer", v)
			return
		}
		into.SetInt(n)
	case reflect.Float32, reflect.Float64:
		f, ok := v.asFloat()
		if !ok {
			d.mismatch("a number", v)
			return
		}
		into.SetFloat(f)
	default:
		panic("yaml: Decode into the unsupported type " + into.Type().String())
	}
}
