package scheduler

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/eval"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A ResultsError says that a function reported an error among its results although it ended well.
type ResultsError struct{ Name string }

func (e *ResultsError) Error() string {
	return fmt.Sprintf("%s reported errors in its results", e.Name)
}

// Kind says which kind of message it is: see [diag.CodeOf].
func (e *ResultsError) Kind() diag.Code { return diag.FunctionResults }

// prepare obtains and verifies every function of the graph before the first one runs, so that a failure means that nothing
// has run. It returns the failures in the order of the graph. Calls that come after the fetch of an image are looked at when all
// images are there: they fail for other reasons alone.
func (r *run) prepare(ctx context.Context) []error {
	errs := r.prepareEach(ctx, func(n *graph.Node) *function.Function {
		switch op := n.Op.(type) {
		case graph.Fetch:
			return &op.Function
		case graph.Call:
			if len(n.After) == 0 {
				return &op.Function
			}
		}
		return nil
	})
	if len(errs) > 0 {
		return errs
	}
	return r.prepareEach(ctx, func(n *graph.Node) *function.Function {
		if len(n.After) == 0 {
			return nil
		}
		if call, ok := n.Op.(graph.Call); ok {
			return &call.Function
		}
		return nil
	})
}

// needsNone returns a function that reports whether a root needs no node that errs are about.
func (r *run) needsNone(errs []error) func(graph.Root) bool {
	failed := map[*graph.Node]bool{}
	for _, err := range errs {
		var e *NodeError
		if errors.As(err, &e) {
			failed[e.Node] = true
		}
	}
	without := r.g.RootsThatNeed(failed)
	return func(root graph.Root) bool { return !slices.Contains(without, root) }
}

// prepareEach prepares the functions that of returns for nodes, some at the same time.
func (r *run) prepareEach(ctx context.Context, of func(*graph.Node) *function.Function) []error {
	errs := make([]error, len(r.g.Nodes))
	var wg sync.WaitGroup
	limit := make(chan struct{}, max(1, r.o.Jobs))
	prepare := func(i int, n *graph.Node, f *function.Function) {
		defer func() {
			if p := recover(); p != nil {
				errs[i] = diag.Panicked(n.ID, p)
			}
			<-limit
		}()
		if err := r.prepareOne(ctx, n, *f); err != nil {
			errs[i] = &NodeError{Node: n, Err: err}
		}
	}
	for i, n := range r.g.Nodes {
		if f := of(n); f != nil {
			limit <- struct{}{}
			wg.Go(func() { prepare(i, n, f) })
		}
	}
	wg.Wait()
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
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
		return nil, diag.NoEngine.Errorf("there is no executor for %s functions", runtime)
	}
	return r.o.Executor(runtime)
}

// An answer is what a function has answered, before anything is done with it.
type answer struct {
	reply  *function.Reply
	report *CallReport // nil if the function was not called
	err    error
	began  time.Time
	ended  time.Time
}

// call runs the function of a node, unless that was done early, and returns the list after it and what it has answered. Only what the
// node does itself takes a slot of the walk: wait gives that back meanwhile.
func (r *run) call(ctx context.Context, id graph.NodeID, op graph.Call, inputs []eval.Input, wait func(func())) (*krm.List, *answer, error) {
	list := eval.Take(inputs)
	var a *answer
	if get := r.early.take(id); get != nil {
		wait(func() { a = get() })
	} else {
		a = r.answer(ctx, r.g.Nodes[id], op, list, wait)
	}
	if a.report != nil && r.o.Call != nil {
		r.o.Call(*a.report)
	}
	if a.err != nil {
		return nil, a, a.err
	}
	if !r.o.AllowErrorResults && slices.ContainsFunc(a.reply.Results, func(x function.Result) bool { return x.Severity == function.SeverityError }) {
		return nil, a, &ResultsError{op.Function.Name}
	}
	list, err := apply(op, list, a.reply)
	return list, a, err
}

