package remote

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/krmflow/krmflow/loaders/git"
)

// Limits for retries.
const (
	maxRetries = 3
	maxWait    = 10 * time.Second
)

// backoff returns the default delay before a retry: 0.2 s for the first, doubled for each further
// one.
func backoff(attempt int) time.Duration { return 100 * time.Millisecond << attempt }

// pause reports a retry and waits before it. It returns false if the deadline of ctx leaves no
// time for the retry.
func pause(ctx context.Context, attempt int, wait time.Duration, tell func(int, time.Duration)) bool {
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

// isReset reports whether a connection was closed before the response was complete.
func isReset(err error) bool {
	for _, end := range []error{syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

// passing are messages of git, curl and ssh for transient failures of the network and of servers.
// Permanent errors, such as denied access or a missing repository, are not included.
var passing = []string{
	"returned error: 429", "returned error: 500", "returned error: 502", "returned error: 503", "returned error: 504",
	"onnection reset", "onnection closed by", "Recv failure", "Send failure", "Empty reply from server", "SSL_read", "SSL_ERROR_SYSCALL",
	"SSL connect error",
	"TLS connection was non-properly terminated", "RPC failed; curl", "transfer closed with", "early EOF", "unexpected disconnect",
}

// network calls git for an operation that uses the network, and retries after transient failures.
func (g *gitRun) network(ctx context.Context, args ...string) ([]byte, error) {
	for attempt := 1; ; attempt++ {
		out, err := g.Run(ctx, args...)
		var said *git.Error
		if !errors.As(err, &said) || attempt > maxRetries ||
			!slices.ContainsFunc(passing, func(text string) bool { return strings.Contains(said.Text, text) }) {
			return out, err
		}
		if !pause(ctx, attempt, backoff(attempt), g.retried) {
			return out, err
		}
	}
}
