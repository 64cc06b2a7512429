package terminal

import (
	"context"
	"errors"
	"io"
	"os"
)

// StdoutDevice is a device name of stdout. Opening it would hide that stdout is closed.
const StdoutDevice = "/dev/stdout"

// A Stdout writes to stdout until its context ends or a write fails. It records the first
// error, because the command line parser ignores write errors when it prints help. A Stdout
// must not be used concurrently.
type Stdout struct {
	ctx context.Context
	w   io.Writer
	err error
}

// NewStdout returns a Stdout that writes to w.
func NewStdout(ctx context.Context, w io.Writer) *Stdout { return &Stdout{ctx: ctx, w: w} }

func (s *Stdout) Write(p []byte) (n int, err error) {
	switch {
	case s.err != nil:
	case s.ctx.Err() != nil:
		s.err = context.Cause(s.ctx)
	default:
		n, s.err = s.w.Write(p)
	}
	return n, s.err
}

// Err returns the error of the first failed write, or nil if none failed.
func (s *Stdout) Err() error { return s.err }

// OpenStdout returns the stdout of this process. Writing to it fails if it was closed when the
// process started.
func OpenStdout() io.Writer {
	if wasClosed() {
		return closed{}
	}
	return os.Stdout
}

// closed is the writer for a closed stdout.
type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errors.New("it was closed when krmflow started") }
