// Package exec runs functions that are programs.
//
// The bytes that were hashed are the bytes that run: [Executor.Prepare] reads a program once, below its root, compares the
// digest and keeps the content where nobody can change it. A call runs from there: an ELF program from a sealed anonymous
// file, a script from a copy that is made for the call.
//
// A call on Linux is isolated: its program is started by a small process of this binary that gives up what the function must
// not have. Any binary that imports this package is one when it is started as "krmflow executor sandbox". What this machine
// can isolate is [Probe]'s answer; where it is too little a function is refused unless it may run unsandboxed.
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

// An Executor runs programs. Make one with [New].
type Executor struct {
	// Wrapper is the path of krmflow, which scripts that call "krmflow wrap" or "config run wrap" find on PATH by both names; empty for none. It
	// must be set before the first call.
	Wrapper string

	isolation func() Isolation
	held      heldProgram

	mu       sync.Mutex
	programs map[key]*entry
	calls    children
}

var _ executors.Executor = (*Executor)(nil)

// A key says which program a function runs.
type key struct {
	root, program, bin string
	digest             krm.Digest
}

// An entry is a program that is being read, or was.
type entry struct {
	once sync.Once
	p    *program
	err  error
}

// New returns an executor. It makes this process the parent of orphans, see prctl(2): have one per process.
func New() *Executor {
	proc.Adopt()
	return &Executor{isolation: sync.OnceValue(Probe), programs: map[key]*entry{}}
}

// NewHeld returns an executor that runs the program which the process that has started this one holds, as [executors.HeldVariable] says, without
// reading its file again. An empty text names none.
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
			Hint("--allow-unsandboxed runs it with all rights that you have"))
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
		return executors.Output{}, named(f, invalid("%s is no directory to run in", f.Dir))
	}
	c, err := newCall(x, f, p)
	if err != nil {
		return executors.Output{}, named(f, err)
	}
	defer c.close()
	return c.run(ctx, list)
}

// Close ends what calls have left behind. No call may be running.
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
	return nil
}

// refuse returns why a program cannot run, still without the function's name: see [named].
func refuse(code executors.Code, format string, args ...any) *executors.Error {
	return function.Wrap(code, diag.Errorf(diag.Pos{}, "", format, args...))
}

func invalid(format string, args ...any) *executors.Error {
	return refuse(executors.Invalid, format, args...)
}

// named returns err as one of f's.
func named(f function.Function, err error) error {
	e, ok := err.(*executors.Error)
	if !ok {
		e = function.Wrap(executors.Failed, err)
	}
	return &executors.Error{Code: e.Code, Msg: f.Name + ": " + e.Msg, Hints: e.Hints}
}
