package main

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
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

// The heap may grow to 20 MB before anything is collected, which most runs never reach. In those that do, collections come
// earlier from then on: the peak of large runs counts more than the little time that they take. Before that is noticed, and near the
// limit of a run, they come as soon as it takes to tell one that goes too far.
const (
	collectSeldom = 500 // per cent
	collectOften  = 100
	seldomMax     = 64 << 20 // bytes
)

// watch ends the run with cancel when it takes more than the limits allow. Memory grows fast, so it looks often.
func (u *usage) watch(cancel context.CancelCauseFunc) {
	debug.SetMemoryLimit(seldomMax)
	go func() {
		seldom, aimed := true, int64(0)
		for range time.Tick(20 * time.Millisecond) {
			live, collections := heap()
			if seldom && collections > 0 {
				debug.SetGCPercent(collectOften)
				seldom = false
			}
			if limit := u.memory(); !seldom && limit > aimed+aimed/8 {
				debug.SetMemoryLimit(limit + limit/4)
				aimed = limit
			}
			if err := cmp.Or(u.checkCPU(), u.checkMemory(live)); err != nil {
				cancel(err)
				return
			}
		}
	}()
}

// heap returns how many bytes the last garbage collection found in use, and how many collections there were.
func heap() (live, collections uint64) {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(s)
	return s[0].Value.Uint64(), s[1].Value.Uint64()
}

func (u *usage) checkCPU() error {
	input := u.input.Used()
	limit := perMiB(max(1<<20, input), cpuPerInput) + perMiB(u.made.Load(), cpuPerMade)
	if cpuTime() <= limit {
		return nil
	}
	return diag.Limitf("stopped: the run takes more than %v of processor time, although its input has %s", limit.Round(time.Second), diag.Size(rounded(input))).
		Hint(endless)
}

// perMiB returns the time for n bytes, so much for each MiB. A product of integers would be too large for a few GiB.
func perMiB(n int64, each time.Duration) time.Duration {
	return time.Duration(float64(n) / (1 << 20) * float64(each))
}

// memory returns how many bytes may be in use.
func (u *usage) memory() int64 {
	return liveBase + livePerByte*u.input.Used() + u.made.Load()/livePerMade
}

func (u *usage) checkMemory(live uint64) error {
	limit := u.memory()
	if live <= uint64(limit) {
		return nil
	}
	return diag.Limitf("stopped: the run takes more than %s of memory, although its input has %s", diag.Size(limit>>20<<20), diag.Size(rounded(u.input.Used()))).
		Hint(endless)
}

const endless = "this step, or one before it, copies, repeats or searches something very often"

// rounded returns n in full KiB, or MiB if it has one.
func rounded(n int64) int64 {
	if n < 1<<20 {
		return (n + 1023) >> 10 << 10
	}
	return n >> 20 << 20
}

// counted returns executors whose answers count as input of the run.
func (a *app) counted(get func(function.Runtime) (scheduler.Executor, error)) func(function.Runtime) (scheduler.Executor, error) {
	return func(r function.Runtime) (scheduler.Executor, error) {
		x, err := get(r)
		return countedExecutor{x, a.used.input}, err
	}
}

type countedExecutor struct {
	scheduler.Executor
	input *loaders.Budget
}

// Execute counts what the function may answer until its answer is there.
func (x countedExecutor) Execute(ctx context.Context, f function.Function, list yaml.Chunks) (function.Output, error) {
	most := min(f.Limits.Output, 1<<40) // more than any answer, and little enough to be added for all jobs
	x.input.Add(most)
	out, err := x.Executor.Execute(ctx, f, list)
	x.input.Add(int64(out.List.Len()) - most)
	return out, err
}

// doing is what a command is doing, for the message when it is ended. It is safe for concurrent use.
type doing struct {
	mu      sync.Mutex
	last    graph.Origin // of the last step that was planned or begun, of those that have a place
	running []*graph.Node
}

func (d *doing) plan(at graph.Origin) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reach(at)
}

func (d *doing) begin(n *graph.Node) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reach(n.Origin)
	d.running = append(d.running, n)
}

func (d *doing) reach(at graph.Origin) {
	if at.Source != nil {
		d.last = at
	}
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
	if !errors.Is(cause, diag.ErrLimit) {
		for _, n := range d.running {
			cause = errors.Join(cause, &scheduler.NodeError{Node: n, Err: cause})
		}
		return cause
	}
	for _, n := range d.running {
		if n.Origin.Source != nil {
			return stoppedAt(n.Origin, cause)
		}
	}
	return stoppedAt(d.last, cause) // between two steps nothing is running
}

// stoppedAt returns the error cause at a place.
func stoppedAt(at graph.Origin, cause error) error {
	if at.Source == nil {
		return cause
	}
	e := *diag.AsError(cause)
	e.Field = at.Field()
	if len(at.Source.Data) < 64<<10 {
		e.Pos = at.Pos()
	} else {
		e.Pos = at.Source.LocateQuickly(at.Path...) // to locate a place in this may be what takes so much
	}
	return &e
}
