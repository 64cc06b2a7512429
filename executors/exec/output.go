package exec

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/krm/yaml"
)

// An output keeps what it reads up to a limit. It is made of blocks: growing one slice would take three times the memory.
type output struct {
	limit int64
	full  func() // called when there is more

	blocks yaml.Chunks // what was read, after read has returned
	size   atomic.Int64
}

// read reads all of r.
func (o *output) read(r io.Reader) {
	block := make([]byte, 0, 64<<10)
	for {
		n, err := r.Read(block[len(block):cap(block)])
		block = block[:len(block)+n]
		switch {
		case o.size.Add(int64(n)) > o.limit:
			o.blocks = nil
			o.full()
			return
		case err != nil:
			o.blocks = append(o.blocks, block)
			return
		case len(block) == cap(block):
			o.blocks = append(o.blocks, block)
			block = make([]byte, 0, 1<<20)
		}
	}
}

// A tail keeps the last bytes that are written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte // at most twice as long as it should be
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if n >= executors.StderrTail {
		t.buf, p = t.buf[:0], p[n-executors.StderrTail:]
	}
	if len(t.buf)+len(p) > 2*executors.StderrTail {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-executors.StderrTail:]...)
	}
	t.buf = append(t.buf, p...)
	return n, nil
}

func (t *tail) data() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.buf[max(0, len(t.buf)-executors.StderrTail):])
}
