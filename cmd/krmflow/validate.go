package main

import (
	"context"
	"errors"

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

// validated returns what is wrong with the lists of a run, as [findings] does, and that warnings are errors if they are.
func validated(a *app.App, check *validation.Run, plan *planner.Plan) error {
	return errors.Join(findings(a, check, plan), a.StrictError())
}

// findings returns what is wrong with the lists of a run. It prints warnings, and leaves the result to be the last line.
func findings(a *app.App, check *validation.Run, plan *planner.Plan) error {
	report := check.End(plan)
	for _, w := range report.Warnings() {
		a.Log.Warn(w)
	}
	a.Result = report.Summary(len(a.Opts.Dirs))
	return report.Err()
}
