// Package bounded stores output in a bounded amount of memory.
package bounded

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"sync/atomic"
)

// ErrFull is returned by an [Output] when its limit is exceeded.
var ErrFull = errors.New("too much output")

const (
	firstBlock = 64 << 10 // most outputs are small
	nextBlock  = 1 << 20
)

// An Output stores the bytes written to it, up to a limit; beyond the limit it discards
// everything. It uses blocks, because growing a single slice would need three times the memory.
// Only one goroutine may write. Size may be called concurrently.
type Output struct {
	limit  int64
	full   func()
	blocks [][]byte
	size   atomic.Int64
}

// NewOutput returns an Output for up to limit bytes. It calls full once if the limit is
// exceeded.
func NewOutput(limit int64, full func()) *Output { return &Output{limit: limit, full: full} }

// Write implements [io.Writer].
func (o *Output) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		k := copy(o.room(), p[n:])
		n += k
		err = o.took(k)
	}
	return n, err
}

// ReadFrom implements [io.ReaderFrom]. It reads directly into the blocks, without copying.
func (o *Output) ReadFrom(r io.Reader) (total int64, err error) {
	for {
		n, err := r.Read(o.room())
		total += int64(n)
		if full := o.took(n); full != nil {
			return total, full
		}
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// room returns the free part of the last block. It is never empty.
func (o *Output) room() []byte {
	last := len(o.blocks) - 1
	switch {
	case last < 0:
		o.blocks = append(o.blocks, make([]byte, 0, firstBlock))
		last++
	case len(o.blocks[last]) == cap(o.blocks[last]):
		o.blocks = append(o.blocks, make([]byte, 0, nextBlock))
		last++
	}
	b := o.blocks[last]
	return b[len(b):cap(b)]
}

// took records that n bytes were written to room.
func (o *Output) took(n int) error {
	before := o.size.Load()
	if o.size.Add(int64(n)) > o.limit {
		o.blocks = nil
		if before <= o.limit {
			o.full()
		}
		return ErrFull
	}
	last := len(o.blocks) - 1
	o.blocks[last] = o.blocks[last][:len(o.blocks[last])+n]
	return nil
}

// Blocks returns the stored bytes. The Output must not be written to afterwards.
func (o *Output) Blocks() [][]byte { return o.blocks }

// Size returns the number of bytes written.
func (o *Output) Size() int64 { return o.size.Load() }

// A Tail stores the last Limit bytes written to it. It is safe for concurrent use.
type Tail struct {
	Limit int

	mu  sync.Mutex
	buf []byte // at most 2*Limit bytes
}

// Write implements [io.Writer]. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[max(0, len(p)-t.Limit):]...)
	if len(t.buf) > 2*t.Limit {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-t.Limit:]...)
	}
	return len(p), nil
}

// Bytes returns a copy of the stored bytes.
func (t *Tail) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.buf[max(0, len(t.buf)-t.Limit):])
}

// A Head stores the first Limit bytes written to it. It is safe for concurrent use.
type Head struct {
	Limit int

	mu  sync.Mutex
	buf []byte
}

// Write implements [io.Writer]. It never fails.
func (h *Head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.buf = append(h.buf, p[:min(len(p), h.Limit-len(h.buf))]...)
	return len(p), nil
}

// String returns the stored bytes.
func (h *Head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.buf)
}
