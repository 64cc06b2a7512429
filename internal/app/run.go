package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/container"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/profile"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
	"github.com/krmflow/krmflow/scheduler"
)

// RunOne runs the plan of one root.
func (a *App) RunOne(ctx context.Context, plan *planner.Plan) (result *krm.List, err error) {
	if err := a.MayRun(plan); err != nil {
		return nil, err
	}
	o, end := a.RunOptions(ctx, nil, func(_ graph.Root, list *krm.List) error {
		result = list
		return nil
	})
	defer end()
	err = errors.Join(render.Run(ctx, plan, o), a.StrictError())
	return result, err
}

// RunOptions returns how a plan is run. The log gets what happens; event, unless it is nil, is called after each node, and root with
// each root's list. The caller calls end when the run has ended.
func (a *App) RunOptions(ctx context.Context, event func(scheduler.Event), root func(graph.Root, *krm.List) error) (o render.Options, end func()) {
	return a.RunOptionsOf(ctx, a.Opts, event, root)
}

// RunOptionsOf is [App.RunOptions] for a plan that was made with o.
func (a *App) RunOptionsOf(ctx context.Context, o render.Options, event func(scheduler.Event), root func(graph.Root, *krm.List) error) (_ render.Options, end func()) {
	a.Recorder.Stage(profile.Running)
	pool := executors.NewPool(ctx, a.Program)
	reuse, endReuse := a.answers(ctx)
	o.Run = scheduler.Options{
		Reuse:     reuse,
		Jobs:      a.Jobs,
		Calls:     a.Calls(),
		Limit:     a.Used.Jobs(),
		KeepGoing: a.KeepGoing,
		Begin:     a.Steps.Begin,
		Event: func(e scheduler.Event) {
			a.Steps.End(e.Node)
			a.Log.Node(e)
			a.Recorder.Event(e)
			if event != nil {
				event(e)
			}
		},
		Warn: a.warnNode,
		Root: func(r graph.Root, list *krm.List) error {
			a.Used.Made.Add(int64(list.Size()))
			start := time.Now()
			defer func() { a.Recorder.Root(r, list, start) }()
			return root(r, list)
		},
		Call: a.Log.Call,

		AllowErrorResults: a.AllowErrorResults,

		Executor: func(runtime function.Runtime) (scheduler.Executor, error) {
			if err := a.noEngine(runtime); err != nil {
				return nil, diag.Errorf(diag.Pos{}, "", "%w", err).With(diag.NoEngine)
			}
			return pool.Get(runtime)
		},
	}
	closePool := a.Exits.Add(pool.Close)
	return o, func() { closePool(); endReuse() }
}

// warnNode passes on a warning of a step.
func (a *App) warnNode(n *graph.Node, warning func() *diag.Error) {
	if a.reusing != nil {
		warning = sync.OnceValue(warning)
		if a.reusing.warn(n, warning) {
			return
		}
	}
	a.Log.WarnNode(n, warning)
}

// MayRun returns an error if a plan may not run: because functions of it may not, unless the run keeps going without the roots that need
// these, or because it has functions and what is known now makes the run fail.
func (a *App) MayRun(plan *planner.Plan) error {
	var err error
	if !a.KeepGoing { // otherwise it is of render.Run, when the others are done
		err = a.Denied(plan)
	}
	for range plan.Graph.Calls() {
		return errors.Join(err, a.StrictError())
	}
	return err
}

// Denied returns the error for functions that may not or cannot run, nil if all can.
func (a *App) Denied(plan *planner.Plan) error {
	if err := render.Denied(plan); err != nil {
		return err
	}
	return a.needsRuntime(plan)
}

// needsRuntime returns an error if the plan has containers and nothing on this machine can run them.
func (a *App) needsRuntime(plan *planner.Plan) error {
	var names []string
	for call, n := range plan.Graph.Calls() {
		if call.Function.Runtime == function.RuntimeContainer {
			names = append(names, n.ID+": "+call.Function.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	if err := a.noEngine(function.RuntimeContainer); err != nil {
		e := diag.Errorf(diag.Pos{}, "", "%w; these functions need one:", err).With(diag.NoEngine)
		e.Hints = names
		return e
	}
	return nil
}

// noEngine returns why nothing on this machine can run functions of a runtime, nil if something may.
func (a *App) noEngine(runtime function.Runtime) error {
	if _, ok := a.ThirdParty[runtime]; ok || runtime != function.RuntimeContainer {
		return nil
	}
	_, err := container.Detect(a.Runtime)
	return err
}
