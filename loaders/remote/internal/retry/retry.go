// Package retry has the delays between attempts of a request that failed for a reason that may
// pass.
package retry

import (
	"context"
	"errors"
	"io"
	"syscall"
	"time"
)

// Limits for retries.
const (
	Max     = 3
	MaxWait = 10 * time.Second
)

// Backoff returns the default delay before a retry: 0.2 s for the first, doubled for each further
// one.
func Backoff(attempt int) time.Duration { return 100 * time.Millisecond << attempt }

// Pause reports a retry and waits before it. It returns false if the deadline of ctx leaves no
// time for the retry.
func Pause(ctx context.Context, attempt int, wait time.Duration, tell func(int, time.Duration)) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= wait {
		return false
	}
	tell(attempt, wait)
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}

// IsReset reports whether a connection was closed before the response was complete.
func IsReset(err error) bool {
	for _, end := range []error{syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}
