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

// handshake contains the values that host and executor must share.
var handshake = plugin.HandshakeConfig{
	ProtocolVersion:  1,
	MagicCookieKey:   "KRMFLOW_EXECUTOR",
	MagicCookieValue: "5d0e2c3f-executors-v1",
}

const (
	service   = "executor"     // name of the service in go-plugin
	runPrefix = "krmflow-run-" // prefix of run directories
	grace     = time.Second    // time for an executor to exit
)

// Serve makes this process an executor for functions of the given kind, called by the host that
// started it: see [Start]. It returns when the host has ended the connection, and closes ex
// first if ex is an [io.Closer].
//
// If the host disappears, Serve cancels all calls and exits the process. It kills all processes
// started by this one, unless ex is an io.Closer, which has to do so itself.
func Serve(kind string, ex Executor) {
	proc.Adopt()
	// A host that has disappeared no longer reads. SIGPIPE must not end this process before it has
	// cleaned up. Ignoring the signal would not do, because functions inherit ignored signals.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	// The kernel may send SIGTERM several times when the host disappears. Remove other handlers,
	// which might exit on the second one.
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
		time.AfterFunc(grace, func() { // cleaning up may be slow, for instance with a busy container engine
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

// hostGone returns when the host has closed the pipe or this process is asked to terminate.
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

// removeRunDir removes the run directory, which the host can no longer do.
func removeRunDir() {
	if dir := os.Getenv("TMPDIR"); strings.HasPrefix(filepath.Base(dir), runPrefix) {
		dirs.RemoveAll(dir)
	}
}

// A server handles the calls of the host.
type server struct {
	wire.UnimplementedExecutorServer
	kind string
	ex   Executor
	ctx  context.Context // ends when this process should exit
	// stderr is the standard error of this process. go-plugin replaces os.Stderr.
	stderr io.Writer

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// call runs a method of the executor with a context that also ends with s.ctx. A panic becomes
// an error of the call. The error does not contain the value of the panic, which may be secret.
// Like the output of a crash, value and stack are written to the standard error, which the host
// keeps private.
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

// close waits for the calls, which must have been cancelled, and closes the executor.
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
	// Send the list of a failed function also, because its results may contain the reason.
	for part := range parts(out.List) {
		if err := stream.Send(&wire.ExecuteResponse{List: part}); err != nil {
			return err
		}
	}
	out.Stderr = out.Stderr[max(0, len(out.Stderr)-StderrTail):]
	return stream.Send(&wire.ExecuteResponse{Stderr: out.Stderr, Error: errToWire(err), Done: true})
}

// A grpcPlugin connects an executor to go-plugin, on both sides.
type grpcPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	server *server // nil in the host
}

func (p *grpcPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	wire.RegisterExecutorServer(s, p.server)
	return nil
}

func (p *grpcPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return wire.NewExecutorClient(conn), nil
}
