package krm

import (
	"encoding/binary"
	"errors"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// codecVersion is the first byte of an encoded list. It changes when the form does.
const codecVersion = 1

// AppendBinary appends the list in a form that [ReadList] reads: the resources with all that a build remembers about them, and which
// strings are one node in several places. Two lists that every step would treat in the same way have the same bytes, in every process:
// by them a result can be recognised and kept.
func (l *List) AppendBinary(dst []byte) []byte {
	w := listWriter{dst: append(dst, codecVersion), origins: map[Origin]int{}}
	w.uint(len(l.items))
	for _, r := range l.items {
		w.resource(r)
	}
	return w.dst
}

type listWriter struct {
	dst     []byte
	origins map[Origin]int // their numbers, from 1
}

func (w *listWriter) uint(n int)    { w.dst = binary.AppendUvarint(w.dst, uint64(n)) }
func (w *listWriter) text(s string) { w.dst = yaml.AppendText(w.dst, s) }

func (w *listWriter) texts(list []string) {
	w.uint(len(list))
	for _, s := range list {
		w.text(s)
	}
}

// bools writes up to eight of them.
func (w *listWriter) bools(list ...bool) {
	var b byte
	for i, set := range list {
		if set {
			b |= 1 << i
		}
	}
	w.dst = append(w.dst, b)
}

func (w *listWriter) id(id ID) {
	w.text(id.Group)
	w.text(id.Version)
	w.text(id.Kind)
	w.text(id.Name)
	w.text(id.Namespace)
	w.bools(id.Cluster)
}

func (w *listWriter) resource(r *Resource) {
	w.dst = r.value.AppendBinary(w.dst)
	key := r.scopes.Key()
	w.bools(r.linked, r.NeedsHash, r.scopes != nil)
	if r.scopes != nil {
		w.dst = append(w.dst, key[:]...)
	}
	w.uint(r.size)
	w.uint(len(r.Prev))
	for _, id := range r.Prev {
		w.id(id)
	}
	w.texts(r.Prefixes)
	w.texts(r.Suffixes)
	w.texts(r.RefVars)
	w.text(r.Behavior)
	w.origin(r.Origin)
	w.uint(len(r.Transformations))
	for _, o := range r.Transformations {
		w.origin(o)
	}
	w.text(r.Pos.File)
	w.uint(r.Pos.Line)
}

// origin writes the number of an origin, 0 for none, and the origin itself when it is the first time.
func (w *listWriter) origin(o *Origin) {
	if o == nil {
		w.uint(0)
		return
	}
	n, known := w.origins[*o]
	if !known {
		n = len(w.origins) + 1
		w.origins[*o] = n
	}
	w.uint(n)
	if !known {
		w.texts([]string{o.Path, o.Repo, o.Ref, o.ConfiguredIn})
		w.id(o.ConfiguredBy)
	}
}

// ReadList reads what [List.AppendBinary] has written. Schemas are not part of that, but their keys are: schemas returns the schema
// that has a [schema.Schema.Key], nil if it does not know it; then ReadList fails. The list shares the memory of data, which must not
// be changed.
func ReadList(data []byte, schemas func(key [32]byte) *schema.Schema) (*List, error) {
	r := listReader{BinaryReader: yaml.NewBinaryReader(data), schemas: schemas, origins: []*Origin{nil}}
	if v := r.Bytes(1); len(v) == 1 && v[0] != codecVersion {
		return nil, errors.New("the list was encoded by another version of krmflow")
	}
	rs := make([]*Resource, r.Count())
	for i := range rs {
		rs[i] = r.resource()
	}
	switch {
	case r.Err() != nil:
		return nil, r.Err()
	case r.unknown:
		return nil, errors.New("the list was encoded with a schema that is not known")
	case r.Len() > 0:
		return nil, errors.New("the encoded list is followed by something else")
	}
	return NewList(rs...), nil
}

type listReader struct {
	*yaml.BinaryReader
	schemas func(key [32]byte) *schema.Schema
	unknown bool // a schema is not known
	origins []*Origin
}

func (r *listReader) texts() []string {
	n := r.Count()
	if n == 0 {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = r.Text()
	}
	return list
}

func (r *listReader) bools() byte {
	if b := r.Bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *listReader) id() ID {
	return ID{GVK{r.Text(), r.Text(), r.Text()}, r.Text(), r.Text(), r.bools()&1 != 0}
}

func (r *listReader) resource() *Resource {
	v := r.Value()
	flags := r.bools()
	x := &Resource{linked: flags&1 != 0, NeedsHash: flags&2 != 0}
	if flags&4 != 0 {
		var key [32]byte
		copy(key[:], r.Bytes(len(key)))
		x.scopes = r.schemas(key)
		r.unknown = r.unknown || x.scopes == nil
	}
	x.adopt(v)
	x.size = int(r.Uint())
	for range r.Count() {
		x.Prev = append(x.Prev, r.id())
	}
	x.Prefixes, x.Suffixes, x.RefVars = r.texts(), r.texts(), r.texts()
	x.Behavior = r.Text()
	x.Origin = r.origin()
	for range r.Count() {
		x.Transformations = append(x.Transformations, r.origin())
	}
	x.Pos = diag.Pos{File: r.Text(), Line: int(r.Uint())}
	return x
}

func (r *listReader) origin() *Origin {
	n := r.Uint()
	if n == uint64(len(r.origins)) {
		o := &Origin{}
		if texts := r.texts(); len(texts) == 4 {
			o.Path, o.Repo, o.Ref, o.ConfiguredIn = texts[0], texts[1], texts[2], texts[3]
		}
		o.ConfiguredBy = r.id()
		r.origins = append(r.origins, o)
	}
	if n >= uint64(len(r.origins)) {
		return nil
	}
	return r.origins[n]
}
