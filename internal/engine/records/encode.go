package records

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"unsafe"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/reference"
)

// encoder encodes the parts of records. The encoding does not detect damage, because the cache
// verifies digests of its entries.
type encoder struct{ b []byte }

// newEncoder returns an encoder with a capacity for about this many files.
func newEncoder(files int) *encoder { return &encoder{make([]byte, 0, 1<<10+160*files)} }

func (e *encoder) uint(n uint64)       { e.b = binary.AppendUvarint(e.b, n) }
func (e *encoder) int(n int64)         { e.b = binary.AppendVarint(e.b, n) }
func (e *encoder) text(s string)       { e.uint(uint64(len(s))); e.b = append(e.b, s...) }
func (e *encoder) digest(d krm.Digest) { e.b = append(e.b, d[:]...) }

func (e *encoder) bool(yes bool) {
	if yes {
		e.uint(1)
	} else {
		e.uint(0)
	}
}

func (e *encoder) stat(s filestat.Stat) {
	if s == (filestat.Stat{}) {
		e.uint(0)
		return
	}
	e.uint(1)
	e.uint(s.Dev)
	e.uint(s.Ino)
	e.int(s.Size)
	e.int(s.Mtime)
	e.int(s.Ctime)
	e.uint(uint64(s.Mode))
}

func list[T any](e *encoder, items []T, one func(T)) {
	e.uint(uint64(len(items)))
	for _, item := range items {
		one(item)
	}
}

func (e *encoder) setting(s Setting) {
	e.text(s.Name)
	e.text(s.Value)
}

func (e *encoder) dir(d dir) {
	e.text(d.path)
	e.text(d.real)
}

func (e *encoder) file(f file) {
	e.uint(uint64(f.dir))
	e.text(f.name)
	e.uint(uint64(f.kind))
	if hasSum(f.kind) {
		e.digest(f.sum)
		e.text(f.link)
	}
}

func hasSum(k loaders.Kind) bool { return k == loaders.SawFile || k == loaders.SawFolder }

func (e *encoder) fetch(f fetch) {
	e.text(f.text)
	e.uint(uint64(f.use))
	e.uint(uint64(f.from))
	e.text(f.came)
}

// contentsOf returns the encoded inputs of a root, without the metadata of files. It is the
// first part of an encoded record, and its digest is the digest of the inputs.
func contentsOf(settings []Setting, t *trace) []byte {
	e := newEncoder(len(t.files))
	list(e, settings, e.setting)
	list(e, t.dirs, e.dir)
	list(e, t.files, e.file)
	list(e, t.fetches, e.fetch)
	return e.b
}

func (e *encoder) record(r *Record) {
	contents := r.contents
	if contents == nil {
		contents = contentsOf(r.settings, &r.trace)
	}
	e.b = append(e.b, contents...)
	for _, f := range r.trace.files {
		if hasSum(f.kind) {
			e.stat(f.stat)
		}
	}
	e.digest(r.inputs)
	e.bool(r.Rendered)
	list(e, r.Functions, e.setting)
	for _, warnings := range [][]planner.Warning{r.Planned, r.Ran, r.Unavailable} {
		list(e, warnings, func(w planner.Warning) {
			e.text(w.Pos.File)
			e.uint(uint64(w.Pos.Line))
			e.text(w.Field)
			e.text(w.Msg)
			list(e, w.Hints, e.text)
			e.text(string(w.Code))
		})
	}
	e.digest(r.Text)
	list(e, r.forms, func(f form) { e.digest(f.key); e.digest(f.files) })
}

var errRecord = errors.New("the record is truncated")

// decoder decodes the output of an encoder. After an error all values are zero.
type decoder struct {
	b   string
	err error
}

// newDecoder returns a decoder that takes ownership of data, which must not be changed
// afterwards. Decoded strings refer to data instead of being copied, because records have a
// hundred times more strings than a run uses.
func newDecoder(data []byte) *decoder {
	return &decoder{b: unsafe.String(unsafe.SliceData(data), len(data))}
}

func (d *decoder) fail() {
	d.b, d.err = "", errRecord
}

func (d *decoder) uint() uint64 {
	n, size := uint64(0), 0
	for shift := 0; size < len(d.b) && shift < 64; shift += 7 {
		c := d.b[size]
		size++
		n |= uint64(c&0x7f) << shift
		if c < 0x80 {
			d.b = d.b[size:]
			return n
		}
	}
	d.fail()
	return 0
}

func (d *decoder) int() int64 {
	n := d.uint()
	return int64(n>>1) ^ -int64(n&1)
}

func (d *decoder) take(n uint64) string {
	if n > uint64(len(d.b)) {
		d.fail()
		return ""
	}
	s := d.b[:n]
	d.b = d.b[n:]
	return s
}

func (d *decoder) text() string { return d.take(d.uint()) }

func (d *decoder) digest() (sum krm.Digest) {
	copy(sum[:], d.take(uint64(len(sum))))
	return sum
}

func (d *decoder) stat() filestat.Stat {
	if d.uint() == 0 {
		return filestat.Stat{}
	}
	return filestat.Stat{Dev: d.uint(), Ino: d.uint(), Size: d.int(), Mtime: d.int(), Ctime: d.int(), Mode: fs.FileMode(d.uint())}
}

func items[T any](d *decoder, one func() T) []T {
	n := d.uint()
	if n > uint64(len(d.b)) { // each item takes at least one byte
		d.fail()
		return nil
	}
	if n == 0 {
		return nil
	}
	all := make([]T, 0, n)
	for range n {
		all = append(all, one())
	}
	return all
}

func (d *decoder) record() *Record {
	r := &Record{}
	setting := func() Setting { return Setting{d.text(), d.text()} }
	r.settings = items(d, setting)
	r.trace.dirs = items(d, func() dir { return dir{d.text(), d.text()} })
	r.trace.files = items(d, func() file {
		dir := d.uint()
		f := file{dir: int(dir), name: d.text(), kind: loaders.Kind(d.uint())}
		if hasSum(f.kind) {
			f.sum, f.link = d.digest(), d.text()
		}
		if dir >= uint64(len(r.trace.dirs)) {
			d.fail()
			f.dir = 0
		}
		return f
	})
	r.trace.fetches = items(d, func() fetch {
		return fetch{d.text(), reference.Use(d.uint()), remote.Origin(d.uint()), d.text()}
	})
	for i := range r.trace.files {
		if f := &r.trace.files[i]; hasSum(f.kind) {
			f.stat = d.stat()
		}
	}
	r.inputs, r.Rendered = d.digest(), d.uint() == 1
	r.Functions = items(d, setting)
	warning := func() planner.Warning {
		w := planner.Warning{Pos: diag.Pos{File: d.text(), Line: int(d.uint())}, Field: d.text(), Msg: d.text()}
		w.Hints = items(d, d.text)
		w.Code = diag.Code(d.text())
		return w
	}
	r.Planned, r.Ran, r.Unavailable = items(d, warning), items(d, warning), items(d, warning)
	r.Text = d.digest()
	r.forms = items(d, func() form { return form{d.digest(), d.digest()} })
	return r
}
