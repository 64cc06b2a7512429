package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/app"
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
			return errors.Join(failed, validated(a, check, plan))
		},
	}
	a.RegisterRendering(cmd)
	a.RegisterReport(cmd)
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
	return errors.Join(failed, validated(a, check, &pure))
}

// validated returns what is wrong with the lists of a run. It prints warnings, and leaves the result to be the last line.
func validated(a *app.App, check *validation.Run, plan *planner.Plan) error {
	report := check.End(plan)
	for _, w := range report.Warnings() {
		a.Log.Warn(w)
	}
	a.Result = report.Summary(len(a.Opts.Dirs))
	return errors.Join(report.Err(), a.StrictError())
}
