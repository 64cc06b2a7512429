package remote

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/loaders/git"
	"github.com/krmflow/krmflow/loaders/remote/internal/retry"
)

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
		if !errors.As(err, &said) || attempt > retry.Max ||
			!slices.ContainsFunc(passing, func(text string) bool { return strings.Contains(said.Text, text) }) {
			return out, err
		}
		if !retry.Pause(ctx, attempt, retry.Backoff(attempt), g.retried) {
			return out, err
		}
	}
}
