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
	"github.com/krmflow/krmflow/internal/cli/terminal"
	"github.com/krmflow/krmflow/internal/engine/limits"
)

// untilSignal returns a context that is canceled by the first SIGINT or SIGTERM. A second
// signal ends the process at once, except that the pager of a screen handles Ctrl-C itself: it
// would stay in the terminal. SIGTERM ends the pager. SIGPIPE is caught and ignored, so
// that a closed pipe shows up as a write error. The handlers are never removed: each removal would
// wake two threads.
func untilSignal(screen *terminal.Screen) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE)
	go func() {
		for s := range signals {
			if s == syscall.SIGPIPE {
				continue
			}
			sig := s.(syscall.Signal)
			switch paging := screen.Paging(); {
			case paging && sig == syscall.SIGTERM:
				cancel(exit.Signaled{Signal: sig})
				screen.EndPager()
				continue
			case paging:
				cancel(exit.Signaled{Signal: sig})
				continue
			}
			if errors.As(context.Cause(ctx), new(exit.Signaled)) {
				os.Exit(exit.Signal + int(sig))
			}
			cancel(exit.Signaled{Signal: sig})
		}
	}()
	return ctx, cancel
}

const (
	// cleanupTime is the maximum time of each cleanup step of a process that no longer waits
	// for its command.
	cleanupTime = 300 * time.Millisecond
	// sayTime is the maximum time for reporting that a run exceeded a limit. It is longer than
	// cleanupTime because the user has not seen the reason yet and the machine may be busy.
	sayTime = 3 * time.Second
)

// await returns the exit code that the command sends on done. When ctx ends, the command has a
// grace period to end by itself. If it does not, because it is computing or blocked, await runs
// the cleanup in its place and reports the cause.
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
	// The reader of stderr may have stopped reading.
	limits.Within(limit, func() { report(end, err) })
	return exit.Code(cause)
}

// graceFor returns the grace period of a command that ends because of cause. A command that
// exceeded a limit gets none.
func graceFor(cause error) time.Duration {
	if errors.Is(cause, diag.ErrLimit) {
		return 0
	}
	return cli.Grace
}
