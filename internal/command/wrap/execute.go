package wrap

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/exit"
	"github.com/krmflow/krmflow/internal/sys/detach"
)

// drain is how long to wait for more output after the command has ended. A process that it
// started may keep its output open.
const drain = time.Second

// errFull is the reason for stopping a command with too much output.
var errFull = errors.New("too much output")

// execute runs the command with input on stdin and returns its output. Where process groups
// exist, it kills the remaining processes of the command before it returns.
func (c *Call) execute(ctx context.Context, env []string, input []byte) ([]byte, error) {
	runtime.LockOSThread() // the kernel kills the command when its parent thread exits
	defer runtime.UnlockOSThread()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	detach.Command(cmd)
	cmd.Env = env
	var pipes pipes
	defer pipes.close()
	stdin, stdout, stderr, err := pipes.open(cmd)
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, c.notStarted(err)
	}
	pipes.closeTheirs()
	go func() {
		_, _ = stdin.Write(input) // the command may ignore its input
		stdin.Close()
	}()
	var out bytes.Buffer
	var reading sync.WaitGroup
	reading.Go(func() {
		if n, _ := io.Copy(&out, io.LimitReader(stdout, c.MaxOutput+1)); n > c.MaxOutput {
			cancel(errFull)
		}
	})
	reading.Go(func() { _, _ = io.Copy(c.Stderr, stderr) })
	failed := cmd.Wait()
	if cmd.Cancel != nil {
		_ = cmd.Cancel() // kill the remaining processes
	}
	late := time.AfterFunc(drain, func() { stdout.SetReadDeadline(time.Now()); stderr.SetReadDeadline(time.Now()) })
	reading.Wait()
	late.Stop()
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errFull):
		return nil, diag.Limitf("%s printed more than %s, and was stopped", diag.OneLine(c.Args[0]), diag.Size(c.MaxOutput))
	case cause != nil:
		return nil, cause
	}
	return out.Bytes(), c.ended(failed)
}

// notStarted returns the error for a command that could not be started.
func (c *Call) notStarted(err error) error {
	if errors.Is(err, syscall.E2BIG) {
		return diag.Limitf("%s cannot be started: the configuration is too large for variables", diag.OneLine(c.Args[0]))
	}
	if errors.Is(err, syscall.ENOEXEC) {
		return &exit.Error{Code: 126, Err: diag.Errorf(diag.Pos{}, "", "%s is not a program",
			diag.OneLine(c.Args[0])).With(diag.BadProgram).Hint("a script must begin with a line such as #!/bin/sh")}
	}
	return notFound(c.Args[0], err)
}

// ended converts the exit status of the command to the error of the call (WR-06).
func (c *Call) ended(err error) error {
	var failed *exec.ExitError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &failed):
		return err
	}
	if ws, ok := failed.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return &exit.Error{Code: 128 + int(ws.Signal()),
			Err: diag.FunctionFailed.Errorf("%s: ended by signal %d (%v)", diag.OneLine(c.Args[0]), int(ws.Signal()), ws.Signal())}
	}
	return &exit.Error{Code: failed.ExitCode()}
}

// pipes are the pipes between this process and the command.
type pipes struct{ ours, theirs []*os.File }

// open connects the streams of a command before it starts.
func (p *pipes) open(cmd *exec.Cmd) (stdin, stdout, stderr *os.File, err error) {
	var files [3][2]*os.File
	for i := range files {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, nil, nil, err
		}
		files[i] = [2]*os.File{r, w}
		p.ours, p.theirs = append(p.ours, r), append(p.theirs, w)
	}
	p.ours[0], p.theirs[0] = p.theirs[0], p.ours[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.theirs[0], p.theirs[1], p.theirs[2]
	return p.ours[0], p.ours[1], p.ours[2], nil
}

func (p *pipes) closeTheirs() {
	for _, f := range p.theirs {
		f.Close()
	}
	p.theirs = nil
}

func (p *pipes) close() {
	p.closeTheirs()
	for _, f := range p.ours {
		f.Close()
	}
}
