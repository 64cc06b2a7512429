package executors

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/krmflow/krmflow/executors/internal/dirs"
	"github.com/krmflow/krmflow/executors/internal/proc"
	"github.com/krmflow/krmflow/executors/internal/wire"
	"github.com/krmflow/krmflow/krm/function"
	"google.golang.org/grpc"
)

// handshake is what a host and an executor must agree on before they talk.
var handshake = plugin.HandshakeConfig{
	ProtocolVersion:  1,
	MagicCookieKey:   "KRMFLOW_EXECUTOR",
	MagicCookieValue: "5d0e2c3f-executors-v1",
}

const (
	service   = "executor"     // the name that the service is dispensed under
	runPrefix = "krmflow-run-" // how the names of run directories begin
	grace     = time.Second    // how long an executor that was told to end may take
)

// Serve makes this process an executor of functions of the given kind, for the host that has started it: see [Start]. It
// returns when the host has no more use for it, after ex, if it is an [io.Closer], was closed. If the host goes away
// without a word, all calls are cancelled and the process ends, with all that it has started, unless an io.Closer sees to that.
func Serve(kind string, ex Executor) {
	proc.Adopt()
	// A host that is gone does not read: that must not end this process before it has cleaned up. Ignoring the signal would
	// pass that on to functions.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	// The kernel says more than once that the host is gone: nobody may take the first time for the last.
	signal.Reset(syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{kind: kind, ex: ex, ctx: ctx, stderr: os.Stderr}
	end := sync.OnceFunc(func() {
		cancel()
		s.close()
	})
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go func() {
		hostGone(term)
		time.AfterFunc(grace, func() { // a busy container engine may take longer
			removeRunDir()
			os.Exit(1)
		})
		end()
		if _, ok := ex.(io.Closer); !ok {
			proc.KillAll(func(int) bool { return false })
		}
		removeRunDir()
		os.Exit(0)
	}()
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: handshake,
		Plugins:         plugin.PluginSet{service: &grpcPlugin{server: s}},
		Logger:          hclog.New(&hclog.LoggerOptions{Level: hclog.Error, Output: os.Stderr}),
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(math.MaxInt32), grpc.MaxSendMsgSize(math.MaxInt32))...)
		},
	})
	end()
}

// hostGone returns when the pipe that the host holds has ended, or when somebody asks this process to end.
func hostGone(term <-chan os.Signal) {
	eof := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(eof)
	}()
	select {
	case <-term:
	case <-eof:
	}
}

// removeRunDir removes what the host would have removed.
func removeRunDir() {
	if dir := os.Getenv("TMPDIR"); strings.HasPrefix(filepath.Base(dir), runPrefix) {
		dirs.RemoveAll(dir)
	}
}

// A server answers the calls of the host.
type server struct {
	wire.UnimplementedExecutorServer
	kind string
	ex   Executor
	ctx  context.Context // ends when this process should
	// stderr is this process's own: go-plugin takes os.Stderr for itself.
	stderr io.Writer

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// call runs one method of the executor in a context that ends with the process's. A panic is an error of the call. What
// the executor was working on may be secret, so the error does not tell: like that of a crash, value and stack go to stderr,
// which the host keeps to itself.
func (s *server) call(ctx context.Context, f function.Function, method func(context.Context) error) (err error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return context.Canceled
	}
	s.running.Add(1)
	s.mu.Unlock()
	defer s.running.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(s.stderr, "panic: %v\n\n%s", p, debug.Stack())
			err = &Error{Code: Internal, Msg: fmt.Sprintf("%s: executor %s panicked", f.Name, s.kind)}
		}
	}()
	return method(ctx)
}

// close waits for the calls, which have been cancelled, and closes the executor.
func (s *server) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.running.Wait()
	if c, ok := s.ex.(io.Closer); ok {
		c.Close()
	}
}

func (s *server) Prepare(ctx context.Context, req *wire.PrepareRequest) (*wire.PrepareResponse, error) {
	f := fromWire(req.GetFunction())
	err := s.call(ctx, f, func(ctx context.Context) error { return s.ex.Prepare(ctx, f) })
	return &wire.PrepareResponse{Error: errToWire(err)}, nil
}

func (s *server) Execute(stream wire.Executor_ExecuteServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	list := keep(nil, first.GetList())
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		list = keep(list, part.GetList())
	}
	var out Output
	f := fromWire(first.GetFunction())
	err = s.call(stream.Context(), f, func(ctx context.Context) (err error) {
		out, err = s.ex.Execute(ctx, f, list)
		return err
	})
	for part := range parts(out.List) { // of a function that failed, too: its results say why
		if err := stream.Send(&wire.ExecuteResponse{List: part}); err != nil {
			return err
		}
	}
	out.Stderr = out.Stderr[max(0, len(out.Stderr)-StderrTail):]
	return stream.Send(&wire.ExecuteResponse{Stderr: out.Stderr, Error: errToWire(err), Done: true})
}

// A grpcPlugin is what go-plugin knows of an executor, on both sides.
type grpcPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	server *server // on the executor's side
}

func (p *grpcPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	wire.RegisterExecutorServer(s, p.server)
	return nil
}

func (p *grpcPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return wire.NewExecutorClient(conn), nil
}
