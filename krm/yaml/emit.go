package yaml

import (
	"io"
	"slices"
	"sync"
)

// AppendYAML appends v in the form of kustomize's output: block style with two spaces of
// indentation, lists not indented, keys in the order of yaml/v2, plain scalars where possible,
// long lines folded. Numbers have the form that they have after a round trip through JSON (012 is
// 10, 1.10 is 1.1), except that an integer too large for a float64 keeps its digits.
func AppendYAML(dst []byte, v Value) []byte {
	e := emitter{dst: dst}
	e.document(v)
	return e.dst
}

// AppendFile is AppendYAML for a file with only v. kustomize prints a stream of documents in two
// steps, which change some values (see reread.go), but a file in one.
func AppendFile(dst []byte, v Value) []byte {
	e := emitter{dst: dst, straight: true}
	e.document(v)
	return e.dst
}

// An Encoder writes documents in the form of [AppendYAML], separated by "---". It buffers its
// output and writes at least 48 KiB at a time, except at the end.
type Encoder struct {
	e     emitter
	buf   *[]byte
	began bool
}

// NewEncoder returns an Encoder that writes to w. w must not retain its argument. If more is true,
// other documents precede the first one. The caller must call [Encoder.Close] at the end.
func NewEncoder(w io.Writer, more bool) *Encoder {
	buf := writeBuffers.Get().(*[]byte)
	return &Encoder{e: emitter{dst: (*buf)[:0], out: w}, buf: buf, began: more}
}

// Encode writes one document. It returns the first error of the writer.
func (x *Encoder) Encode(v Value) error {
	if x.began {
		x.e.dst = append(x.e.dst, "---\n"...)
	}
	x.began = true
	x.e.document(v)
	if len(x.e.dst) >= writeSize {
		x.e.flush()
	}
	return x.e.err
}

// Close writes buffered output. The Encoder must not be used afterwards.
func (x *Encoder) Close() error {
	if len(x.e.dst) > 0 {
		x.e.flush()
	}
	*x.buf = x.e.dst
	writeBuffers.Put(x.buf)
	return x.e.err
}

const (
	writeSize = 48 << 10
	// flushSize is the amount of output after which a document is written in parts: with a
	// thousand levels of indentation, a small document prints as hundreds of megabytes.
	flushSize = 1 << 20
)

// writeBuffers are buffers with room for one additional document of common size.
var writeBuffers = sync.Pool{New: func() any {
	b := make([]byte, 0, writeSize+16<<10)
	return &b
}}

// An emitter writes values in one pass. Each method that writes a mapping or list ends the line.
type emitter struct {
	dst    []byte
	fields []Field // stack of mappings that had to be sorted
	line   int     // start of the current line in dst
	ended  bool    // the last text has already ended its line
	// straight omits the changes of kustomize's second step.
	straight bool
	// written keeps the text of numbers and dates.
	written bool
	// brackets is the number of open lists and mappings that were in brackets in the source.
	// Different rules apply within them: see reread.go.
	brackets int
	out      io.Writer // if not nil, receives long output
	err      error     // of out
}

// flushMuch flushes dst to out if it is large.
func (e *emitter) flushMuch() {
	if len(e.dst) >= flushSize && e.out != nil {
		e.flush()
	}
}

// flush writes dst to out. The last line must be complete.
func (e *emitter) flush() {
	if e.err == nil {
		_, e.err = e.out.Write(e.dst)
	}
	e.dst, e.line = e.dst[:0], 0
}

func (e *emitter) document(v Value) {
	e.line = len(e.dst)
	switch {
	case v.typ == Map && v.n > 0:
		e.mapping(v, 0, false)
	case v.typ == Seq && v.n > 0:
		e.seq(v, 0, false)
	default:
		e.scalar(v, 2)
		e.newline()
	}
}

const spaces = "                                                                "

func (e *emitter) indent(n int) {
	for n > len(spaces) {
		e.dst = append(e.dst, spaces...)
		n -= len(spaces)
	}
	e.dst = append(e.dst, spaces[:n]...)
}

func (e *emitter) newline() {
	if e.ended {
		e.ended = false
	} else {
		e.dst = append(e.dst, '\n')
	}
	e.line = len(e.dst)
}