// answer runs a function with list, which a generator does not get.
func (r *run) answer(ctx context.Context, n *graph.Node, op graph.Call, list *krm.List, wait func(func())) *answer {
	a := &answer{began: time.Now()}
	defer func() { a.ended = time.Now() }()
	var ex Executor
	if ex, a.err = r.executor(op.Function.Runtime); a.err != nil {
		return a
	}
	wait(func() {
		select {
		case r.calls <- struct{}{}:
		case <-ctx.Done():
			a.err = context.Cause(ctx)
		}
	})
	if a.err != nil {
		return a
	}
	defer func() { <-r.calls }()
	a.began = time.Now()
	in := list
	if op.Role == function.GeneratorRole {
		in = nil
	}
	wire := function.WireOptions{Role: op.Role, Version: op.Version, Name: op.Function.Name, Pos: op.ConfigPos, Schema: op.Schema, Seed: sha256.Sum256([]byte(n.ID)),
		Output: op.Function.Limits.Output}
	encoded, err := encode(op, in, wire)
	if err != nil {
		a.err = err
		return a
	}
	var out function.Output
	wait(func() { out, err = ex.Execute(ctx, op.Function, encoded) })
	if cause := context.Cause(ctx); cause != nil && (errors.Is(err, cause) || errors.Is(err, context.Canceled)) {
		a.err = cause
		return a
	}
	var failed *function.Error
	if errors.As(err, &failed) && len(out.Stderr) == 0 {
		out.Stderr = failed.Stderr
	}
	a.report = &CallReport{Node: n, Stderr: out.Stderr}
	if err == nil {
		a.read(op, out.List, in, wire)
	} else if a.err = err; op.Chart == nil {
		a.report.Results = function.ParseResults(out.List)
	}
	a.report.Failed = a.err != nil
	return a
}

// read decodes what a function that has ended well has printed.
func (a *answer) read(op graph.Call, printed yaml.Chunks, in *krm.List, wire function.WireOptions) {
	a.reply, a.err = decode(op, printed, in, wire)
	if a.err != nil {
		if diag.IsTooLarge(a.err) {
			a.err = function.Wrap(function.LimitExceeded, a.err).With(diag.FunctionLimit)
		} else {
			a.err = function.Wrap(function.Failed, a.err).With(diag.FunctionAnswer)
		}
	}
	a.report.Results, a.report.Removed = a.reply.Results, a.reply.Removed
	for _, w := range a.reply.Warnings {
		if text := (&diag.Error{Field: w.Field, Msg: w.Msg}).Error(); !slices.Contains(a.report.Warnings, text) {
			a.report.Warnings = append(a.report.Warnings, text)
		}
	}
}

// encode returns what the executor gets: the list for a function, or the chart for helm.
func encode(op graph.Call, in *krm.List, wire function.WireOptions) (yaml.Chunks, error) {
	if op.Chart != nil {
		return op.Chart.Pack()
	}
	return function.EncodeResourceList(in, op.Config, wire), nil
}

// decode reads what a function or helm has answered.
func decode(op graph.Call, answer yaml.Chunks, in *krm.List, wire function.WireOptions) (*function.Reply, error) {
	if op.Chart != nil {
		return readChart(op, answer)
	}
	return function.DecodeResourceList(answer, in, wire)
}

// apply makes the list after a call from the one before it and the function's answer.
func apply(op graph.Call, list *krm.List, reply *function.Reply) (*krm.List, error) {
	switch op.Role {
	case function.GeneratorRole:
		if err := reply.List.CheckSize(); err != nil {
			return nil, err // such a list yields nothing
		}
		builtins.RecordOrigin(reply.List, op.Origin)
		for _, res := range reply.List.All() {
			if err := builtins.Absorb(list, res); err != nil {
				return nil, err
			}
		}
		return list, nil
	case function.ValidatorRole:
		return list, nil
	}
	builtins.RecordTransformation(reply.List, op.Origin)
	return reply.List, nil
}
