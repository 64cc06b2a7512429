package main

import (
	"context"
	"errors"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/scheduler"
	"github.com/spf13/cobra"
)

func buildCommand(a *app) *cobra.Command {
	var dest string
	cmd := &cobra.Command{
		Use:   "build [DIR]",
		Short: "Render one directory as kustomize build does",
		Long: `Render one directory to stdout, or with -o to a file or folder. The flags are those of kustomize build and mean the
same, so that krmflow build can take its place in scripts.`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			if dest == devStdout {
				dest = ""
			}
			plan, err := a.plan(cmd, []string{dir})
			if err != nil {
				return err
			}
			if dest != "" {
				if err := errors.Join(a.refuseInput(dest, plan), writeFailure(output.BuildCheck(dest))); err != nil {
					return err
				}
			}
			if err := a.strictPlan(plan); err != nil {
				return err
			}
			var result *krm.List
			err = a.run(cmd.Context(), plan, a.log.node, func(_ graph.Root, list *krm.List) error {
				result = list
				return nil
			})
			if err := errors.Join(err, a.strictError()); err != nil {
				return err
			}
			if dest != "" {
				return writeFailure(output.BuildWrite(dest, result))
			}
			return a.writeWith(result.WriteYAML)
		},
	}
	a.flags.register(cmd)
	a.functionFlags.register(cmd)
	cmd.Flags().StringVarP(&dest, "output", "o", "", "write to this file, or to this folder if it exists: one file per resource")
	return cmd
}

// run runs the plan and calls event after each node and root with each root's list. It returns all failures as one error.
func (a *app) run(ctx context.Context, plan *planner.Plan, event func(scheduler.Event), root func(graph.Root, *krm.List) error) error {
	if err := a.denied(plan); err != nil {
		return err
	}
	pool := newPool(ctx, a.runtime, a.thirdParty)
	defer a.exits.add(pool.close)()
	errs := scheduler.Run(ctx, plan.Graph, scheduler.Options{
		Jobs:      a.jobs,
		KeepGoing: a.keepGoing,
		Begin:     a.doing.begin,
		Event: func(e scheduler.Event) {
			a.doing.end(e.Node)
			event(e)
		},
		Warn: a.log.warnNode,
		Root: func(r graph.Root, list *krm.List) error {
			a.used.made.Add(int64(list.Size()))
			return root(r, list)
		},
		Executor: a.counted(pool.get),
		Call:     a.log.report,

		AllowErrorResults: a.allowErrorResults,
	})
	return errors.Join(errs...)
}
