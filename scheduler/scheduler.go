// Package scheduler runs a graph. It passes lists from node to node, limits the number of
// concurrent nodes and functions, frees each list after its last use, and reports progress.
package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/eval"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// An Event reports the end of a node.
type Event struct {
	Node *graph.Node
	// Resources is the length of the resulting list.
	Resources int
	// Duration is the time from Start to End.
	Duration time.Duration
	// Start and End are the times when the node started, with its inputs ready, and when its list
	// was complete.
	Start, End time.Time
	// Called and Answered are the times when a function was called and when it answered. They are
	// zero for nodes that are not calls.
	Called, Answered time.Time
	// Taken and Made are the approximate sizes in bytes of the input lists and of the resulting
	// list.
	Taken, Made int
	// Cached is true for a call that was replaced by the answer of an earlier run.
	Cached bool
	Err    error
}

// DefaultCalls is the default number of concurrent functions. Functions run in other processes
// and often wait, so it does not depend on the number of cores.
const DefaultCalls = 8

// Options configure a run. The functions must be safe for concurrent use; nil functions are not
// called.
type Options struct {
	// Jobs is the maximum number of concurrent nodes, at least 1. A call does not occupy a job
	// while its function runs.
	Jobs int
	// Calls is the maximum number of concurrent functions, 0 for [DefaultCalls].
	Calls int
	// Limit returns the current limit for nodes or functions, given their maximum. A result below 1
	// means 1. It is called before each node and must be fast.
	Limit func(all int) int
	// KeepGoing continues after a failure with all nodes that do not depend on a failed one.
	KeepGoing bool
	// Several makes errors name their roots even if the graph has a single root, because the user
	// named several.
	Several bool
	// Pure omits functions and the nodes that depend on them. Nothing is fetched or started, and
	// Executor is not called.
	Pure bool
	// Begin is called before each node.
	Begin func(*graph.Node)
	// Event is called after each node.
	Event func(Event)
	// Made is called with the list of each successful node. With Made set no list is modified after
	// its node, so the run needs more memory.
	Made func(n *graph.Node, list *krm.List)
	// Seen is called with the list of each successful node, before a different node gets the list.
	// The function must not retain the list.
	Seen func(n *graph.Node, list *krm.List)
	// Warn is called for probable mistakes of the user. The warning is constructed only when the
	// function warning is called.
	Warn func(n *graph.Node, warning func() *diag.Error)
	// Executor returns the executor for functions of a runtime. It is called only if a function
	// must run.
	Executor func(function.Runtime) (Executor, error)
	// Call is called with the report of each function.
	Call func(CallReport)
	// Reuse configures the reuse of answers from earlier runs.
	Reuse Reuse
	// AllowErrorResults accepts results with severity error from functions that exit successfully.
	AllowErrorResults bool
	// Root is called with each root's final list as soon as it is complete. An error is returned
	// from [Run] as a [RootError].
	Root func(r graph.Root, list *krm.List) error
}

// An Executor obtains and runs functions. Package executors documents this interface. Its
// methods are called concurrently, even with one job; Options.Calls limits the concurrent calls
// of Execute.
type Executor interface {
	// Prepare obtains and verifies the program or image of f without running it.
	Prepare(ctx context.Context, f function.Function) error
	// Execute runs f once with the input list, a ResourceList.
	Execute(ctx context.Context, f function.Function, list yaml.Chunks) (function.Output, error)
}

// A CallReport is the output of a function besides its list.
type CallReport struct {
	Node     *graph.Node
	Results  []function.Result
	Warnings []string
	// Removed lists the resources in the function's input that its output does not contain.
	Removed []krm.ID
	// Stderr is the end of the function's standard error, unmodified.
	Stderr []byte
	// Cached is true if the report comes from an earlier run whose answer replaced the call.
	Cached bool
	// Failed is true if the call failed. Stderr may contain the reason.
	Failed bool
	// Hide contains the values of Secrets in the input and output of the function. Its messages may
	// contain them.
	Hide *secret.Set
}

