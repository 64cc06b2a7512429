package executors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/executors/internal/dirs"
	"github.com/krmflow/krmflow/executors/internal/proc"
	"github.com/krmflow/krmflow/executors/internal/wire"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// startTimeout is the time for an executor to answer for the first time.
	startTimeout = 8 * time.Second
	// overtime is the time after a function's timeout until the executor is considered stuck.
	overtime = 30 * time.Second
	// socketRoom is the maximum length that the path of a socket adds to the directory for
	// temporary files. The kernel limits socket paths to 104 bytes or little more.
	socketRoom = 80
	// maxMessage bounds one message of an executor, which go-plugin does not do. Lists are sent in
	// parts of 1 MiB.
	maxMessage = 16 << 20
)

// A Program describes an executor to start.
type Program struct {
	// Kind is the name in messages. Without a Path, krmflow itself is started as "krmflow executor
	// KIND".
	Kind string
	// Path is a third-party program, and Digest is its required digest.
	Path   string
	Digest krm.Digest
	// Env is the complete environment, NAME=value, in addition to the variables of go-plugin.
	// Nothing is inherited.
	Env []string
	// Linger is the time in which processes left by the executor may end by themselves. It is for
	// executors that leave a process to clean up after a crash. Without it, remaining processes are
	// killed immediately.
	Linger time.Duration
	// Patience is the time limit for preparing one function, 0 for [DefaultPatience].
	Patience time.Duration
}

// DefaultPatience is long enough to pull a large image.
const DefaultPatience = 15 * time.Minute

// A Process is an executor in a separate process. Its methods return the errors of the executor
// or report a crash. It is safe for concurrent use.
type Process struct {
	kind   string
	limit  time.Duration // for Prepare
	run    *run
	client *plugin.Client
	rpc    wire.ExecutorClient
	dir    string
	held   *os.File // locks dir, so that no other run removes it as abandoned
	close  func() error
}

var _ Executor = (*Process)(nil)

// Start starts an executor and waits until it answers. The caller must call Close to stop it.
func Start(ctx context.Context, p Program) (_ *Process, err error) {
	proc.Adopt()
	dir, err := NewRunDir()
	if err != nil {
		return nil, fmt.Errorf("executor %s: %w", p.Kind, err)
	}
	x := &Process{kind: p.Kind, limit: cmp.Or(p.Patience, DefaultPatience), dir: dir, held: hold(dir), run: newRun(p, dir)}
	x.close = sync.OnceValue(x.end)
	defer func() {
		if err != nil {
			x.close()
		}
	}()
	if x.run.sealed, err = p.seal(); err != nil {
		return nil, err
	}
	x.client = plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  handshake,
		Plugins:          plugin.PluginSet{service: &grpcPlugin{}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		RunnerFunc:       x.run.bind,
		AutoMTLS:         true,
		SkipHostEnv:      true,
		StartTimeout:     startTimeout + grace, // not reached: connect has a shorter timeout
		Logger:           hclog.NewNullLogger(),
		Stderr:           &x.run.stderr,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: dir},
	})
	if err = x.connect(ctx); err == nil {
		return x, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	x.run.kill()
	code := Invalid
	if p.Path == "" {
		code = Internal
	}
	return nil, x.run.describe(code, err)
}

// connect waits for the executor to answer, up to startTimeout, and kills it if it does not.
func (x *Process) connect(ctx context.Context) error {
	slow := fmt.Errorf("no answer within %v", startTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, slow)
	defer cancel()
	defer context.AfterFunc(ctx, x.run.kill)()
	conn, err := x.client.Client()
	var dispensed any
	if err == nil {
		dispensed, err = conn.Dispense(service)
	}
	if err == nil {
		err = conn.Ping()
	}
	switch {
	case context.Cause(ctx) == slow:
		return slow
	case err != nil:
		return err
	}
	x.rpc = dispensed.(wire.ExecutorClient)
	return nil
}

// runBase returns the parent of run directories: the directory for temporary files, unless the
// path of a socket there would be too long. It is absolute, because executors have different
// working directories.
func runBase() string {
	base := os.TempDir()
	if abs, err := filepath.Abs(base); err == nil {
		base = abs
	}
	if len(base)+socketRoom > 104 && runtime.GOOS != "windows" {
		return "/tmp"
	}
	return base
}

// NewRunDir creates a private directory for the temporary files of this run. Its path is short
// enough for sockets in it. NewRunDir also removes the directories of runs that were killed.
func NewRunDir() (string, error) {
	base := runBase()
	sweep(base)
	return os.MkdirTemp(base, fmt.Sprintf("%s%d-", runPrefix, os.Getpid()))
}

