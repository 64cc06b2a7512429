package krm

import "io"

// AppendYAML appends the resources as documents separated by "---".
func (l *List) AppendYAML(dst []byte) []byte {
	for i, r := range l.items {
		if i > 0 {
			dst = append(dst, "---\n"...)
		}
		dst = AppendYAML(dst, r.value)
	}
	return dst
}

// WriteYAML writes what [List.AppendYAML] appends, in pieces of at least some ten thousand bytes. w must not keep them.
func (l *List) WriteYAML(w io.Writer) error {
	enc := NewEncoder(w)
	for _, r := range l.items {
		if enc.Encode(r.value) != nil {
			break
		}
	}
	return enc.Close()
}
