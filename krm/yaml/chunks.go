package yaml

import "slices"

// Chunks is a text in pieces, as read from a pipe or socket. The pieces are not joined unless
// necessary, because that would double the memory for a large text.
type Chunks [][]byte

// Len returns the number of bytes.
func (c Chunks) Len() int {
	n := 0
	for _, chunk := range c {
		n += len(chunk)
	}
	return n
}

// Join returns the text as one piece: the only chunk itself, or else a copy.
func (c Chunks) Join() []byte {
	if len(c) == 1 {
		return c[0]
	}
	return slices.Concat(c...)
}

func (c Chunks) String() string { return string(c.Join()) }
