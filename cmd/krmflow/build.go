package main

import (
	"context"
	"errors"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/stdout"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
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
			if dest == stdout.Dev {
				dest = ""
			}
			a.helm.Hash = a.HoldHelm
			plan, err := a.plan(cmd, []string{dir})
			if err != nil {
				return err
			}
			if dest != "" {
				if err := errors.Join(a.refuseInput(dest, plan), output.BuildCheck(dest)); err != nil {
					return err
				}
			}
			result, err := a.runOne(cmd.Context(), plan)
			if err != nil {
				return err
			}
			if dest != "" {
				return output.BuildWrite(dest, result)
			}
			return result.WriteYAML(a.stdout)
		},
	}
	a.flags.register(cmd)
	a.Functions.Register(cmd)
	cmd.Flags().StringVarP(&dest, "output", "o", "", "write to this file, or to this folder if it exists: one file per resource")
	return cmd
}

// runOne runs the plan of one root.
func (a *app) runOne(ctx context.Context, plan *planner.Plan) (result *krm.List, err error) {
	if err := a.mayRun(plan); err != nil {
		return nil, err
	}
	o, end := a.runOptions(ctx, nil, func(_ graph.Root, list *krm.List) error {
		result = list
		return nil
	})
	defer end()
	err = errors.Join(render.Run(ctx, plan, o), a.strictError())
	return result, err
}

// runOptions returns how a plan is run. The log gets what happens; event, unless it is nil, is called after each node, and root with
// each root's list. The caller calls end when the run has ended.
func (a *app) runOptions(ctx context.Context, event func(scheduler.Event), root func(graph.Root, *krm.List) error) (o render.Options, end func()) {
	o = a.opts
	pool := executors.NewPool(ctx, a.Program)
	o.Run = scheduler.Options{
		Jobs:      a.jobs,
		KeepGoing: a.keepGoing,
		Begin:     a.steps.Begin,
		Event: func(e scheduler.Event) {
			a.steps.End(e.Node)
			a.log.Node(e)
			if event != nil {
				event(e)
			}
		},
		Warn: a.log.WarnNode,
		Root: func(r graph.Root, list *krm.List) error {
			a.used.Made.Add(int64(list.Size()))
			return root(r, list)
		},
		Call: a.log.Call,

		AllowErrorResults: a.AllowErrorResults,

		Executor: func(runtime function.Runtime) (scheduler.Executor, error) { return pool.Get(runtime) },
	}
	return o, a.exits.Add(pool.Close)
}
