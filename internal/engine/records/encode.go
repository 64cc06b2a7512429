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

func hasSum(k loaders.Kind) bool { return k == loaders.SawFile || k == loaders.SawFolder }

func (e *encoder) fetch(f fetch) {
	e.text(f.text)
	e.uint(uint64(f.use))
	e.uint(uint64(f.from))
	e.text(f.came)
}

// inputsOf returns the digest of the inputs of a root, without the metadata of files.
func inputsOf(settings []Setting, t *trace) krm.Digest {
	e := newEncoder(len(t.files))
	list(e, settings, e.setting)
	at := make(map[*dir]int, len(t.dirs))
	list(e, t.dirs, func(d *dir) {
		at[d] = len(at)
		e.text(d.path)
		e.text(d.real)
	})
	list(e, t.files, func(f *file) {
		e.uint(uint64(at[f.dir]))
		e.text(f.name)
		e.uint(uint64(f.kind))
		if hasSum(f.kind) {
			e.digest(f.sum)
			e.text(f.link)
		}
	})
	list(e, t.fetches, e.fetch)
	return krm.DigestOf(e.b)
}

// A packer encodes records. Their settings, directories and files are in tables, because most of
// them belong to many roots.
type packer struct {
	encoder  // of the records
	tables   [3]encoder
	settings map[string]int
	dirs     map[dir]int
	files    map[fileKey]int
}

// A fileKey identifies an entry of the table of files.
type fileKey struct {
	dir        int
	name, link string
	kind       loaders.Kind
	stat       filestat.Stat
	sum        krm.Digest
}

func (p *packer) settingsAt(all []Setting) int {
	e := &encoder{}
	list(e, all, e.setting)
	i, ok := p.settings[string(e.b)]
	if !ok {
		i = len(p.settings)
		p.settings[string(e.b)] = i
		p.tables[0].b = append(p.tables[0].b, e.b...)
	}
	return i
}

func (p *packer) dirAt(d *dir) int {
	i, ok := p.dirs[*d]
	if !ok {
		i = len(p.dirs)
		p.dirs[*d] = i
		p.tables[1].text(d.path)
		p.tables[1].text(d.real)
	}
	return i
}

func (p *packer) fileAt(f *file) int {
	key := fileKey{p.dirAt(f.dir), f.name, f.link, f.kind, f.stat, f.sum}
	i, ok := p.files[key]
	if !ok {
		i = len(p.files)
		p.files[key] = i
		e := &p.tables[2]
		e.uint(uint64(key.dir))
		e.text(f.name)
		e.uint(uint64(f.kind))
		if hasSum(f.kind) {
			e.digest(f.sum)
			e.text(f.link)
			e.stat(f.stat)
		}
	}
	return i
}

// bytes returns the tables and the records.
func (p *packer) bytes() []byte {
	e := newEncoder(len(p.files))
	for i, n := range []int{len(p.settings), len(p.dirs), len(p.files)} {
		e.uint(uint64(n))
		e.b = append(e.b, p.tables[i].b...)
	}
	return append(e.b, p.b...)
}

func (p *packer) record(r *Record) {
	p.uint(uint64(p.settingsAt(r.settings)))
	list(&p.encoder, r.trace.dirs, func(d *dir) { p.uint(uint64(p.dirAt(d))) })
	list(&p.encoder, r.trace.files, func(f *file) { p.uint(uint64(p.fileAt(f))) })
	list(&p.encoder, r.trace.fetches, p.fetch)
	p.digest(r.inputs)
	p.bool(r.Rendered)
	list(&p.encoder, r.Functions, p.setting)
	for _, warnings := range [][]planner.Warning{r.Planned, r.Ran, r.Unavailable} {
		list(&p.encoder, warnings, func(w planner.Warning) {
			p.text(w.Pos.File)
			p.uint(uint64(w.Pos.Line))
			p.text(w.Field)
			p.text(w.Msg)
			list(&p.encoder, w.Hints, p.text)
			p.text(string(w.Code))
		})
	}
	p.digest(r.Text)
	list(&p.encoder, r.forms, func(f form) { p.digest(f.key); p.digest(f.files) })
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

// An unpacker decodes records: see packer.
type unpacker struct {
	decoder
	settings [][]Setting
	dirs     []*dir
	files    []*file
}

func newUnpacker(data []byte) *unpacker {
	u := &unpacker{decoder: *newDecoder(data)}
	d := &u.decoder
	u.settings = items(d, func() []Setting { return items(d, u.setting) })
	u.dirs = items(d, func() *dir { return &dir{d.text(), d.text()} })
	u.files = items(d, func() *file {
		f := &file{dir: at(d, u.dirs), name: d.text(), kind: loaders.Kind(d.uint())}
		if hasSum(f.kind) {
			f.sum, f.link, f.stat = d.digest(), d.text(), d.stat()
		}
		return f
	})
	return u
}

// at returns the entry of a table whose index is next.
func at[T any](d *decoder, table []T) (entry T) {
	i := d.uint()
	if i >= uint64(len(table)) {
		d.fail()
		return entry
	}
	return table[i]
}

func (d *decoder) setting() Setting { return Setting{d.text(), d.text()} }

func (u *unpacker) record() *Record {
	d, r := &u.decoder, &Record{}
	r.settings = at(d, u.settings)
	r.trace.dirs = items(d, func() *dir { return at(d, u.dirs) })
	r.trace.files = items(d, func() *file { return at(d, u.files) })
	r.trace.fetches = items(d, func() fetch {
		return fetch{d.text(), reference.Use(d.uint()), remote.Origin(d.uint()), d.text()}
	})
	r.inputs, r.Rendered = d.digest(), d.uint() == 1
	r.Functions = items(d, d.setting)
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
