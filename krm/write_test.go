package krm

import (
	"bytes"
	"errors"
	"testing"
)

func TestWriteYAML(t *testing.T) {
	onCores(t, 4)
	for _, n := range []int{0, 1, 2*minPart - 1, 2 * minPart, 20*pieceLen + 1} {
		l := longList(n)
		var b bytes.Buffer
		if err := l.WriteYAML(&b); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), l.AppendYAML(nil)) {
			t.Errorf("%d resources: what is written is not what is appended", n)
		}
	}
}

// writes accepts a limited number of writes, then calls then.
type writes struct {
	bytes.Buffer
	left int
	then func() error
}

func (w *writes) Write(text []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, w.then()
	}
	return w.Buffer.Write(text)
}

// TestWriteYAMLFails checks that nothing is written after a failed write, and that no goroutine
// keeps waiting for its turn.
func TestWriteYAMLFails(t *testing.T) {
	onCores(t, 4)
	l := longList(100 * pieceLen)
	want := l.AppendYAML(nil)
	full := errors.New("no space left")
	w := &writes{left: 3, then: func() error { return full }}
	if err := l.WriteYAML(w); !errors.Is(err, full) || w.left != -1 || !bytes.HasPrefix(want, w.Bytes()) {
		t.Errorf("error %v after %d bytes, and %d more writes", err, w.Len(), -1-w.left)
	}
	defer func() {
		if p := recover(); p != "odd" {
			t.Errorf("recovered %v", p)
		}
	}()
	_ = l.WriteYAML(&writes{left: 3, then: func() error { panic("odd") }})
}
