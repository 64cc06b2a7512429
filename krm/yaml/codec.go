package yaml

import (
	"encoding/binary"
	"errors"
	"math"
	"unsafe"
)

// The bits beside a type in the first byte of an encoded value.
const (
	linkedBit = 0x10 << iota
	markedBit
	rereadBit
)

// AppendBinary appends everything that decides how v is printed, changed and compared, in a form that [BinaryReader.Value] reads. Values of
// different meaning or style have different bytes. Strings made by [Linked] are numbered as they are met, and those that are one node have
// one number: so the bytes do not depend on addresses and are the same in every process.
func (v Value) AppendBinary(dst []byte) []byte { return v.appendBinary(dst, &linkNumbers{}) }

// linkNumbers are the numbers of the linked strings in a value, in the order in which they are met.
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

// AppendText appends a text as [BinaryReader.Text] reads it.
func AppendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

var errBinary = errors.New("the encoded value is damaged")

// A BinaryReader reads what AppendBinary methods have written. After an error, which Err returns, it reads zero values. It is not safe
// for concurrent use.
type BinaryReader struct {
	data  []byte
	links []Value // the linked strings of the value that is being read, by number
	err   error
}

// NewBinaryReader returns a BinaryReader for data. The values share its memory, which must not be changed.
func NewBinaryReader(data []byte) *BinaryReader { return &BinaryReader{data: data} }

// Err returns an error if what was read so far is not what AppendBinary methods write.
func (r *BinaryReader) Err() error { return r.err }

// Len returns how many bytes are left.
func (r *BinaryReader) Len() int { return len(r.data) }

func (r *BinaryReader) fail() { r.data, r.err = nil, errBinary }

// Uint reads a number.
func (r *BinaryReader) Uint() uint64 {
	n, size := binary.Uvarint(r.data)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.data = r.data[size:]
	return n
}

// Count reads how many things follow. Each of them has at least one byte, so that a wrong number cannot make the reader allocate much.
func (r *BinaryReader) Count() int {
	n := r.Uint()
	if n > uint64(len(r.data)) {
		r.fail()
		return 0
	}
	return int(n)
}

// Bytes reads n bytes.
func (r *BinaryReader) Bytes(n int) []byte {
	if n > len(r.data) {
		r.fail()
		return nil
	}
	b := r.data[:n:n]
	r.data = r.data[n:]
	return b
}

// Text reads a text.
func (r *BinaryReader) Text() string {
	b := r.Bytes(r.Count())
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// Value reads a value.
func (r *BinaryReader) Value() Value {
	r.links = r.links[:0]
	return r.value(0)
}

func (r *BinaryReader) value(depth int) Value {
	head := r.Bytes(1)
	if len(head) == 0 || depth > 4*maxDepth {
		r.fail()
		return Value{}
	}
	v := Value{typ: Type(head[0] & 0x0f)}
	link := uint64(math.MaxUint64)
	if head[0]&linkedBit != 0 {
		link = r.Uint()
	}
	switch v.typ {
	case None:
	case Null:
		v = r.null()
	case Seq:
		items := make([]Value, r.Count())
		for i := range items {
			items[i] = r.value(depth + 1)
		}
		v = SeqOf(items...)
	case Map:
		fields := make([]Field, r.Count())
		for i := range fields {
			fields[i] = Field{r.Text(), r.value(depth + 1)}
		}
		v = MapOf(fields...)
	case Bool, Int, Float, Time, String:
		v = scalar(v.typ, r.Text())
	default:
		r.fail()
		return Value{}
	}
	if link != math.MaxUint64 {
		v = r.link(link, v)
	}
	v = v.flagged(marked, head[0]&markedBit != 0).flagged(reread, head[0]&rereadBit != 0)
	return v
}

// link returns the linked string with a number, which is new if the number is the next one.
func (r *BinaryReader) link(n uint64, v Value) Value {
	if n == uint64(len(r.links)) {
		r.links = append(r.links, Linked(v.Text()))
	}
	if n >= uint64(len(r.links)) || v.typ != String || r.links[n].Text() != v.Text() {
		r.fail()
		return Value{}
	}
	return r.links[n]
}

// null reads which null it is.
func (r *BinaryReader) null() Value {
	switch r.Text() {
	case "~":
		return tildeNull
	case "Null":
		return titleNull
	case "NULL":
		return upperNull
	}
	return NullValue
}
