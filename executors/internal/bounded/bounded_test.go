package bounded_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/krmflow/krmflow/executors/internal/bounded"
)

// An output keeps what was written, in pieces of any size, up to its limit and not a byte more.
func TestOutputStopsAtLimit(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 3<<20)
	for i := range text {
		text[i] = byte(rnd.Uint32())
	}
	for _, n := range []int{1, 64 << 10, 64<<10 + 1, 3 << 20} {
		for _, over := range []int{0, 1} {
			calls := 0
			o := bounded.NewOutput(int64(n-over), func() { calls++ })
			half := rnd.IntN(n + 1)
			_, err := o.Write(text[:half])
			if err == nil {
				_, err = o.ReadFrom(iotest.HalfReader(bytes.NewReader(text[half:n])))
			}
			got := bytes.Join(o.Blocks(), nil)
			if over := over > 0; over != errors.Is(err, bounded.ErrFull) || over != (calls == 1) || !over && !bytes.Equal(got, text[:n]) ||
				over && len(got) > 0 {
				t.Errorf("%d bytes, over %v: %d calls, %v, %d bytes kept", n, over, calls, err, len(got))
			}
		}
	}
}

func TestTailAndHead(t *testing.T) {
	var all strings.Builder
	tail, head := bounded.Tail{Limit: 10}, bounded.Head{Limit: 10}
	for _, part := range []string{"", "abc", "defghijklmnopqrst", "u", "vwxyz", "0123456789", "!"} {
		all.WriteString(part)
		for _, w := range []io.Writer{&tail, &head} {
			if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
				t.Errorf("%q: %d, %v", part, n, err)
			}
		}
		s := all.String()
		if got, want := string(tail.Bytes()), s[max(0, len(s)-10):]; got != want {
			t.Errorf("tail %q, not %q", got, want)
		}
		if got, want := head.String(), s[:min(10, len(s))]; got != want {
			t.Errorf("head %q, not %q", got, want)
		}
	}
}
