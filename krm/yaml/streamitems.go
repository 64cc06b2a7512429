package yaml

import (
	"bytes"
	"runtime"
	"strings"
	"unsafe"

	"github.com/krmflow/krmflow/diag"
)

// A large list must be written with one item after the other in block style. Each item is then
// parsed as a document of its own, within the limits for documents, and the whole text need not be
// copied.

// byItem reads a ResourceList or List in block style: its items one by one, and the parts before
// and after them. ok is false if the text does not have this form. err reports a mistake in one of
// the parts. It is final if [diag.IsTooLarge] is true for it; otherwise the text as a whole may
// still be valid.
func (s *Stream) byItem(text Chunks) (doc Item, ok bool, err error) {
	r := lineReader{chunks: text}
	if !r.skipTo("items:\n") {
		return doc, false, nil
	}
	r.skipLine()
	p := newParser()
	defer p.release()
	w := itemReader{stream: s, p: p, lines: &r, line: 1, source: Source{File: s.Name, answer: true}, size: text.Len()}
	head, err := w.part("the part before the items", place{}, r.at)
	if err != nil {
		return doc, false, err
	}
	items, err := w.items()
	if err != nil || len(items) == 0 {
		return doc, false, err
	}
	var tail Value
	if rest := r.at; !r.done() {
		// Only a key may follow, not a further document.
		if c := r.byte(0) | 0x20; c < 'a' || c > 'z' || !r.skipTo("") {
			return doc, false, nil
		}
		if tail, err = w.part("the part after the items", rest, r.at); err != nil {
			return doc, false, err
		}
	}
	list, ok := joined(head, tail, SeqOf(items...))
	if ok {
		s.source.warnings, s.used = w.source.warnings, w.size+p.cut
	}
	return Item{list, []any{"document", 0}}, ok, nil
}

// joined returns the mapping of head, items and tail. The last field of head is the empty field
// items, which receives the items.
func joined(head, tail, items Value) (Value, bool) {
	last := head.Len() - 1
	if last < 0 || head.Type() != Map || head.Fields()[last] != (Field{"items", OmittedNull}) || tail.Exists() && tail.Type() != Map {
		return Value{}, false
	}
	fields := append(head.Fields()[:last:last], Field{"items", items})
	for _, f := range tail.Fields() {
		if head.Get(f.Key).Exists() {
			return Value{}, false
		}
		fields = append(fields, f)
	}
	return MapOf(fields...), true
}

// An itemReader parses the parts of a list.
type itemReader struct {
	stream *Stream
	p      *parser
	lines  *lineReader
	line   int // number of the line where the next part starts
	source Source
	// size is the memory for the text in bytes, without the lists and mappings counted by p.
	size      int
	collected int // source.rare at the last collection
}

// items reads the items at the current line and moves after them.
func (w *itemReader) items() ([]Value, error) {
	r := w.lines
	dash := r.indent()
	if !r.dashAt(dash) {
		return nil, nil
	}
	var items []Value
	for r.dashAt(dash) {
		start := r.at
		for r.skipLine(); !r.done() && (r.indent() > dash || r.blankLine()); r.skipLine() {
		}
		if len(items) == w.stream.MaxItems {
			return nil, w.stream.tooLargef("items", "has more than %d items", w.stream.MaxItems)
		}
		item, err := w.part("it", start, r.at)
		if err != nil {
			if e, ok := err.(*diag.Error); ok {
				e.Field = diag.FieldPath([]any{"items", len(items)})
			}
			return nil, err
		}
		if item.Type() != Seq || item.Len() != 1 {
			return nil, w.stream.errorf("items", "item %d is not a valid list item", len(items))
		}
		items = append(items, item.Items()[0])
		w.size += itemRoom
	}
	return items, nil
}

// part parses the text between two places as a document of its own. name is its name in messages.
func (w *itemReader) part(name string, from, to place) (Value, error) {
	n := w.lines.distance(from, to)
	if n > MaxFile {
		return Value{}, diag.TooLargef(diag.Pos{File: w.stream.Name, Line: w.line}, "", "%s has %s; the limit is %s", name,
			diag.Size(int64(n)), diag.Size(MaxFile))
	}
	pc := piece{text: w.lines.text(from, to), line: w.line}
	if pc.plain = simpleText(pc.text); !pc.plain {
		if at, _ := badCharacter(pc.text); at < 0 {
			return Value{}, diag.Errorf(diag.Pos{File: w.stream.Name, Line: pc.line},
				"", "found a line break or mark that some versions of YAML do not accept")
		}
	}
	if w.source.rare > w.collected+maxMarks/2 {
		// Together with a large text, garbage nodes of the slow path could double the memory.
		runtime.GC()
		w.collected = w.source.rare
	}
	if from.chunk != to.chunk {
		w.size += n // text copies a part that spans chunks
	}
	w.p.room = max(1, w.stream.Room-w.size)
	v, err := w.source.parsePiece(w.p, pc)
	w.line += strings.Count(pc.text, "\n")
	return v, err
}

