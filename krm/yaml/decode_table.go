package yaml

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
)

// A fieldTable lists the fields of a configuration struct, including those of embedded structs.
type fieldTable struct {
	of     reflect.Type
	names  []string // parallel to fields
	fields []tableField
}

type tableField struct {
	name  string
	index []int // as for reflect.Value.FieldByIndex
	exact bool  // see Decoding.ScalarsAsText
}

var fieldTables sync.Map // reflect.Type -> *fieldTable

func fieldsOf(t reflect.Type) *fieldTable {
	if x, ok := fieldTables.Load(t); ok {
		return x.(*fieldTable)
	}
	x := &fieldTable{of: t}
	x.add(t, nil)
	// A field hides fields of the same name that are embedded more deeply.
	slices.SortStableFunc(x.fields, func(a, b tableField) int { return len(a.index) - len(b.index) })
	x.fields = slices.DeleteFunc(x.fields, func(f tableField) bool {
		if slices.Contains(x.names, f.name) {
			return true
		}
		x.names = append(x.names, f.name)
		return false
	})
	stored, _ := fieldTables.LoadOrStore(t, x)
	return stored.(*fieldTable)
}

func (x *fieldTable) add(t reflect.Type, index []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(slices.Clip(index), i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case name == "-":
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			x.add(inner, at)
		case f.IsExported():
			if name == "" {
				name = f.Name
			}
			x.fields = append(x.fields, tableField{name, at, len(at) > 1 || f.Tag.Get("decode") == "text"})
		}
	}
}

// synonym returns the field for a common wrong name that spelling similarity cannot match.
func synonym(key string) string {
	switch key {
	case "newImage":
		return "newName"
	case "image":
		return "name"
	case "version":
		return "newTag"
	case "file":
		return "path"
	case "values":
		return "valuesInline"
	case "jsonPatch", "inline":
		return "patch"
	case "selector":
		return "target"
	case "data":
		return "literals"
	}
	return ""
}

// meant returns hints for an unknown field. It looks for a field with a similar name, a field of a
// nested struct, a synonym, and a field whose name ends with key, as newTag does with tag. If
// there is none, the hint lists all fields.
func (x *fieldTable) meant(key string) []string {
	if near := diag.DidYouMean(key, x.names); near != nil {
		return near
	}
	for i := range x.fields {
		inner := x.of.FieldByIndex(x.fields[i].index).Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && slices.Contains(fieldsOf(inner).names, key) {
			return []string{fmt.Sprintf("did you mean %q?", x.names[i]+"."+key)}
		}
	}
	if other := synonym(key); slices.Contains(x.names, other) {
		return []string{fmt.Sprintf("did you mean %q?", other)}
	}
	for _, name := range x.names {
		if len(key) > 2 && len(name) > len(key) && strings.EqualFold(name[len(name)-len(key):], key) {
			return []string{fmt.Sprintf("did you mean %q?", name)}
		}
	}
	return []string{"the fields are: " + diag.Some(slices.Sorted(slices.Values(x.names)))}
}

// ambiguous reports whether two keys are spellings of one field.
func (x *fieldTable) ambiguous(fields []Field) bool {
	exact := true
	for i := range fields {
		if !slices.Contains(x.names, fields[i].Key) {
			exact = false
			break
		}
	}
	if exact {
		return false
	}
	seen := map[*tableField]bool{}
	for i := range fields {
		if f := x.find(fields[i].Key); f != nil {
			if seen[f] {
				return true
			}
			seen[f] = true
		}
	}
	return false
}

func (x *fieldTable) find(key string) *tableField {
	if i := slices.Index(x.names, key); i >= 0 {
		return &x.fields[i]
	}
	for i := range x.fields {
		if strings.EqualFold(x.fields[i].name, key) {
			return &x.fields[i]
		}
	}
	return nil
}

// in returns the field within v. It allocates embedded pointers on the way.
func (f *tableField) in(v reflect.Value) reflect.Value {
	for i, n := range f.index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(n)
	}
	return v
}
