package yaml

import "encoding/binary"

// Flags in the first byte of an encoded value, which also holds the type.
const (
	linkedBit = 0x10 << iota
	markedBit
	rereadBit
)

// AppendBinary appends everything that affects how v is printed, changed and compared. The
// encoding is for digests: values with a different meaning or style have different bytes.
//
// Strings made by [Linked] are numbered in the order of their first occurrence, so that the bytes
// are the same in every process. An encoding of addresses would not be.
func (v Value) AppendBinary(dst []byte) []byte { return v.appendBinary(dst, &linkNumbers{}) }

// linkNumbers are the numbers of the linked strings in a value, in order of first occurrence.
type linkNumbers map[*link]uint64

func (l *linkNumbers) of(v Value) uint64 {
	node := (*link)(v.p)
	n, ok := (*l)[node]
	if !ok {
		n = uint64(len(*l))
		if *l == nil {
			*l = linkNumbers{}
		}
		(*l)[node] = n
	}
	return n
}

func (v Value) appendBinary(dst []byte, links *linkNumbers) []byte {
	head := byte(v.typ)
	if v.is(linked) {
		head |= linkedBit
	}
	if v.is(marked) {
		head |= markedBit
	}
	if v.is(reread) {
		head |= rereadBit
	}
	dst = append(dst, head)
	if v.is(linked) {
		dst = binary.AppendUvarint(dst, links.of(v))
	}
	switch v.typ {
	case None:
	case Null:
		dst = AppendText(dst, v.SourceText())
	case Seq:
		dst = binary.AppendUvarint(dst, uint64(v.n))
		for _, x := range v.Items() {
			dst = x.appendBinary(dst, links)
		}
	case Map:
		dst = binary.AppendUvarint(dst, uint64(v.n))
		for _, f := range v.Fields() {
			dst = f.Value.appendBinary(AppendText(dst, f.Key), links)
		}
	default:
		dst = AppendText(dst, v.Text())
	}
	return dst
}

// AppendText appends the length of s, followed by s.
func AppendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
