package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/krmflow/krmflow/krm"
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
			if s != syscall.SIGPIPE {
				signal.Reset(os.Interrupt, syscall.SIGTERM)
				cancel(signalError{s.(syscall.Signal)})
			}
		}
	}()
	return ctx, cancel
}

// interruptible calls f and returns its error, or why ctx ended if that comes first. f may wait for something that never
// comes, such as the reader of a pipe; it then goes on until the process ends, so it must not leave anything half done.
func interruptible(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- krm.Panicked("krmflow", p)
			}
		}()
		done <- f()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// devStdout is a name of stdout. To open it by that name would hide that it is closed.
const devStdout = "/dev/stdout"

// stdoutWriter writes to w until ctx ends and remembers that something was lost: the parser of the command line does
// not say so when it prints a help text.
type stdoutWriter struct {
	ctx context.Context
	w   io.Writer
	err error
}

func (s *stdoutWriter) Write(p []byte) (int, error) {
	err := interruptible(s.ctx, func() error {
		_, err := s.w.Write(p)
		return err
	})
	if err != nil {
		s.err = err
		return 0, err
	}
	return len(p), nil
}

// closedWriter stands for a stdout that is closed.
type closedWriter struct{}

func (closedWriter) Write([]byte) (int, error) {
	return 0, errors.New("it was closed when krmflow started")
}
