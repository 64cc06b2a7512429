package main

import (
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/executors/container"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
)

// denied returns the error for functions that may not or cannot run, nil if all can.
func (a *app) denied(plan *planner.Plan) error {
	if err := render.Denied(plan); err != nil {
		return err
	}
	return a.needsRuntime(plan)
}

// needsRuntime returns an error if the plan has containers and nothing on this machine can run them.
func (a *app) needsRuntime(plan *planner.Plan) error {
	var names []string
	for call, n := range plan.Graph.Calls() {
		if call.Function.Runtime == function.RuntimeContainer {
			names = append(names, n.ID+": "+call.Function.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	if _, ok := a.ThirdParty[function.RuntimeContainer]; ok {
		return nil
	}
	if _, err := container.Detect(a.Runtime); err != nil {
		e := diag.Errorf(diag.Pos{}, "", "%w; these functions need one:", err)
		e.Hints = names
		return e
	}
	return nil
}