// sweep removes the directories of runs that were killed together with their executors.
func sweep(base string) {
	list, _ := filepath.Glob(filepath.Join(base, runPrefix+"*"))
	for _, dir := range list {
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(dir), runPrefix+"%d-", &pid); err == nil && pid != os.Getpid() && !alive(pid) &&
			private(dir) && !held(dir) {
			dirs.RemoveAll(dir)
		}
	}
}

// Prepare implements [Executor].
func (x *Process) Prepare(ctx context.Context, f function.Function) error {
	stuck := &Error{Code: Timeout, Msg: fmt.Sprintf("%s: executor %s did not prepare it within %v", f.Name, x.kind, x.limit)}
	ctx, cancel := context.WithTimeoutCause(ctx, x.limit, stuck)
	defer cancel()
	resp, err := x.rpc.Prepare(ctx, &wire.PrepareRequest{Function: toWire(f)}, grpc.MaxCallRecvMsgSize(maxMessage))
	if err != nil {
		return x.failure(ctx, f, err)
	}
	return x.refusal(ctx, f, resp.GetError())
}

// Execute implements [Executor].
func (x *Process) Execute(ctx context.Context, f function.Function, list yaml.Chunks) (Output, error) {
	f, remove, err := x.withTree(f)
	if err != nil {
		return Output{}, &Error{Code: Failed, Msg: f.Name + ": " + err.Error()}
	}
	defer remove()
	limits := Bounded(f.Limits)
	limit := limits.Timeout + overtime
	stuck := &Error{Code: Timeout, Msg: fmt.Sprintf("%s: executor %s did not answer within %v", f.Name, x.kind, limit)}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, stuck)
	defer cancel()
	stream, err := x.rpc.Execute(ctx, grpc.MaxCallRecvMsgSize(maxMessage))
	if err != nil {
		return Output{}, x.failure(ctx, f, err)
	}
	err = stream.Send(&wire.ExecuteRequest{Function: toWire(f)})
	for part := range parts(list) {
		if err == nil {
			err = stream.Send(&wire.ExecuteRequest{List: part})
		}
	}
	if err != nil && !errors.Is(err, io.EOF) { // after EOF, the answer contains the reason
		return Output{}, x.failure(ctx, f, err)
	}
	stream.CloseSend()
	var out Output
	for size := int64(0); ; {
		resp, err := stream.Recv()
		if err != nil {
			return Output{}, x.failure(ctx, f, err)
		}
		// A third-party executor may ignore the limits.
		if size += int64(len(resp.GetList())); size > limits.Output {
			e := &Error{Code: Limit, Msg: fmt.Sprintf("%s: executor %s answered with more than %s, stopped", f.Name, x.kind,
				diag.Size(limits.Output))}
			return Output{}, e.Hint("--max-fn-output sets how much a function may write")
		}
		out.List = keep(out.List, resp.GetList())
		if resp.GetDone() {
			out.Stderr = resp.GetStderr()[max(0, len(resp.GetStderr())-StderrTail):]
			return out, x.refusal(ctx, f, resp.GetError())
		}
	}
}

// refusal returns the executor's error. If the executor only reports the cancellation of ctx,
// the result is ctx's cause. For an internal error it adds the standard error of the executor.
func (x *Process) refusal(ctx context.Context, f function.Function, answer *wire.Error) error {
	err := errFromWire(answer)
	var e *Error
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, context.Canceled):
		return &Error{Code: Internal, Msg: fmt.Sprintf("%s: executor %s reports that the call was cancelled, but krmflow did not cancel it",
			f.Name, x.kind)}
	case errors.As(err, &e) && e.Code == Internal:
		x.run.said(e)
	}
	return err
}

// failure returns the reason why a call has no answer.
func (x *Process) failure(ctx context.Context, f function.Function, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if c := status.Code(err); c == codes.Unavailable || c == codes.Canceled || c == codes.DeadlineExceeded || errors.Is(err, io.EOF) {
		select {
		case <-x.run.done:
			return x.run.crashed(f)
		case <-ctx.Done(): // the executor or gRPC may notice the end of ctx first
			return context.Cause(ctx)
		case <-time.After(grace):
		}
	}
	return &Error{Code: Internal, Msg: fmt.Sprintf("%s: executor %s: %s", f.Name, x.kind, status.Convert(err).Message())}
}

// Close stops the executor and everything that it runs, and removes its files. It may be called
// at any time and more than once.
func (x *Process) Close() error { return x.close() }

func (x *Process) end() error {
	x.run.stop()
	if x.client != nil {
		x.client.Kill()
	}
	x.run.release()
	err := dirs.RemoveAll(x.dir)
	x.held.Close() // last, when there is nothing left for sweep to remove
	return err
}

// bind is called by go-plugin to start the executor. cmd contains the environment that the
// executor needs.
func (r *run) bind(_ hclog.Logger, cmd *execCmd, _ string) (runner.Runner, error) {
	r.env = append(r.env, cmd.Env...)
	return r, nil
}
