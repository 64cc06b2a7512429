package yaml

import "unsafe"

// slabs allocates slices of exact size from larger arrays. A document consists of thousands of
// small mappings and lists, and one allocation for each would cost more than parsing it. Several
// small files may share the arrays.
type slabs struct {
	fieldSlab []Field
	itemSlab  []Value
	textSlab  []byte
	size      int
	cut       int // bytes of all allocated fields and items
}

// maxSlab limits the size of an array, and so the memory that one small value can retain after its
// document is gone.
const maxSlab = 1024

func (s *slabs) grow(n int) int {
	s.size = min(max(2*s.size, 32), maxSlab)
	return max(n, s.size)
}

func (s *slabs) cutFields(src []Field) []Field {
	n := len(src)
	s.cut += n * fieldSize
	if cap(s.fieldSlab)-len(s.fieldSlab) < n {
		if n >= maxSlab {
			return append([]Field(nil), src...)
		}
		s.fieldSlab = make([]Field, 0, s.grow(n))
	}
	k := len(s.fieldSlab)
	s.fieldSlab = append(s.fieldSlab, src...)
	return s.fieldSlab[k : k+n : k+n]
}

func (s *slabs) cutItems(src []Value) []Value {
	n := len(src)
	s.cut += n * itemSize
	if cap(s.itemSlab)-len(s.itemSlab) < n {
		if n >= maxSlab {
			return append([]Value(nil), src...)
		}
		s.itemSlab = make([]Value, 0, s.grow(n))
	}
	k := len(s.itemSlab)
	s.itemSlab = append(s.itemSlab, src...)
	return s.itemSlab[k : k+n : k+n]
}

// cutText returns src as a string.
func (s *slabs) cutText(src []byte) string {
	n := len(src)
	if n == 0 {
		return ""
	}
	if cap(s.textSlab)-len(s.textSlab) < n {
		if n >= maxSlab {
			return string(src)
		}
		s.textSlab = make([]byte, 0, 4*maxSlab)
	}
	k := len(s.textSlab)
	s.textSlab = append(s.textSlab, src...)
	return unsafe.String(&s.textSlab[k], n)
}
