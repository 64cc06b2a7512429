package krm

import (
	"cmp"
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/krmflow/krmflow/krm/yaml"
)

// AppendYAML appends the resources as documents separated by "---".
func (l *List) AppendYAML(dst []byte) []byte {
	for i, r := range l.items {
		if i > 0 {
			dst = append(dst, "---\n"...)
		}
		dst = yaml.AppendYAML(dst, r.value)
	}
	return dst
}

// WriteYAML writes the output of [List.AppendYAML] to w in several calls, each for many resources.
// w must not retain its argument. A long list is encoded on several cores.
func (l *List) WriteYAML(w io.Writer) error {
	n := min(runtime.GOMAXPROCS(0), len(l.items)/minPart)
	if n < 2 {
		return encode(w, l.items, false)
	}
	t := &turns{w: w}
	t.changed.L = &t.mu
	var begun atomic.Int64
	atOnce(n, func(int) {
		for {
			i := int(begun.Add(1)) - 1
			if from := i * pieceLen; from >= len(l.items) || !t.piece(i, l.items[from:min(from+pieceLen, len(l.items))]) {
				return
			}
		}
	})
	return t.err
}

// encode writes items. more is true if other documents precede them.
func encode(w io.Writer, items []*Resource, more bool) error {
	enc := yaml.NewEncoder(w, more)
	for _, r := range items {
		if enc.Encode(r.value) != nil {
			break
		}
	}
	return enc.Close()
}

// pieceLen is the number of resources per piece: about as much text as a [yaml.Encoder] writes at
// once.
const pieceLen = 64

// turns lets several goroutines encode the pieces of one text and write them in order. The
// goroutine with the first unwritten piece never waits. The others wait when they have as much
// text as an encoder buffers before it writes.
type turns struct {
	w       io.Writer
	mu      sync.Mutex
	changed sync.Cond // signals changes of next and ended
	next    int       // piece whose turn it is
	ended   bool      // nothing more is written
	err     error     // first error of w
}

// piece writes the resources of piece i. It returns false if no more pieces should be written.
func (t *turns) piece(i int, items []*Resource) (ok bool) {
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.next++
		t.ended = t.ended || !ok
		t.changed.Broadcast()
	}()
	return encode(turn{t, i}, items, i > 0) == nil
}

// A turn is the writer of one piece. It waits until the earlier pieces are written.
type turn struct {
	*turns
	i int // index of the piece
}

var errEnded = errors.New("the output has ended")

func (t turn) Write(text []byte) (int, error) {
	t.mu.Lock()
	for t.next < t.i && !t.ended {
		t.changed.Wait()
	}
	ended := t.ended
	t.mu.Unlock()
	if ended {
		return 0, errEnded
	}
	n, err := t.w.Write(text)
	t.err = cmp.Or(t.err, err)
	return n, err
}
