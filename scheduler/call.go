package scheduler

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/eval"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
)

// A ResultsError says that a function reported an error among its results although it ended well.
type ResultsError struct{ Name string }

func (e *ResultsError) Error() string {
	return fmt.Sprintf("%s reported errors in its results", e.Name)
}

// prepare obtains and verifies every function of the graph before the first one runs, so that a failure means that nothing
// has run. It returns the failures in the order of the graph.
func (r *run) prepare(ctx context.Context) []error {
	errs := make([]error, len(r.g.Nodes))
	var wg sync.WaitGroup
	limit := make(chan struct{}, max(1, r.o.Jobs))
	for i, n := range r.g.Nodes {
		if _, ok := n.Op.(graph.Call); !ok {
			continue
		}
		limit <- struct{}{}
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					errs[i] = krm.Panicked(n.ID, p)
				}
				<-limit
			}()
			call := n.Op.(graph.Call)
			ex, err := r.executor(call.Function.Runtime)
			if err == nil {
				err = ex.Prepare(ctx, call.Function)
			}
			if err != nil {
				errs[i] = &NodeError{Node: n, Err: err}
			}
		})
	}
	wg.Wait()
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

func (r *run) executor(runtime krm.Runtime) (Executor, error) {
	if r.o.Executor == nil {
		return nil, fmt.Errorf("there is no executor for %s functions", runtime)
	}
	return r.o.Executor(runtime)
}

// call runs the function of a node.
func (r *run) call(ctx context.Context, n *graph.Node, op graph.Call, inputs []eval.Input) (*krm.List, error) {
	ex, err := r.executor(op.Function.Runtime)
	if err != nil {
		return nil, err
	}
	list := eval.Take(inputs)
	in := list
	if op.Role == krm.GeneratorRole {
		in = nil
	}
	wire := krm.WireOptions{Role: op.Role, Version: op.Version, Name: op.Function.Name, Pos: n.Origin.Pos(), Schema: op.Schema, Seed: sha256.Sum256([]byte(n.ID)),
		Output: op.Function.Limits.Output}
	out, err := ex.Execute(ctx, op.Function, krm.EncodeResourceList(in, op.Config, wire))
	var failed *krm.FunctionError
	if errors.As(err, &failed) && len(out.Stderr) == 0 {
		out.Stderr = failed.Stderr
	}
	report := CallReport{Node: n, Stderr: out.Stderr}
	var reply *krm.Reply
	if err != nil {
		report.Results = krm.ParseResults(out.List)
	} else {
		reply, err = krm.DecodeResourceList(out.List, in, wire)
		if err != nil {
			code := krm.FunctionFailed
			if krm.IsTooLarge(err) {
				code = krm.FunctionLimit
			}
			err = &krm.FunctionError{Code: code, Msg: err.Error()}
		}
		report.Results, report.Removed = reply.Results, reply.Removed
		for _, w := range reply.Warnings {
			if text := (&krm.Error{Field: w.Field, Msg: w.Msg}).Error(); !slices.Contains(report.Warnings, text) {
				report.Warnings = append(report.Warnings, text)
			}
		}
	}
	if r.o.Call != nil {
		r.o.Call(report)
	}
	if err != nil {
		return nil, err
	}
	if !r.o.AllowErrorResults && slices.ContainsFunc(reply.Results, func(x krm.Result) bool { return x.Severity == krm.SeverityError }) {
		return nil, &ResultsError{op.Function.Name}
	}
	return apply(op, list, reply)
}

// apply makes the list after a call from the one before it and the function's answer.
func apply(op graph.Call, list *krm.List, reply *krm.Reply) (*krm.List, error) {
	switch op.Role {
	case krm.GeneratorRole:
		builtins.RecordOrigin(reply.List, op.Origin)
		for _, res := range reply.List.All() {
			if err := builtins.Absorb(list, res); err != nil {
				return nil, err
			}
		}
		return list, nil
	case krm.ValidatorRole:
		return list, nil
	}
	builtins.RecordTransformation(reply.List, op.Origin)
	return reply.List, nil
}
