package yaml

import (
	"io"
	"slices"
	"sync"
)

// AppendYAML appends v in kustomize's form: block style with two spaces, lists without indentation, keys in yaml/v2's
// order, plain scalars where possible and long lines folded. Numbers take the form that they have after a way through
// JSON (012 is 10, 1.10 is 1.1), except that an integer too large for a float64 keeps its digits.
func AppendYAML(dst []byte, v Value) []byte {
	e := emitter{dst: dst}
	e.document(v)
	return e.dst
}

// AppendFile appends v as AppendYAML does, for a file of its own: kustomize prints a stream in two steps, which change some
// values (see reread.go), and a file in one.
func AppendFile(dst []byte, v Value) []byte {
	e := emitter{dst: dst, straight: true}
	e.document(v)
	return e.dst
}

// An Encoder writes documents as [AppendYAML] appends them, separated by "---", in pieces of at least some ten thousand bytes.
type Encoder struct {
	e     emitter
	buf   *[]byte
	began bool
}

// NewEncoder returns an Encoder that writes to w, which must not keep what it gets. If more is true, other documents stand before its
// first one. [Encoder.Close] must be called in the end.
func NewEncoder(w io.Writer, more bool) *Encoder {
	buf := writeBuffers.Get().(*[]byte)
	return &Encoder{e: emitter{dst: (*buf)[:0], out: w}, buf: buf, began: more}
}

// Encode writes one more document. The error is that of the writer.
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

// Close writes what is left. The Encoder must not be used after it.
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
	// flushSize is how much of one document is written at a time: with a thousand levels of indentation a small one prints as
	// hundreds of megabytes.
	flushSize = 1 << 20
)

// writeBuffers have room for one more document of common size.
var writeBuffers = sync.Pool{New: func() any {
	b := make([]byte, 0, writeSize+16<<10)
	return &b
}}

// emitter writes values in one pass. Every method that writes a mapping or list ends with the line.
type emitter struct {
	dst    []byte
	fields []Field // stack of the mappings that had to be sorted
	line   int     // position in dst where the current line starts
	ended  bool    // the last text has ended its line itself
	// straight writes values as they are, not as they come back from kustomize's second step.
	straight bool
	// written keeps the text of numbers and dates.
	written  bool
	brackets int       // how many of the open lists and mappings were written in brackets: what they hold is printed by other rules, see reread.go
	out      io.Writer // if not nil, takes what was written as soon as that is much
	err      error     // of out
}

// flushMuch writes what there is to out, if it is much.
func (e *emitter) flushMuch() {
	if len(e.dst) >= flushSize && e.out != nil {
		e.flush()
	}
}

// flush writes what there is to out. The last line must have ended.
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

// mapping writes the mapping v at column indent; inline if the first key continues the line.
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

// open is called before the list or mapping v is written, close after it.
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

// complexField writes a key that has several lines or more than 128 bytes.
func (e *emitter) complexField(key string, v Value, indent int) {
	e.dst = append(e.dst, "? "...)
	e.text(key, indent+2)
	e.newline()
	e.indent(indent)
	e.dst = append(e.dst, ": "...)
	e.nested(v, indent+2)
}

// nested writes v behind "- " or ": ", where a mapping or list starts on the line.
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

// scalar writes a scalar or an empty mapping or list; further lines start at column indent.
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

// sorted returns fields in the order of the output. A copy that had to be sorted is on the stack.
func (e *emitter) sorted(fields []Field) []Field {
	for i := 1; i < len(fields); i++ {
		if compareKeys(fields[i-1].Key, fields[i].Key) > 0 {
			base := len(e.fields)
			e.fields = append(e.fields, fields...)
			fields = e.fields[base:]
			// Some keys have no order among themselves: then the steps of the sort decide, which are those of the package that kustomize uses.
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
