package graph

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// keyOf returns a digest of the type of op and of all its fields, including the data that they
// point to. See [Op.Key] for its meaning.
//
// The walk uses reflection, so a new field of an operation becomes part of the key automatically.
// Hand-written code would miss fields, and a missed field means a stale result from the cache. A
// field is excluded only by the tag `key:"-"` or by a type of package sync; both are used for
// memoized results, which follow from the other fields.
func keyOf(op Op) krm.Digest {
	w := keyWriter{h: sha256.New()}
	v := reflect.ValueOf(op)
	w.text(v.Type().String())
	w.value(v)
	return krm.Digest(w.h.Sum(nil))
}

type keyWriter struct {
	h   hash.Hash
	buf []byte
}

func (w *keyWriter) uint(n uint64) {
	w.buf = binary.AppendUvarint(w.buf[:0], n)
	w.h.Write(w.buf)
}

func (w *keyWriter) bytes(b []byte) {
	w.uint(uint64(len(b)))
	w.h.Write(b)
}

func (w *keyWriter) text(s string) { w.bytes([]byte(s)) }

// value writes v. Different values of one type produce different output.
func (w *keyWriter) value(v reflect.Value) {
	v = readable(v)
	if w.special(v) {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			w.uint(1)
		} else {
			w.uint(0)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		w.uint(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		w.uint(v.Uint())
	case reflect.String:
		w.text(v.String())
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.IsNil() {
			w.uint(0) // nil may mean the default
			return
		}
		w.uint(uint64(v.Len()) + 1)
		for i := range v.Len() {
			w.value(v.Index(i))
		}
	case reflect.Map:
		w.mapping(v)
	case reflect.Struct:
		t := v.Type()
		for i := range t.NumField() {
			if f := t.Field(i); f.Tag.Get("key") != "-" && f.Type.PkgPath() != "sync" {
				w.value(v.Field(i))
			}
		}
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			w.uint(0)
			return
		}
		w.uint(1)
		if v.Kind() == reflect.Interface {
			w.text(v.Elem().Type().String())
		}
		w.value(v.Elem())
	default:
		panic(fmt.Sprintf("an operation contains a %s, which is not plain data", v.Type()))
	}
}

// special writes types that value cannot walk: their meaning is not in their fields, or their
// fields are private to their packages. It reports whether v was such a type.
func (w *keyWriter) special(v reflect.Value) bool {
	switch x := v.Interface().(type) {
	case yaml.Value:
		w.bytes(x.AppendBinary(nil))
	case *yaml.Source:
		w.source(x)
	case *schema.Schema:
		key := x.Key()
		w.bytes(key[:])
	case *regexp.Regexp:
		if x == nil {
			w.uint(0)
		} else {
			w.text("=" + x.String())
		}
	default:
		return false
	}
	return true
}

// source writes the name and the digest of a file. The name is part of the key because messages
// and origins contain it.
func (w *keyWriter) source(s *yaml.Source) {
	if s == nil {
		w.uint(0)
		return
	}
	w.uint(1)
	w.text(s.File)
	digest := s.Digest()
	w.bytes(digest[:])
	if len(s.Data) == 0 { // assembled from parts of other files
		v, _ := s.Value()
		w.bytes(v.AppendBinary(nil))
	}
}

func (w *keyWriter) mapping(v reflect.Value) {
	type entry struct {
		key   string
		value reflect.Value
	}
	var entries []entry
	for it := v.MapRange(); it.Next(); {
		key := keyWriter{h: sha256.New()}
		key.value(it.Key())
		entries = append(entries, entry{string(key.h.Sum(nil)), it.Value()})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	w.uint(uint64(len(entries)))
	for _, e := range entries {
		w.text(e.key)
		w.value(e.value)
	}
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
