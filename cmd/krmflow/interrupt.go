package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/console"
)

// signalError is the cause of a context that a signal has ended.
type signalError struct{ sig syscall.Signal }

func (e signalError) Error() string {
	if e.sig == syscall.SIGTERM {
		return "terminated"
	}
	return "interrupted"
}

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
			if errors.As(context.Cause(ctx), new(signalError)) {
				os.Exit(exitSignal + int(sig))
			}
			cancel(signalError{sig})
		}
	}()
	return ctx, cancel
}

const (
	// grace is how long a command may take to end when its context has: to end functions and remove what it has made.
	grace = time.Second
	// cleanupTime is how long each of the last steps of a process may take that does not wait for its command any more.
	cleanupTime = 300 * time.Millisecond
)

// await returns the exit code of a command, which done gives. When ctx ends, the command has some time to end by itself. If it does
// not, because it computes something or waits for something that does not come, await clears up in its place and reports why.
func (a *app) await(ctx context.Context, done <-chan int, end console.Reporter) int {
	select {
	case code := <-done:
		return code
	case <-ctx.Done():
	}
	var late <-chan time.Time
	if cause := context.Cause(ctx); !a.serves.Load() {
		late = time.After(graceFor(cause))
	}
	select {
	case code := <-done:
		return code
	case <-late:
	}
	within(cleanupTime, a.exits.run)
	cause := context.Cause(ctx)
	err := a.steps.Stopped(cause)
	within(cleanupTime, func() { report(end, err) }) // the reader of stderr may have stopped
	return exitCode(cause)
}

// graceFor returns how long a command may take that ends for a reason. One that takes too much gets no time for more.
func graceFor(cause error) time.Duration {
	if errors.Is(cause, diag.ErrLimit) {
		return 0
	}
	return grace
}

// within calls f and returns when it has, or after a time.
func within(limit time.Duration, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(limit):
	}
}

// exits are the functions that remove what a command has made outside of this process.
type exits struct {
	mu   sync.Mutex
	list []func()
}

// add returns f as a function that can be called any number of times, and calls it once. The command calls it when it ends;
// if it cannot, run does.
func (e *exits) add(f func()) func() {
	f = sync.OnceFunc(f)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, f)
	return f
}

func (e *exits) run() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range e.list {
		f()
	}
}

// devStdout is a name of stdout. To open it by that name would hide that it is closed.
const devStdout = "/dev/stdout"

// stdoutWriter writes to w until ctx ends or something is lost, and remembers that: the parser of the command line does not say
// so when it prints a help text.
type stdoutWriter struct {
	ctx context.Context
	w   io.Writer
	err error
}

func (s *stdoutWriter) Write(p []byte) (n int, err error) {
	switch {
	case s.err != nil:
	case s.ctx.Err() != nil:
		s.err = context.Cause(s.ctx)
	default:
		n, s.err = s.w.Write(p)
	}
	return n, s.err
}

// closedWriter stands for a stdout that is closed.
type closedWriter struct{}

func (closedWriter) Write([]byte) (int, error) {
	return 0, errors.New("it was closed when krmflow started")
}
