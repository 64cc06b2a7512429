// Package scheduler runs a graph: it passes lists from node to node, runs at most so many nodes at a time, drops each list when
// its last user has taken it, and reports what it does.
package scheduler

import (
	"cmp"
	"context"
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

// An Event tells that a node has ended.
type Event struct {
	Node *graph.Node
	// Resources is the length of the resulting list.
	Resources int
	// Duration is how long the node took.
	Duration time.Duration
	// Start and End are when the node was visited: it began with its inputs, and its list was there.
	Start, End time.Time
	// Called and Answered are when the function of a call was called and had answered, both zero for all else.
	Called, Answered time.Time
	// Taken and Made are about how many bytes the lists of the inputs have, and the resulting one.
	Taken, Made int
	// Cached is true for a call whose answer is that of an earlier run.
	Cached bool
	Err    error
}

// DefaultCalls is how many functions run at the same time by default. They run in other processes and
// often wait, so there are more than cores.
const DefaultCalls = 8

// Options say how a graph is run. The functions are called from several goroutines at the same time; nil ones are not
// called.
type Options struct {
	// Jobs is how many nodes may run at the same time, at least 1. A call does not count while its function runs.
	Jobs int
	// Calls is how many functions may run at the same time, 0 for [DefaultCalls].
	Calls int
	// Limit returns how many of all nodes or functions may run at the moment; less than 1 means one. It
	// is called before each node and must be quick.
	Limit func(all int) int
	// KeepGoing runs everything that does not need a failed node.
	KeepGoing bool
	// Several makes errors name their roots, also if there is one in the graph: it is one of several that the user named.
	Several bool
	// Pure leaves out the functions and what needs them: nothing is fetched or started, and no executor is asked for.
	Pure bool
	// Begin is called before each node.
	Begin func(*graph.Node)
	// Event is called after each node.
	Event func(Event)
	// Made is called with the list of each node that has not failed. The list does not change any more, so that the run takes more memory.
	Made func(n *graph.Node, list *krm.List)
	// Seen is called with the list of each successful node, before a different node gets the list.
	// The list must not be kept.
	Seen func(n *graph.Node, list *krm.List)
	// Warn is called for what the user probably did not mean. The warning is made when it is asked for.
	Warn func(n *graph.Node, warning func() *diag.Error)
	// Executor returns the executor for functions of a runtime. It is not called unless a function must run.
	Executor func(function.Runtime) (Executor, error)
	// Call is called with what each function reported.
	Call func(CallReport)
	// Reuse says which answers of earlier runs take the place of calls.
	Reuse Reuse
	// AllowErrorResults lets a function that ends well report errors.
	AllowErrorResults bool
	// Root is called with each root's final list as soon as it is known. Its error counts as the root's.
	Root func(r graph.Root, list *krm.List) error
}

// An Executor obtains and runs functions: see package executors, whose interface this is. Its methods are
// called concurrently, also with one job; Options.Calls bounds the calls of Execute.
type Executor interface {
	// Prepare obtains and verifies what f runs. It runs nothing.
	Prepare(ctx context.Context, f function.Function) error
	// Execute runs f once with list, a ResourceList.
	Execute(ctx context.Context, f function.Function, list yaml.Chunks) (function.Output, error)
}

// A CallReport is what a function has said besides its list.
type CallReport struct {
	Node     *graph.Node
	Results  []function.Result
	Warnings []string
	// Removed are the resources that the function took and did not return.
	Removed []krm.ID
	// Stderr is the end of what it wrote there, raw.
	Stderr []byte
	// Cached is true if all this is from an earlier run, whose answer has taken the place of the call.
	Cached bool
	// Failed is true if the call ends with an error, for which Stderr may be the reason.
	Failed bool
	// Hide has the values of Secrets in the input and output of the function, which its messages may
	// contain.
	Hide *secret.Set
}

// Shown returns the report with the texts of Hide hidden.
func (c CallReport) Shown() CallReport {
	c.Results, c.Warnings = slices.Clone(c.Results), slices.Clone(c.Warnings)
	for i := range c.Results {
		x := &c.Results[i]
		x.Message = c.Hide.Hide(x.Message)
		if f := x.Field; f != nil {
			x.Field = &function.ResultField{Path: f.Path, CurrentValue: c.Hide.Hide(f.CurrentValue), ProposedValue: c.Hide.Hide(f.ProposedValue)}
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

// A NodeError is the failure of one node.
type NodeError struct {
	Node *graph.Node
	Err  error
	// Roots are the roots that fail with it, unless the place of the error tells.
	Roots []string
}

// At returns the error at the place of the node's configuration, unless it has a place of its own.
func (e *NodeError) At() *diag.Error {
	at := *diag.AsError(e.Err)
	if at.Pos.File == "" {
		at.Pos = e.Node.Origin.Pos()
		if i := e.Node.Item; i != nil {
			at.Msg = fmt.Sprintf("%s/%s, item %d of %d: %s", i.Kind, i.Name, i.Place, i.Of, at.Msg)
		}
		if f := e.Node.Origin.Field(); f != "" && at.Field != "" {
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

func (e *NodeError) Error() string { return e.At().Error() }

func (e *NodeError) Unwrap() error { return e.Err }

// Step returns the node that failed, for packages that cannot name this type.
func (e *NodeError) Step() *graph.Node { return e.Node }

// A RootError is an error of [Options.Root].
type RootError struct {
	Root graph.Root
	Err  error
}

func (e *RootError) Error() string { return e.Err.Error() }
func (e *RootError) Unwrap() error { return e.Err }

// Run runs g. After a failure it ends the functions that run, unless it keeps going. It prepares every function that may have to run before
// the first one runs: if that fails no function runs, or with KeepGoing those of the roots that need none that failed. If no answer can be
// reused that is before everything else, and nothing runs. It returns the failures in the order of the graph, each a [NodeError], a [RootError]
// or the reason why ctx ended.
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
	r.passReports(slices.Sorted(maps.Keys(r.reports))...) // of answers that no step has absorbed, because another one failed
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
	out   []bool // nodes that are left out; nil if none are

	settled    []atomic.Bool       // calls whose answer is there without their function
	onFirst    func() *preparation // prepares when the first function must run, nil if that is done
	unprepared []error             // of onFirst

	mu      sync.Mutex
	lists   []*krm.List                 // results that somebody still needs
	users   []int                       // nodes that have not ended their use of a result
	shared  []bool                      // results that several nodes use
	reports map[graph.NodeID]CallReport // of generators whose answers are not absorbed yet
}

// visit runs a node and keeps its list for who needs it.
func (r *run) visit(ctx context.Context, id graph.NodeID, n *graph.Node, wait func(func())) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = diag.Panicked(n.ID, p)
		}
	}()
	if r.out != nil && r.out[id] {
		return errStopped // and so is what needs it
	}
	if _, ok := n.Op.(graph.Fetch); ok {
		return nil // it was done before the first function, if one that needs it had to run
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
		var w warnings
		list, err = eval.Run(n.Op, inputs, w.add)
		w.pass(r, n, inputs, list)
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

// take returns the inputs of n. Who is the only one left to use a list becomes its owner.
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

// release ends the use of the inputs of n: only then may the next user own them, because a list must not change while
// another user copies it.
func (r *run) release(n *graph.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, in := range n.Inputs {
		if r.users[in]--; r.users[in] == 0 {
			r.lists[in] = nil
		}
	}
}
