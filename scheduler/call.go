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
		e := Event{Node: n, Duration: time.Since(start)}
		if err != nil {
			e.Err = &NodeError{Node: n, Err: err}
		}
		r.o.Event(e)
	}
	return err
}

func (r *run) executor(runtime function.Runtime) (Executor, error) {
	if r.o.Executor == nil {
		return nil, fmt.Errorf("there is no executor for %s functions", runtime)
	}
	return r.o.Executor(runtime)
}

// call runs the function of a node. Only what it does itself takes a slot of the walk: wait gives that back meanwhile.
func (r *run) call(ctx context.Context, n *graph.Node, op graph.Call, inputs []eval.Input, wait func(func())) (*krm.List, error) {
	ex, err := r.executor(op.Function.Runtime)
	if err != nil {
		return nil, err
	}
	wait(func() {
		select {
		case r.calls <- struct{}{}:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	})
	if err != nil {
		return nil, err
	}
	defer func() { <-r.calls }()
	list := eval.Take(inputs)
	in := list
	if op.Role == function.GeneratorRole {
		in = nil
	}
	wire := function.WireOptions{Role: op.Role, Version: op.Version, Name: op.Function.Name, Pos: op.ConfigPos, Schema: op.Schema, Seed: sha256.Sum256([]byte(n.ID)),
		Output: op.Function.Limits.Output}
	encoded, err := encode(op, in, wire)
	if err != nil {
		return nil, err
	}
	var out function.Output
	wait(func() { out, err = ex.Execute(ctx, op.Function, encoded) })
	if cause := context.Cause(ctx); cause != nil && (errors.Is(err, cause) || errors.Is(err, context.Canceled)) {
		return nil, cause
	}
	var failed *function.Error
	if errors.As(err, &failed) && len(out.Stderr) == 0 {
		out.Stderr = failed.Stderr
	}
	report := CallReport{Node: n, Stderr: out.Stderr}
	var reply *function.Reply
	if err != nil && op.Chart == nil {
		report.Results = function.ParseResults(out.List)
	} else if err == nil {
		reply, err = decode(op, out.List, in, wire)
		if err != nil {
			code := function.Failed
			if diag.IsTooLarge(err) {
				code = function.LimitExceeded
			}
			err = function.Wrap(code, err)
		}
		report.Results, report.Removed = reply.Results, reply.Removed
		for _, w := range reply.Warnings {
			if text := (&diag.Error{Field: w.Field, Msg: w.Msg}).Error(); !slices.Contains(report.Warnings, text) {
				report.Warnings = append(report.Warnings, text)
			}
		}
	}
	report.Failed = err != nil
	if r.o.Call != nil {
		r.o.Call(report)
	}
	if err != nil {
		return nil, err
	}
	if !r.o.AllowErrorResults && slices.ContainsFunc(reply.Results, func(x function.Result) bool { return x.Severity == function.SeverityError }) {
		return nil, &ResultsError{op.Function.Name}
	}
	return apply(op, list, reply)
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
