package remote

import (
	"io"
	"math"
	"sync/atomic"

	"github.com/krmflow/krmflow/diag"
)

// A Total counts the bytes fetched by all sessions of a run. The zero value is ready to use. It
// is safe for concurrent use.
type Total struct{ bytes atomic.Int64 }

// maxFetches is the ratio of the limit for a whole run to the limit for one file. With the
// default [Options.MaxBytes], a run may fetch 4 GiB.
const maxFetches = 64

// take adds n fetched bytes to the total. The error wraps diag.ErrLimit.
func (s *Session) take(n int64) error {
	limit := int64(math.MaxInt64)
	if s.opt.MaxBytes < limit/maxFetches {
		limit = s.opt.MaxBytes * maxFetches
	}
	if s.opt.Total.bytes.Add(n) <= limit {
		return nil
	}
	return diag.Limitf("this run has fetched more than %s", diag.Size(limit)).Hint("the limit is %d times --max-fetch-bytes", maxFetches)
}

// A countedBody is a response body whose bytes are counted as they are read.
type countedBody struct {
	io.ReadCloser
	take func(int64) error
}

func (b countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if over := b.take(int64(n)); over != nil {
		return n, over
	}
	return n, err
}