// A lineReader finds lines in chunks without joining the chunks.
type lineReader struct {
	chunks Chunks
	at     place // start of a line
}

// A place is a position in chunks: a byte of a chunk, or the end of the last chunk.
type place struct{ chunk, byte int }

func (r *lineReader) done() bool { return r.at.chunk == len(r.chunks) }

// settle turns a position at the end of a chunk into the start of the next one.
func (r *lineReader) settle() {
	for r.at.chunk < len(r.chunks) && r.at.byte == len(r.chunks[r.at.chunk]) {
		r.at = place{chunk: r.at.chunk + 1}
	}
}

// skipLine moves to the start of the next line.
func (r *lineReader) skipLine() {
	for r.at.chunk < len(r.chunks) {
		if n := bytes.IndexByte(r.chunks[r.at.chunk][r.at.byte:], '\n'); n >= 0 {
			r.at.byte += n + 1
			r.settle()
			return
		}
		r.at = place{chunk: r.at.chunk + 1}
	}
}

// skipTo moves to the first line that starts with line, or to the end if line is empty. It reports
// false if there is no such line, or if a document marker precedes it, except at the start.
func (r *lineReader) skipTo(line string) bool {
	for r.settle(); !r.done(); r.skipLine() {
		switch {
		case line != "" && r.startsWith(line):
			return true
		case r.at != place{} && (r.startsWith("---") || r.startsWith("...")):
			return false
		}
	}
	return line == ""
}

func (r *lineReader) startsWith(s string) bool {
	for i := range len(s) {
		if r.byte(i) != s[i] {
			return false
		}
	}
	return true
}

// byte returns the byte at offset n from the start of the line, 0 after the end of the text.
func (r *lineReader) byte(n int) byte {
	at := place{r.at.chunk, r.at.byte + n}
	for at.chunk < len(r.chunks) && at.byte >= len(r.chunks[at.chunk]) {
		at.byte -= len(r.chunks[at.chunk])
		at.chunk++
	}
	if at.chunk == len(r.chunks) {
		return 0
	}
	return r.chunks[at.chunk][at.byte]
}

// indent returns the number of spaces at the start of the line.
func (r *lineReader) indent() int {
	n := 0
	for r.byte(n) == ' ' {
		n++
	}
	return n
}

// dashAt reports whether the line is a list item with a dash at column n.
func (r *lineReader) dashAt(n int) bool {
	return r.indent() == n && r.byte(n) == '-' && (r.byte(n+1) == ' ' || r.byte(n+1) == '\n')
}

// blankLine reports whether the line is empty or a comment.
func (r *lineReader) blankLine() bool {
	c := r.byte(r.indent())
	return c == '\n' || c == '#'
}

// distance returns the number of bytes between two places.
func (r *lineReader) distance(from, to place) int {
	n := to.byte - from.byte
	for _, c := range r.chunks[from.chunk:to.chunk] {
		n += len(c)
	}
	return n
}

// text returns the text between two places. It copies the text only if that spans several chunks.
func (r *lineReader) text(from, to place) string {
	if from == to {
		return ""
	}
	if c := r.chunks[from.chunk]; from.chunk == to.chunk || to == (place{chunk: from.chunk + 1}) {
		part := c[from.byte:]
		if from.chunk == to.chunk {
			part = c[from.byte:to.byte]
		}
		return unsafe.String(unsafe.SliceData(part), len(part))
	}
	b := make([]byte, 0, r.distance(from, to))
	b = append(b, r.chunks[from.chunk][from.byte:]...)
	for _, c := range r.chunks[from.chunk+1 : to.chunk] {
		b = append(b, c...)
	}
	if to.byte > 0 {
		b = append(b, r.chunks[to.chunk][:to.byte]...)
	}
	return unsafe.String(unsafe.SliceData(b), len(b))
}
