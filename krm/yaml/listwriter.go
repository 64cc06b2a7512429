package yaml

import "bytes"

// A ListWriter writes a mapping with a long list in one of its fields, in the form of
// [AppendYAML]. It writes pieces, so that the text of a large list is not copied as it grows. The
// zero ListWriter is empty.
type ListWriter struct {
	e    emitter
	open string // field whose items are being written
	done Chunks
}

// chunkSize is the size of the pieces. They may exceed it by one item.
const chunkSize = 1 << 20

// Field writes a field.
func (w *ListWriter) Field(key string, v Value) {
	w.open = ""
	w.e.line = len(w.e.dst)
	w.e.field(key, v, 0)
}

// FieldAsWritten writes a field like Field, but keeps the text of numbers and dates: 1.10 does not
// become 1.1.
func (w *ListWriter) FieldAsWritten(key string, v Value) {
	w.e.written = true
	w.Field(key, v)
	w.e.written = false
}

// Item appends an item to the list in the field key.
func (w *ListWriter) Item(key string, v Value) {
	w.enter(key)
	w.e.seq(SeqOf(v), 0, false)
	w.flush()
}

// ItemText is [ListWriter.Item] for the text of an item: a mapping in block style, which may have
// comments. Leading comments are written above the item.
func (w *ListWriter) ItemText(key string, text []byte) {
	w.enter(key)
	lead := "- "
	for line := range bytes.Lines(text) {
		switch {
		case lead == "- " && line[0] == '#', len(bytes.TrimRight(line, "\r\n")) == 0:
		default:
			w.e.dst = append(w.e.dst, lead...)
			lead = "  "
		}
		w.e.dst = append(w.e.dst, line...)
	}
	w.e.line = len(w.e.dst)
	w.flush()
}

// enter starts the list in the field key, unless it is already open.
func (w *ListWriter) enter(key string) {
	if w.open != key {
		w.open = key
		w.e.dst = append(append(w.e.dst, key...), ":\n"...)
		w.e.line = len(w.e.dst)
	}
}

// flush completes the current piece if it is large enough.
func (w *ListWriter) flush() {
	if len(w.e.dst) >= chunkSize {
		w.done = append(w.done, w.e.dst)
		w.e.dst, w.e.line = make([]byte, 0, chunkSize+chunkSize/8), 0
	}
}

// Chunks returns the output. The ListWriter must not be used afterwards.
func (w *ListWriter) Chunks() Chunks { return append(w.done, w.e.dst) }
