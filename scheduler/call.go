package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/eval"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A ResultsError reports that a function exited successfully but returned a result with severity
// error.
type ResultsError struct{ Name string }

func (e *ResultsError) Error() string {
	return fmt.Sprintf("%s reported errors in its results", e.Name)
}

// Kind returns the code of the message: see [diag.CodeOf].
func (e *ResultsError) Kind() diag.Code { return diag.FunctionResults }

// An answer is the decoded output of a function, before it is applied to the list.
type answer struct {
	reply  *function.Reply
	report *CallReport // nil if the function was not called
	err    error
	began  time.Time
	ended  time.Time
}

// list returns the resources of the answer, or nil if there are none.
func (a *answer) list() *krm.List {
	if a.reply == nil {
		return nil
	}
	return a.reply.List
}

// call runs the function of a node. It returns the resulting list and the answer, which is never
// nil. The work of the node itself occupies a slot of the walk; wait releases the slot while the
// function runs.
func (r *run) call(ctx context.Context, id graph.NodeID, op graph.Call, inputs []eval.Input, wait func(func())) (*krm.List, *answer,
	error) {
	list := eval.Take(inputs)
	all := list
	if op.Files != nil {
		if config := op.Files.Config(all); config.Exists() {
			op.Config, op.Function.Config = config, yaml.AppendYAML(nil, config)
		}
		list = op.Files.Of(all)
	}
	a := r.answer(ctx, id, op, list, wait)
	err := a.err
	if err == nil && !r.o.AllowErrorResults &&
		slices.ContainsFunc(a.reply.Results, func(x function.Result) bool { return x.Severity == function.SeverityError }) {
		err = &ResultsError{op.Function.Name}
	}
	if a.report != nil && r.o.Call != nil {
		a.report.Hide = secretsOf(op, inputs, true, list, a.list())
		r.report(id, op, *a.report, err)
	}
	if err != nil {
		return nil, a, err
	}
	list, err = apply(op, all, list, a.reply)
	return list, a, err
}

// report passes on a report. The report of a successful generator is held back until its answer
// is absorbed: generators run concurrently, and messages must be in the order of the steps.
func (r *run) report(id graph.NodeID, op graph.Call, report CallReport, err error) {
	if op.Role != function.GeneratorRole || err != nil {
		r.o.Call(report)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reports[id] = report
}

// passReports passes on the reports that were held back for calls, if any.
func (r *run) passReports(calls ...graph.NodeID) {
	for _, id := range calls {
		r.mu.Lock()
		report, ok := r.reports[id]
		delete(r.reports, id)
		r.mu.Unlock()
		if ok {
			r.o.Call(report)
		}
	}
}

// answer returns the answer of a function to list, which a generator does not receive. It reuses
// the answer of an earlier run if that is allowed, and otherwise runs the function.
func (r *run) answer(ctx context.Context, id graph.NodeID, op graph.Call, list *krm.List, wait func(func())) (a *answer) {
	defer func() {
		if a != nil { // nil after a panic
			a.ended = time.Now()
		}
	}()
	n, c, began := r.g.Nodes[id], newRequest(op, list), time.Now()
	before := r.kept(ctx, n, c, wait)
	if before != nil && !r.o.Reuse.Verify {
		r.settled[id].Store(true)
		before.began = began
		return before
	}
	var err error
	if wait(func() { err = r.ready(ctx, id) }); err != nil {
		return &answer{err: err, began: began}
	}
	var out function.Output
	a, out = r.execute(ctx, n, c, wait)
	switch {
	case a.err != nil:
	case before != nil:
		a.err = compare(op.Function, a, before)
	default:
		wait(func() { r.keep(ctx, c, a, out) })
	}
	return a
}

// execute runs the function of a node. It returns the answer and the raw output.
func (r *run) execute(ctx context.Context, n *graph.Node, c *request, wait func(func())) (a *answer, out function.Output) {
	a = &answer{began: time.Now()}
	var ex Executor
	if ex, a.err = r.executor(c.op.Function.Runtime); a.err != nil {
		return a, out
	}
	err := c.encode()
	if err != nil {
		a.err = err
		return a, out
	}
	wait(func() { out, err = ex.Execute(ctx, c.op.Function, c.sent) })
	if cause := context.Cause(ctx); cause != nil && (errors.Is(err, cause) || errors.Is(err, context.Canceled)) {
		a.err = cause
		return a, out
	}
	var failed *function.Error
	if errors.As(err, &failed) && len(out.Stderr) == 0 {
		out.Stderr = failed.Stderr
	}
	a.report = &CallReport{Node: n, Stderr: out.Stderr}
	if err == nil {
		a.read(c, out.List)
	} else if a.err = err; c.op.Chart == nil {
		a.report.Results = function.ParseResults(out.List, function.SeverityError)
	}
	a.report.Failed = a.err != nil
	return a, out
}

// read decodes the output of a function that exited successfully.
func (a *answer) read(c *request, printed yaml.Chunks) {
	a.reply, a.err = c.read(printed)
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

// apply returns the list after a call. all is the list before the call, list is the part of it
// sent to the function, and reply is the function's answer.
func apply(op graph.Call, all, list *krm.List, reply *function.Reply) (*krm.List, error) {
	if op.Files != nil && op.Role != function.ValidatorRole {
		return op.Files.After(all, list, reply.List)
	}
	switch op.Role {
	case function.GeneratorRole:
		builtins.RecordOrigin(reply.List, op.Origin)
		return reply.List, nil
	case function.ValidatorRole:
		return all, nil
	}
	builtins.RecordTransformation(reply.List, op.Origin)
	return reply.List, nil
}
