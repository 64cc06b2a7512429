package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/console"
	"github.com/krmflow/krmflow/internal/cli/exit"
	"github.com/krmflow/krmflow/internal/engine/limits"
)

// untilSignal returns a context that the first SIGINT or SIGTERM ends; a second one ends the process at once. SIGPIPE is
// taken as well: a reader that went away shows as an error of the write. The signals are the process's until it ends: to give
// each back would wake two threads.
func untilSignal() (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE)
	go func() {
		for s := range signals {
			if s == syscall.SIGPIPE {
				continue
			}
			sig := s.(syscall.Signal)
			if errors.As(context.Cause(ctx), new(exit.Signaled)) {
				os.Exit(exit.Signal + int(sig))
			}
			cancel(exit.Signaled{Signal: sig})
		}
	}()
	return ctx, cancel
}

const (
	// cleanupTime is how long each of the last steps of a process may take that does not wait for its command any more.
	cleanupTime = 300 * time.Millisecond
	// sayTime is how long it may take to say that a run takes too much: longer, because nobody knows that yet, and the machine may be busy.
	sayTime = 3 * time.Second
)

// await returns the exit code of a command, which done gives. When ctx ends, the command has some time to end by itself. If it does
// not, because it computes something or waits for something that does not come, await clears up in its place and reports why.
func await(ctx context.Context, a *cli.Invocation, done <-chan int, end console.Reporter) int {
	select {
	case code := <-done:
		return code
	case <-ctx.Done():
	}
	var late <-chan time.Time
	if cause := context.Cause(ctx); !a.Serves.Load() {
		late = time.After(graceFor(cause))
	}
	select {
	case code := <-done:
		return code
	case <-late:
	}
	limits.Within(cleanupTime, a.Exits.Run)
	cause := context.Cause(ctx)
	err := a.Steps.Stopped(cause)
	limit := cleanupTime
	if errors.Is(cause, diag.ErrLimit) {
		limit = sayTime
	}
	limits.Within(limit, func() { report(end, err) }) // the reader of stderr may have stopped
	return exit.Code(cause)
}

// graceFor returns how long a command may take that ends for a reason. One that takes too much gets no time for more.
func graceFor(cause error) time.Duration {
	if errors.Is(cause, diag.ErrLimit) {
		return 0
	}
	return cli.Grace
}