// Shown returns a copy of the report with the texts of Hide hidden.
func (c CallReport) Shown() CallReport {
	c.Results, c.Warnings = slices.Clone(c.Results), slices.Clone(c.Warnings)
	for i := range c.Results {
		x := &c.Results[i]
		x.Message = c.Hide.Hide(x.Message)
		if f := x.Field; f != nil {
			x.Field = &function.ResultField{Path: f.Path, CurrentValue: c.Hide.Hide(f.CurrentValue),
				ProposedValue: c.Hide.Hide(f.ProposedValue)}
		}
	}
	for i, w := range c.Warnings {
		c.Warnings[i] = c.Hide.Hide(w)
	}
	if text := c.Hide.Hide(string(c.Stderr)); text != string(c.Stderr) {
		c.Stderr = []byte(text)
	}
	return c
}

// A NodeError is the failure of a node.
type NodeError struct {
	Node *graph.Node
	Err  error
	// Roots lists the roots that fail because of the node. It is empty if the position of the error
	// names the root.
	Roots []string
}

// At returns the error at its own position or, if it has none, at the node's configuration.
func (e *NodeError) At() *diag.Error {
	at := *diag.AsError(e.Err)
	if at.Pos.File == "" {
		at.Pos = e.Node.Origin.PosOf(e.Err)
		if i := e.Node.Item; i != nil {
			at.Msg = fmt.Sprintf("%s/%s, item %d of %d: %s", i.Kind, i.Name, i.Place, i.Of, at.Msg)
		}
		if f := e.field(); f != "" && at.Field != "" {
			at.Field = f + ": " + at.Field
		} else if f != "" {
			at.Field = f
		}
	}
	if len(e.Roots) > 0 {
		at.Hints = append(slices.Clip(at.Hints), "needed by "+diag.Some(e.Roots))
	}
	return &at
}

// field returns the field of the node's configuration, or its entry that brings a duplicate.
func (e *NodeError) field() string {
	o := e.Node.Origin
	var twice *krm.DuplicateError
	if errors.As(e.Err, &twice) {
		o.Path = diag.Below(o.Path, twice)
	}
	return o.Field()
}

func (e *NodeError) Error() string { return e.At().Error() }

func (e *NodeError) Unwrap() error { return e.Err }

// Step returns the failed node. It is for packages that cannot import this one.
func (e *NodeError) Step() *graph.Node { return e.Node }

// A RootError is an error returned by [Options.Root].
type RootError struct {
	Root graph.Root
	Err  error
}

func (e *RootError) Error() string { return e.Err.Error() }
func (e *RootError) Unwrap() error { return e.Err }

// Run runs g and returns the failures in the order of the graph. Each is a [NodeError], a
// [RootError] or the cause of the end of ctx. After a failure Run stops the running functions,
// unless KeepGoing is set.
//
// Run prepares every function that may have to run before it runs the first one: it fetches and
// verifies programs and images. If that fails, no function runs. With KeepGoing the functions of
// the roots that need no failed function still run.
//
// The time of the preparation depends on the calls. If no answer can be reused, Run prepares at
// the start, so that a failure is reported before any other work. Otherwise it prepares when the
// first function has to run: often none has to, and nothing needs to be fetched.
func Run(ctx context.Context, g *graph.Graph, o Options) []error {
	r := newRun(g, o)
	var failed []error
	if !o.Pure && !r.mayReuse() {
		failed = r.prepare(ctx).errs
	}
	if len(failed) > 0 {
		able := g.Only(r.needsNone(failed))
		failed = r.groupByCause(failed)
		if !o.KeepGoing || len(able.Roots) == 0 || ctx.Err() != nil {
			return failed
		}
		r = newRun(able, o)
	}
	w := newWalk(ctx, r.g, o.Jobs, cmp.Or(o.Calls, DefaultCalls), o.KeepGoing, r.visit)
	if r.mayReuse() {
		r.onFirst = sync.OnceValue(func() *preparation { return r.prepareFirst(w.visits) })
	}
	w.limit = o.Limit
	w.work()
	errs := w.end()
	// Reports of generators remain if the node that absorbs them did not run.
	r.passReports(slices.Sorted(maps.Keys(r.reports))...)
	failed = append(failed, r.groupByCause(r.unprepared)...)
	return append(failed, r.groupByCause(errs)...)
}

func newRun(g *graph.Graph, o Options) *run {
	r := &run{g: g, o: o, reports: map[graph.NodeID]CallReport{}, lists: make([]*krm.List, len(g.Nodes)), users: make([]int, len(g.Nodes)),
		shared: make([]bool, len(g.Nodes)), settled: make([]atomic.Bool, len(g.Nodes)), roots: map[graph.NodeID][]graph.Root{}}
	if o.Pure {
		r.out = g.BehindFunctions()
	}
	for i, n := range g.Nodes {
		for _, in := range n.Inputs {
			if r.out != nil && r.out[i] {
				continue
			}
			r.users[in]++
			r.shared[in] = r.users[in] > 1
		}
	}
	for _, root := range g.Roots {
		r.roots[root.Node] = append(r.roots[root.Node], root)
	}
	return r
}

