package yaml

// A ListWriter writes a mapping of which one field is a long list, in the form of [AppendYAML] and in pieces: the text of a large list
// is not copied when it grows. The zero ListWriter is empty.
type ListWriter struct {
	e    emitter
	open string // the field whose items are being written
	done Chunks
}

// chunkSize is how large the pieces are, or larger by one item.
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

// Item writes one more item of the list in the field key.
func (w *ListWriter) Item(key string, v Value) {
	if w.open != key {
		w.open = key
		w.e.dst = append(append(w.e.dst, key...), ":\n"...)
		w.e.line = len(w.e.dst)
	}
	w.e.seq(SeqOf(v), 0, false)
	if len(w.e.dst) >= chunkSize {
		w.done = append(w.done, w.e.dst)
		w.e.dst, w.e.line = make([]byte, 0, chunkSize+chunkSize/8), 0
	}
}

// Chunks returns what was written. The ListWriter must not be used after it.
func (w *ListWriter) Chunks() Chunks { return append(w.done, w.e.dst) }
