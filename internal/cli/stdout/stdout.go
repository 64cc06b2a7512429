// Package stdout is what commands write their product to. It tells when a product was lost.
package stdout

import (
	"context"
	"errors"
	"io"
	"os"
)

// Dev is a name of stdout. To open it by that name would hide that it is closed.
const Dev = "/dev/stdout"

// A Writer writes to stdout until its context ends or something is lost, and remembers that: the parser of the command line does not say so
// when it prints a help text.
type Writer struct {
	ctx context.Context
	w   io.Writer
	err error
}

// New returns a Writer to w.
func New(ctx context.Context, w io.Writer) *Writer { return &Writer{ctx: ctx, w: w} }

func (s *Writer) Write(p []byte) (n int, err error) {
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
func (s *Writer) Err() error { return s.err }

// Open returns the stdout of this process. Writing to it fails if it was closed when the process started.
func Open() io.Writer {
	if wasClosed() {
		return closed{}
	}
	return os.Stdout
}

// closed stands for a stdout that is closed.
type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errors.New("it was closed when krmflow started") }
