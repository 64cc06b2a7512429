package remote

import (
	"io"
	"math"
	"sync/atomic"

	"github.com/krmflow/krmflow/diag"
)

// A Total counts what the sessions of one run fetch, all together. The zero Total has counted nothing. It is safe for concurrent use.
type Total struct{ bytes atomic.Int64 }

// maxFetches is how many times as much as one file may have all of a run may bring: 4 GiB, unless [Options.MaxBytes] is set.
const maxFetches = 64

// take counts bytes that have come. The error wraps diag.ErrLimit.
func (s *Session) take(n int64) error {
	limit := int64(math.MaxInt64)
	if s.opt.MaxBytes < limit/maxFetches {
		limit = s.opt.MaxBytes * maxFetches
	}
	if s.opt.Total.bytes.Add(n) <= limit {
		return nil
	}
	return diag.Limitf("all that this run has fetched is more than %s", diag.Size(limit)).Hint("that is %d times --max-fetch-bytes", maxFetches)
}

// A countedBody is a body that is counted while it is read.
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
