package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/app"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/plandoc"
	"github.com/spf13/cobra"
)

// printPlan plans the directories, prints the plan and returns what is wrong with it.
func printPlan(a *app.App, cmd *cobra.Command, args []string, write func(*planner.Plan, io.Writer) error) error {
	_, plan, err := a.PlanRoots(cmd, args)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := write(plan, &b); err != nil {
		return err
	}
	_, err = b.WriteTo(a.Stdout)
	return errors.Join(err, plan.Err(), a.Denied(plan), a.StrictError())
}

func planCommand(a *app.App) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "plan [DIR...]",
		Short: "Print what rendering would do, without doing it",
		Long: `Print the graph of everything that rendering the directories would do: each node with its inputs,
its configuration in one line and the file and field it comes from. Nothing is executed and nothing is written.`,
		Example: "  krmflow plan overlays/prod\n  krmflow plan -R . -o json",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch output {
			case "text":
				return printPlan(a, cmd, args, func(plan *planner.Plan, w io.Writer) error { return plandoc.WriteText(diag.SanitisingWriter(w), plan) })
			case "json":
				return printPlan(a, cmd, args, func(plan *planner.Plan, w io.Writer) error { return plandoc.WriteJSON(w, plan) })
			case "dot":
				return printPlan(a, cmd, args, drawDOT)
			}
			return usageError(fmt.Errorf("illegal value --output %s; legal values: text, json, dot", output))
		},
	}
	a.RegisterRendering(cmd)
	a.RegisterReport(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "text", "form of the plan: text, json or dot")
	return cmd
}
