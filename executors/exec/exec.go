// Package exec runs functions that are programs.
//
// The bytes that were hashed are the bytes that run. [Executor.Prepare] reads a program once,
// from a path below its root, compares the digest and keeps the content in a place that no other
// process can change. A call runs that content: an ELF program from a sealed anonymous file, a
// script from a copy made for the call. Hashing the file and then executing its path would leave
// a window in which it can be replaced.
//
// On Linux a call is isolated. The sandbox process gives up its privileges and then executes the
// program. "make build" embeds a small program for it, which runs from sealed memory. Without that
// program, the process is this binary: every binary that imports this package is a sandbox process
// when it is started as "krmflow executor sandbox". [Probe] reports the isolation that the machine
// supports. If it is insufficient, functions are denied unless they may run unsandboxed.
package exec

import (
	"context"
	"os"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/internal/proc"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// An Executor runs programs. Use [New] to create one.
type Executor struct {
	// Wrapper is the path of krmflow for scripts that call "krmflow wrap" or "config run wrap".
	// They find it on PATH under both names. If it is empty, they do not. It must be set before the
	// first call.
	Wrapper string

	isolation func() Isolation
	held      heldProgram

	mu       sync.Mutex
	programs map[key]*entry
	mounts   string // see mountPoint
	calls    children
}

var _ executors.Executor = (*Executor)(nil)

// A key identifies the program of a function.
type key struct {
	root, program, bin string
	digest             krm.Digest
}

// An entry is a program that is loaded once.
type entry struct {
	once sync.Once
	p    *program
	err  error
}

// New returns an executor. It makes this process the parent of orphans, see prctl(2), so a
// process must not have more than one.
func New() *Executor {
	proc.Adopt()
	return &Executor{isolation: sync.OnceValue(Probe), programs: map[key]*entry{}}
}

// NewHeld returns an executor that can run the program held by its parent process without
// reading the file again. variable is the value of [executors.HeldVariable]; if it is empty, no
// program is held.
func NewHeld(variable string) *Executor {
	x := New()
	text, place, _ := strings.Cut(variable, "=")
	if digest, err := krm.ParseDigest(text); err == nil {
		x.held = heldProgram{digest, place}
	}
	return x
}

// Prepare implements [executors.Executor].
func (x *Executor) Prepare(ctx context.Context, f function.Function) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !f.Unsandboxed && !x.isolation().Enough() {
		return named(f, refuse(executors.Denied, "this machine cannot isolate a program: %s", x.isolation().Missing).
			Hint("to run it with all your rights, add --allow-unsandboxed"))
	}
	_, err := x.program(f)
	return err
}

// program returns f's program, read and verified.
func (x *Executor) program(f function.Function) (*program, error) {
	k := key{f.Root, f.Program, f.Bin, f.Digest}
	x.mu.Lock()
	e := x.programs[k]
	if e == nil {
		e = &entry{}
		x.programs[k] = e
	}
	x.mu.Unlock()
	e.once.Do(func() { e.p, e.err = load(f, x.held) })
	if e.err != nil {
		return nil, named(f, e.err)
	}
	return e.p, nil
}

// Execute implements [executors.Executor].
func (x *Executor) Execute(ctx context.Context, f function.Function, list yaml.Chunks) (executors.Output, error) {
	if err := x.Prepare(ctx, f); err != nil {
		return executors.Output{}, err
	}
	p, err := x.program(f)
	if err != nil {
		return executors.Output{}, err
	}
	f.Limits = executors.Bounded(f.Limits)
	if f.Dir == "" {
		f.Dir = f.Root
	}
	if info, err := os.Stat(f.Dir); err != nil || !info.IsDir() {
		return executors.Output{}, named(f, invalid("%s is not a directory to run in", f.Dir))
	}
	c, err := newCall(x, f, p)
	if err != nil {
		return executors.Output{}, named(f, err)
	}
	defer c.close()
	return c.run(ctx, list)
}

// mountPoint returns an empty directory where sandboxes mount the file systems of their functions.
// All calls share it, because each mounts in a separate namespace. A directory for each call would
// cost a tenth of its time: a file system such as ext4 examines every recently deleted directory
// before it creates one.
func (x *Executor) mountPoint() (dir string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.mounts == "" {
		x.mounts, err = os.MkdirTemp("", prefix)
	}
	return x.mounts, err
}

// Close kills the processes left by calls and releases the programs. No call may be running.
func (x *Executor) Close() error {
	x.calls.sweep(0)
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range x.programs {
		if e.p != nil {
			e.p.Close()
		}
	}
	clear(x.programs)
	if x.mounts != "" {
		os.Remove(x.mounts)
		x.mounts = ""
	}
	return nil
}

// refuse returns the reason why a program cannot run, without the name of the function: see
// [named].
func refuse(code executors.Code, format string, args ...any) *executors.Error {
	return function.Wrap(code, diag.Errorf(diag.Pos{}, "", format, args...))
}

func invalid(format string, args ...any) *executors.Error {
	return refuse(executors.Invalid, format, args...)
}

// named returns err as an error about f.
func named(f function.Function, err error) error {
	e, ok := err.(*executors.Error)
	if !ok {
		e = function.Wrap(executors.Failed, err)
	}
	return &executors.Error{Code: e.Code, Msg: f.Name + ": " + e.Msg, Hints: e.Hints}
}
