package graph

import (
	"reflect"
	"regexp"

	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Sources returns the files that op refers to, without duplicates. The files that configure op
// are included only if op refers to them.
func Sources(op Op) []*yaml.Source {
	f := finder{seen: map[*yaml.Source]bool{}, visited: map[uintptr]bool{}}
	f.find(reflect.ValueOf(op))
	return f.list
}

type finder struct {
	list    []*yaml.Source
	seen    map[*yaml.Source]bool
	visited map[uintptr]bool
}

func (f *finder) find(v reflect.Value) {
	if !holds(v.Type()) {
		return
	}
	v = readable(v)
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		if !holds(v.Type().Elem()) {
			return
		}
		for i := range v.Len() {
			f.find(v.Index(i))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			f.find(it.Value())
		}
	case reflect.Struct:
		if v.Type().PkgPath() == "sync" || v.Type() == reflect.TypeFor[yaml.Value]() {
			return
		}
		for i := range v.NumField() {
			f.find(v.Field(i))
		}
	case reflect.Interface:
		if !v.IsNil() {
			f.find(v.Elem())
		}
	case reflect.Pointer:
		if v.IsNil() || f.visited[v.Pointer()] {
			return
		}
		f.visited[v.Pointer()] = true
		switch x := v.Interface().(type) {
		case *yaml.Source:
			if !f.seen[x] {
				f.seen[x] = true
				f.list = append(f.list, x)
			}
		case *schema.Schema, *regexp.Regexp:
		default:
			f.find(v.Elem())
		}
	}
}

// holds reports whether values of type t may contain or point to other values.
func holds(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map, reflect.Struct, reflect.Interface, reflect.Pointer:
		return true
	}
	return false
}

// readable returns v as an addressable variable, which lets package reflect read its unexported
// fields.
func readable(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem()
	}
	x := reflect.New(v.Type()).Elem()
	x.Set(v)
	return x
}
