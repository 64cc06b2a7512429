package terminal

import (
	"context"
	"errors"
	"io"
	"os"
)

// StdoutDevice is a name of stdout. To open it by that name would hide that it is closed.
const StdoutDevice = "/dev/stdout"

// A Stdout writes to stdout until its context ends or something is lost, and remembers that: the parser of the command line does not say so
// when it prints a help text.
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

// Err returns why something was lost, nil if nothing was.
func (s *Stdout) Err() error { return s.err }

// OpenStdout returns the stdout of this process. Writing to it fails if it was closed when the process started.
func OpenStdout() io.Writer {
	if wasClosed() {
		return closed{}
	}
	return os.Stdout
}

// closed stands for a stdout that is closed.
type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errors.New("it was closed when krmflow started") }
