package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/app"
	"github.com/krmflow/krmflow/internal/console"
	"github.com/krmflow/krmflow/internal/validation"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
	"github.com/spf13/cobra"
)

func validateCommand(a *app.App) *cobra.Command {
	flags := validation.Flags{On: true}
	cmd := &cobra.Command{
		Use:   "validate [DIR...]",
		Short: "Say what an API server would refuse of what is rendered",
		Long: `Render the directories, write nothing, and compare each resource with the schemas of Kubernetes and of the
CustomResourceDefinitions that are rendered or named by --crds. Each mistake is told at the file and line that cause it: those of
the resource, of a patch or of another step. Functions run as they do for build.`,
		Example: "  krmflow validate overlays/prod\n  krmflow validate -R . --kube-version 1.31 --crds crds/",
		RunE: func(cmd *cobra.Command, args []string) error {
			check, err := flags.New(cmd)
			if err != nil {
				return err
			}
			_, plan, err := a.PlanRoots(cmd, args)
			if err != nil {
				return err
			}
			if err := a.MayRun(plan); err != nil {
				return err
			}
			failed := errors.Join(plan.Err(), renderFor(cmd.Context(), a, plan, check))
			if failed != nil && (!a.KeepGoing || cmd.Context().Err() != nil) {
				return failed
			}
			report := check.End(plan)
			err = printProblems(a, report)
			if err := a.Print(report.Summary()); err != nil {
				return err
			}
			return cmp.Or(errors.Join(failed, a.StrictError()), err)
		},
	}
	a.RegisterRendering(cmd)
	flags.RegisterAlways(cmd)
	return cmd
}

// renderFor runs a plan for its validation alone.
func renderFor(ctx context.Context, a *app.App, plan *planner.Plan, check *validation.Run) error {
	o, end := a.RunOptions(ctx, nil, func(root graph.Root, list *krm.List) error {
		check.Root(root, list)
		return nil
	})
	defer end()
	return render.Run(ctx, plan, o)
}

// validatePlan validates what a plan makes, without the roots that call functions: a plan runs none.
func validatePlan(ctx context.Context, a *app.App, check *validation.Run, plan *planner.Plan) error {
	calls := map[*graph.Node]bool{}
	for _, n := range plan.Graph.Calls() {
		calls[n] = true
	}
	out := plan.Graph.RootsThatNeed(calls)
	pure := *plan
	pure.Denied = nil
	pure.Graph = plan.Graph.Only(func(r graph.Root) bool { return !slices.Contains(out, r) })
	failed := renderFor(ctx, a, &pure, check)
	if len(out) > 0 {
		a.Log.Warn(planner.Warning{Msg: fmt.Sprintf("%s of %d not validated: functions have to run for that", diag.Count(len(out), "root"), len(plan.Graph.Roots)),
			Hints: []string{"krmflow validate runs them"}})
	}
	return cmp.Or(failed, validated(a, check, &pure))
}

// validated prints what a run has found, and the summary, to stderr. It returns an error if the output is wrong.
func validated(a *app.App, check *validation.Run, plan *planner.Plan) error {
	report := check.End(plan)
	err := printProblems(a, report)
	if !a.Quiet && a.LogFormat != "json" {
		_, _ = a.Stderr.Write([]byte(report.Summary())) // for people
	}
	return cmp.Or(a.StrictError(), err)
}

// errInvalid ends a command whose mistakes are printed already. Beside another error there is no need for it.
var errInvalid = errors.New("what is rendered is not valid")

// maxProblems is how many problems are printed.
const maxProblems = 1000

// printProblems prints what was found, and returns errInvalid if there are errors.
func printProblems(a *app.App, report *validation.Report) error {
	to := console.Reporter{W: a.Stderr, JSON: a.LogFormat == "json"}
	for i := range report.Problems[:min(len(report.Problems), maxProblems)] {
		p := &report.Problems[i]
		e := p.Error()
		if p.Warning {
			a.Log.Warn(planner.Warning{Pos: e.Pos, Field: e.Field, Msg: e.Msg, Hints: e.Hints})
			continue
		}
		to.Print(e)
	}
	if report.Errors > 0 {
		return errInvalid
	}
	return nil
}
