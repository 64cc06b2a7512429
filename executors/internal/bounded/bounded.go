// Package bounded keeps what others write, in memory that has a bound.
package bounded

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"sync/atomic"
)

// ErrFull is what an [Output] returns to who writes more than it may keep.
var ErrFull = errors.New("too much output")

const (
	firstBlock = 64 << 10 // most outputs are small
	nextBlock  = 1 << 20
)

// An Output keeps what is written to it up to a limit, and nothing of what is more. It is made of blocks: growing one slice would
// take three times the memory. Only one goroutine may write to it; Size may be called meanwhile.
type Output struct {
	limit  int64
	full   func()
	blocks [][]byte
	size   atomic.Int64
}

// NewOutput returns an Output for limit bytes, which calls full once when there are more.
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

// ReadFrom implements [io.ReaderFrom]: what is read that way is not copied.
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

// room returns the free part of the last block, which is never empty.
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

// took counts n bytes that were put into room.
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

// Blocks returns what was kept. Nobody may write any more.
func (o *Output) Blocks() [][]byte { return o.blocks }

// Size returns how many bytes were written.
func (o *Output) Size() int64 { return o.size.Load() }

// A Tail keeps the last bytes that are written to it, at most Limit. It is safe for concurrent use.
type Tail struct {
	Limit int

	mu  sync.Mutex
	buf []byte // at most twice as long as it should be
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

// Bytes returns a copy of what was kept.
func (t *Tail) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.buf[max(0, len(t.buf)-t.Limit):])
}

// A Head keeps the first bytes that are written to it, at most Limit. It is safe for concurrent use.
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

// String returns what was kept.
func (h *Head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.buf)
}