type run struct {
	g     *graph.Graph
	o     Options
	roots map[graph.NodeID][]graph.Root
	out   []bool // nodes to skip; nil if there are none

	settled    []atomic.Bool       // calls with a stored answer
	onFirst    func() *preparation // prepares when the first function has to run; nil if already prepared
	unprepared []error             // errors of onFirst

	mu      sync.Mutex
	lists   []*krm.List                 // results that are still needed
	users   []int                       // nodes that still have to use each result
	shared  []bool                      // results with several users
	reports map[graph.NodeID]CallReport // of generators whose answers are not yet absorbed
}

// visit runs a node and stores its list for its users.
func (r *run) visit(ctx context.Context, id graph.NodeID, n *graph.Node, wait func(func())) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = diag.Panicked(n.ID, p)
		}
	}()
	if r.out != nil && r.out[id] {
		return errStopped // which also skips its users
	}
	if _, ok := n.Op.(graph.Fetch); ok {
		return nil // prepare fetched it if a call needed it
	}
	e := Event{Node: n, Start: time.Now()}
	defer r.release(n)
	if r.o.Begin != nil {
		r.o.Begin(n)
	}
	var list *krm.List
	inputs := r.take(n)
	for _, in := range inputs {
		e.Taken += in.List.Size()
	}
	if op, ok := n.Op.(graph.Call); ok {
		var a *answer
		if list, a, err = r.call(ctx, id, op, inputs, wait); err == nil {
			err = list.CheckSize()
		}
		e.Called, e.Answered = a.began, a.ended
		e.Cached = a.report != nil && a.report.Cached
	} else {
		if _, ok := n.Op.(graph.Absorb); ok {
			r.passReports(n.Inputs...)
		}
		w := warnings{node: n}
		list, err = eval.Run(n.Op, inputs, w.add)
		w.pass(r, inputs, list)
	}
	if err != nil {
		err = &NodeError{Node: n, Err: secretsOf(n.Op, inputs, true, list).Err(err)}
	}
	if r.o.Event != nil {
		e.End, e.Err = time.Now(), err
		e.Duration = e.End.Sub(e.Start)
		if list != nil {
			e.Resources, e.Made = list.Len(), list.Size()
		}
		r.o.Event(e)
	}
	if err != nil {
		return err
	}
	if r.o.Seen != nil {
		r.o.Seen(n, list)
	}
	r.mu.Lock()
	if r.users[id] > 0 {
		r.lists[id] = list
	}
	r.mu.Unlock()
	if r.o.Made != nil {
		r.o.Made(n, list)
	}
	if r.o.Root != nil {
		for _, root := range r.roots[id] {
			if err := r.o.Root(root, list); err != nil {
				return &RootError{root, err}
			}
		}
	}
	return nil
}

// take returns the inputs of n. The last consumer of a list takes ownership of it.
//
// An owner may modify the list in place instead of copying it, which saves most copies: in a
// chain of transformers each list has a single consumer. A list with one consumer from the start
// is passed on as [krm.Exclusive]. A list that had several is passed to the last one as
// [krm.HandedOver], because the others may have copied parts of it that they still share. The
// list of a root is never handed out, since Options.Root gets it, and neither is any list if
// Options.Made is set.
func (r *run) take(n *graph.Node) []eval.Input {
	if len(n.Inputs) == 0 {
		return nil
	}
	inputs := make([]eval.Input, len(n.Inputs))
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, in := range n.Inputs {
		inputs[i].List = r.lists[in]
		if r.users[in] == 1 && len(r.roots[in]) == 0 && r.o.Made == nil {
			inputs[i].Held = krm.Exclusive
			if r.shared[in] {
				inputs[i].Held = krm.HandedOver
			}
			r.lists[in] = nil
		}
	}
	return inputs
}

// release ends the use of the inputs of n. Only then can the last remaining user take ownership:
// a list must not change while a different user copies it.
func (r *run) release(n *graph.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, in := range n.Inputs {
		if r.users[in]--; r.users[in] == 0 {
			r.lists[in] = nil
		}
	}
}
