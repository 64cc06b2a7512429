package scheduler

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/function"
)

// A preparation is the result of obtaining and verifying functions.
type preparation struct {
	errs  []error          // in the order of the graph
	stops func(i int) bool // reports whether node i cannot run because of errs
	cause error            // why the run ended during the preparation
}

// mayReuse reports whether the run has calls that may be replaced by stored answers.
func (r *run) mayReuse() bool {
	if r.o.Reuse.Answers == nil || r.o.Pure {
		return false
	}
	for op := range r.g.Calls() {
		if op.Reusable {
			return true
		}
	}
	return false
}

// prepare obtains and verifies every function that may have to run, before the first one runs.
// If it fails, no function has run. It skips calls that already have an answer, and fetches
// needed only by such calls.
//
// It works in two phases. Calls that depend on a fetched image are prepared after all fetches
// have succeeded; a failed fetch is then reported once and not again for each of its calls.
func (r *run) prepare(ctx context.Context) *preparation {
	fetched := make([]bool, len(r.g.Nodes)) // nodes required by a call that may have to run
	for i, n := range r.g.Nodes {
		if _, ok := n.Op.(graph.Call); ok && !r.settled[i].Load() {
			for _, id := range n.After {
				fetched[id] = true
			}
		}
	}
	calls := func(late bool) func(int, *graph.Node) *function.Function {
		return func(i int, n *graph.Node) *function.Function {
			switch op := n.Op.(type) {
			case graph.Fetch:
				if !late && fetched[i] {
					return &op.Function
				}
			case graph.Call:
				if late == r.fetches(n) && !r.settled[i].Load() {
					return &op.Function
				}
			}
			return nil
		}
	}
	p := &preparation{}
	if p.errs = r.prepareEach(ctx, calls(false)); len(p.errs) == 0 {
		p.errs = r.prepareEach(ctx, calls(true))
	}
	return p
}

// fetches reports whether a call comes after a fetch.
func (r *run) fetches(n *graph.Node) bool {
	return slices.ContainsFunc(n.After, func(id graph.NodeID) bool {
		_, ok := r.g.Nodes[id].Op.(graph.Fetch)
		return ok
	})
}

// needsNone returns a predicate that reports whether a root depends on none of the nodes that
// failed with errs.
func (r *run) needsNone(errs []error) func(graph.Root) bool {
	failed := map[string]bool{}
	for _, err := range errs {
		var e *NodeError
		if errors.As(err, &e) {
			failed[e.Node.ID] = true
		}
	}
	without := r.g.RootsThatNeed(failed)
	return func(root graph.Root) bool { return !slices.Contains(without, root) }
}

// prepareFirst prepares the functions when the first one has to run. Before that it looks up the
// answers of the calls with known keys, because their functions may not be needed.
func (r *run) prepareFirst(ctx context.Context) *preparation {
	if !r.o.Reuse.Verify {
		r.settle(ctx)
	}
	p := r.prepare(ctx)
	if ctx.Err() != nil {
		return &preparation{cause: context.Cause(ctx)}
	}
	if len(p.errs) == 0 {
		return p
	}
	r.unprepared = p.errs
	if !r.o.KeepGoing {
		return &preparation{cause: errStopped}
	}
	needed := map[string]bool{}
	for _, n := range r.g.Only(r.needsNone(p.errs)).Nodes {
		needed[n.ID] = true
	}
	p.stops = func(i int) bool { return !needed[r.g.Nodes[i].ID] }
	return p
}

// settle marks the calls without an input list that have a stored answer. It does not keep the
// answers in memory, because there may be many.
func (r *run) settle(ctx context.Context) {
	r.each(func(i int, n *graph.Node) func() {
		op, ok := n.Op.(graph.Call)
		if !ok || !op.Reusable || op.Role != function.GeneratorRole || r.settled[i].Load() {
			return nil
		}
		return func() {
			if ctx.Err() == nil && r.o.Reuse.has(ctx, newRequest(op, nil)) {
				r.settled[i].Store(true)
			}
		}
	}, func(int, any) {})
}

// ready prepares all functions that may have to run, once, and reports whether the function of
// node id may run.
func (r *run) ready(ctx context.Context, id graph.NodeID) error {
	if r.onFirst == nil {
		return nil
	}
	p := r.onFirst()
	switch {
	case p.cause != nil:
		return p.cause
	case p.stops != nil && p.stops(int(id)):
		return errStopped
	case r.settled[id].Load(): // its answer has been removed from the store since
		op := r.g.Nodes[id].Op.(graph.Call)
		return r.prepareOne(ctx, r.g.Nodes[id], op.Function)
	}
	return nil
}

// prepareEach prepares the functions returned by of, several concurrently. It returns the errors
// in the order of the graph.
func (r *run) prepareEach(ctx context.Context, of func(int, *graph.Node) *function.Function) []error {
	errs := make([]error, len(r.g.Nodes))
	r.each(func(i int, n *graph.Node) func() {
		f := of(i, n)
		if f == nil {
			return nil
		}
		return func() {
			if err := r.prepareOne(ctx, n, *f); err != nil {
				errs[i] = &NodeError{Node: n, Err: err}
			}
		}
	}, func(i int, panicked any) { errs[i] = diag.Panicked(r.g.Nodes[i].ID, panicked) })
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// each calls the functions returned by of, several concurrently. It skips nil and passes the
// value of a panic to panicked.
func (r *run) each(of func(int, *graph.Node) func(), panicked func(int, any)) {
	var wg sync.WaitGroup
	limit := make(chan struct{}, max(1, r.o.Jobs))
	for i, n := range r.g.Nodes {
		f := of(i, n)
		if f == nil {
			continue
		}
		limit <- struct{}{}
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					panicked(i, p)
				}
				<-limit
			}()
			f()
		})
	}
	wg.Wait()
}

func (r *run) prepareOne(ctx context.Context, n *graph.Node, f function.Function) error {
	start := time.Now()
	_, fetch := n.Op.(graph.Fetch)
	if fetch && r.o.Begin != nil {
		r.o.Begin(n)
	}
	ex, err := r.executor(f.Runtime)
	if err == nil {
		err = ex.Prepare(ctx, f)
	}
	if fetch && r.o.Event != nil {
		e := Event{Node: n, Start: start, End: time.Now()}
		e.Duration = e.End.Sub(start)
		if err != nil {
			e.Err = &NodeError{Node: n, Err: err}
		}
		r.o.Event(e)
	}
	return err
}

func (r *run) executor(runtime function.Runtime) (Executor, error) {
	if r.o.Executor == nil {
		return nil, diag.NoEngine.Errorf("no executor for %s functions", runtime)
	}
	return r.o.Executor(runtime)
}
