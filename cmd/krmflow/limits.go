package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/scheduler"
)

// What a run may take, by the size of its input and of what it makes. Trees take some hundredths of it: the limits are for those
// that ask for endless work in few words, whatever these are.
const (
	cpuPerInput = 4 * time.Second        // of processor time for each MiB; for less than 1 MiB as for 1 MiB
	cpuPerMade  = 200 * time.Millisecond // for each MiB
	liveBase    = 100 << 20              // bytes of memory in use, besides
	livePerByte = 8                      // for each byte of input
	livePerMade = 4                      // bytes for which there is one
)

// usage is what a run has taken in and made so far. It is safe for concurrent use.
type usage struct {
	input *loaders.Budget
	made  atomic.Int64 // bytes of final lists
}

// limit makes a run end when it takes too much, from its planning on.
func (a *app) limit(o *planner.Options) {
	a.used.input = &loaders.Budget{Max: a.maxInput}
	o.Input, o.Progress = a.used.input, a.doing.plan
	a.used.watch(a.stop)
}

// watch ends the run with cancel when it takes more than the limits allow.
func (u *usage) watch(cancel context.CancelCauseFunc) {
	const every = 250 * time.Millisecond
	var check func()
	check = func() {
		if err := u.checkCPU(); err != nil {
			cancel(err)
			return
		}
		time.AfterFunc(every, check)
	}
	time.AfterFunc(every, check)
	afterCollections(func() {
		if err := u.checkMemory(); err != nil {
			cancel(err)
		}
	})
}

func (u *usage) checkCPU() error {
	input := u.input.Used()
	limit := (time.Duration(max(1<<20, input))*cpuPerInput + time.Duration(u.made.Load())*cpuPerMade) >> 20
	if cpuTime() <= limit {
		return nil
	}
	return krm.Limitf("stopped: the run takes more than %v of processor time, although its input has %s", limit.Round(time.Second), size(input)).
		Hint(endless)
}

func (u *usage) checkMemory() error {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	input := u.input.Used()
	limit := uint64(liveBase + livePerByte*input + u.made.Load()/livePerMade)
	if live[0].Value.Kind() != metrics.KindUint64 || live[0].Value.Uint64() <= limit {
		return nil
	}
	return krm.Limitf("stopped: the run takes more than %d MiB of memory, although its input has %s", limit>>20, size(input)).
		Hint(endless)
}

const endless = "this step, or one before it, copies, repeats or searches something very often"

func size(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", (n+1023)>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// afterCollections calls f after each garbage collection.
func afterCollections(f func()) {
	runtime.SetFinalizer(new([64]byte), func(*[64]byte) {
		f()
		afterCollections(f)
	})
}

// counted returns executors whose answers count as input of the run.
func (a *app) counted(get func(krm.Runtime) (scheduler.Executor, error)) func(krm.Runtime) (scheduler.Executor, error) {
	return func(r krm.Runtime) (scheduler.Executor, error) {
		x, err := get(r)
		return countedExecutor{x, a.used.input}, err
	}
}

type countedExecutor struct {
	scheduler.Executor
	input *loaders.Budget
}

// Execute counts what the function may answer until its answer is there.
func (x countedExecutor) Execute(ctx context.Context, f krm.Function, list krm.Chunks) (krm.FunctionOutput, error) {
	x.input.Add(f.Limits.Output)
	out, err := x.Executor.Execute(ctx, f, list)
	x.input.Add(int64(out.List.Len()) - f.Limits.Output)
	return out, err
}

// doing is what a command is doing, for the message when it is ended. It is safe for concurrent use.
type doing struct {
	mu      sync.Mutex
	planned graph.Origin // of the last step that was planned
	running []*graph.Node
}

func (d *doing) plan(at graph.Origin) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.planned = at
}

func (d *doing) begin(n *graph.Node) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running = append(d.running, n)
}

func (d *doing) end(n *graph.Node) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, r := range d.running {
		if r == n {
			d.running = append(d.running[:i], d.running[i+1:]...)
			break
		}
	}
}

// stopped returns why a command was ended, with what it was doing.
func (d *doing) stopped(cause error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case !errors.Is(cause, krm.ErrLimit):
		for _, n := range d.running {
			cause = errors.Join(cause, &scheduler.NodeError{Node: n, Err: cause})
		}
		return cause
	case len(d.running) > 0:
		return stoppedAt(d.running[0].Origin, cause)
	}
	return stoppedAt(d.planned, cause)
}

// stoppedAt returns the error cause at a place.
func stoppedAt(at graph.Origin, cause error) error {
	if at.Source == nil {
		return cause
	}
	e := *krm.AsError(cause)
	e.Field = at.Field()
	if len(at.Source.Data) < 64<<10 {
		e.Pos = at.Pos()
	} else {
		e.Pos = at.Source.LocateQuickly(at.Path...) // to locate a place in this may be what takes so much
	}
	return &e
}