// mapping writes the mapping v at column indent. inline is true if the first key continues the
// current line.
func (e *emitter) mapping(v Value, indent int, inline bool) {
	e.open(v)
	base := len(e.fields)
	fields := e.sorted(v.Fields())
	for i := range fields {
		if i > 0 || !inline {
			e.flushMuch()
			e.indent(indent)
		}
		e.field(fields[i].Key, fields[i].Value, indent)
	}
	e.fields = e.fields[:base]
	e.close(v)
}

// open is called before the list or mapping v is written, and close after it.
func (e *emitter) open(v Value) {
	if v.is(marked) {
		e.brackets++
	}
}

func (e *emitter) close(v Value) {
	if v.is(marked) {
		e.brackets--
	}
}

func (e *emitter) field(key string, v Value, indent int) {
	if !e.simpleKey(key) {
		e.complexField(key, v, indent)
		return
	}
	switch {
	case v.typ == Map && v.n > 0:
		e.dst = append(e.dst, ':')
		e.newline()
		e.mapping(v, indent+2, false)
	case v.typ == Seq && v.n > 0:
		e.dst = append(e.dst, ':')
		e.newline()
		e.seq(v, indent, false)
	default:
		e.dst = append(e.dst, ": "...)
		e.scalar(v, indent+2)
		e.newline()
	}
}

// complexField writes a field whose key has several lines or more than 128 bytes.
func (e *emitter) complexField(key string, v Value, indent int) {
	e.dst = append(e.dst, "? "...)
	e.text(key, indent+2)
	e.newline()
	e.indent(indent)
	e.dst = append(e.dst, ": "...)
	e.nested(v, indent+2)
}

// nested writes v after "- " or ": ", where a mapping or list can start on the same line.
func (e *emitter) nested(v Value, indent int) {
	switch {
	case v.typ == Map && v.n > 0:
		e.mapping(v, indent, true)
	case v.typ == Seq && v.n > 0:
		e.seq(v, indent, true)
	default:
		e.scalar(v, indent)
		e.newline()
	}
}

func (e *emitter) seq(v Value, indent int, inline bool) {
	e.open(v)
	for i, x := range v.Items() {
		if i > 0 || !inline {
			e.flushMuch()
			e.indent(indent)
		}
		e.dst = append(e.dst, "- "...)
		e.nested(x, indent+2)
	}
	e.close(v)
}

// scalar writes a scalar, or an empty mapping or list. Further lines start at column indent.
func (e *emitter) scalar(v Value, indent int) {
	switch v.typ {
	case String:
		if null := v.Settled(); null.typ == Null {
			e.dst = append(e.dst, e.null(null)...)
			return
		}
		e.text(e.output(v), indent)
	case Int, Float, Time:
		if e.written {
			e.dst = append(e.dst, v.Text()...)
			return
		}
		if v.typ != Time {
			e.dst = appendLiteral(e.dst, v, false)
			return
		}
		e.text(e.time(v), indent)
	case Bool:
		e.dst = appendLiteral(e.dst, v, false)
	case Map:
		e.dst = append(e.dst, "{}"...)
	case Seq:
		e.dst = append(e.dst, "[]"...)
	default:
		e.dst = append(e.dst, e.null(v)...)
	}
}

// sorted returns fields in output order. If they have to be sorted, the sorted copy is on the
// stack.
func (e *emitter) sorted(fields []Field) []Field {
	for i := 1; i < len(fields); i++ {
		if compareKeys(fields[i-1].Key, fields[i].Key) > 0 {
			base := len(e.fields)
			e.fields = append(e.fields, fields...)
			fields = e.fields[base:]
			// compareKeys is not a consistent order for some keys, so the result depends on the
			// sort algorithm. It is the same as in the package that kustomize uses.
			slices.SortFunc(fields, func(a, b Field) int { return compareKeys(a.Key, b.Key) })
			break
		}
	}
	return fields
}

// column returns the number of characters on the current line.
func (e *emitter) column() int {
	n := 0
	for _, c := range e.dst[e.line:] {
		if c&0xC0 != 0x80 {
			n++
		}
	}
	return n
}
