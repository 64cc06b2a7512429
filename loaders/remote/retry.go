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

// The limits of retries.
const (
	maxRetries = 3
	maxWait    = 10 * time.Second
)

// backoff returns how long to wait before an attempt where nobody says: 0.2 s, twice as long each time.
func backoff(attempt int) time.Duration { return 100 * time.Millisecond << attempt }

// pause tells that there will be another attempt and waits for it. It reports whether there is time for that.
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

// isReset reports whether a connection ended before there was an answer.
func isReset(err error) bool {
	for _, end := range []error{syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

// passing is what git, curl and ssh say about failures of the network and of servers that may pass. What a server refuses or does not have is
// none of them.
var passing = []string{
	"returned error: 429", "returned error: 500", "returned error: 502", "returned error: 503", "returned error: 504",
	"onnection reset", "onnection closed by", "Recv failure", "Send failure", "Empty reply from server", "SSL_read", "SSL_ERROR_SYSCALL", "SSL connect error",
	"TLS connection was non-properly terminated", "RPC failed; curl", "transfer closed with", "early EOF", "unexpected disconnect",
}

// network calls git for what needs the network, and again if that has failed in a way that may pass.
func (g *gitRun) network(ctx context.Context, args ...string) ([]byte, error) {
	for attempt := 1; ; attempt++ {
		out, err := g.Run(ctx, args...)
		var said *git.Error
		if !errors.As(err, &said) || attempt > maxRetries || !slices.ContainsFunc(passing, func(text string) bool { return strings.Contains(said.Text, text) }) {
			return out, err
		}
		if !pause(ctx, attempt, backoff(attempt), g.retried) {
			return out, err
		}
	}
}
