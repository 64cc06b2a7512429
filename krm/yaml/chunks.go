package yaml

import "slices"

// Chunks is a text in pieces, as it comes from a pipe or a socket. It is not joined where that can be avoided: that would take the
// memory of a large text twice.
type Chunks [][]byte

// Len returns the number of bytes.
func (c Chunks) Len() int {
	n := 0
	for _, chunk := range c {
		n += len(chunk)
	}
	return n
}

// Join returns the text as one piece: the only one that there is, or a copy.
func (c Chunks) Join() []byte {
	if len(c) == 1 {
		return c[0]
	}
	return slices.Concat(c...)
}

func (c Chunks) String() string { return string(c.Join()) }
