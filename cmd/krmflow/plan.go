package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/app"
	"github.com/krmflow/krmflow/internal/validation"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/plandoc"
	"github.com/spf13/cobra"
)

// printPlan plans the directories, prints the plan, validates what it makes unless check is nil, and returns what is wrong.
func printPlan(a *app.App, cmd *cobra.Command, args []string, check *validation.Run, write func(*planner.Plan, io.Writer) error) error {
	_, plan, err := a.PlanRoots(cmd, args)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := write(plan, &b); err != nil {
		return err
	}
	_, err = b.WriteTo(a.Stdout)
	err = errors.Join(err, plan.Err(), a.Denied(plan))
	if check == nil {
		return errors.Join(err, a.StrictError())
	}
	return errors.Join(err, validatePlan(cmd.Context(), a, check, plan))
}

func planCommand(a *app.App) *cobra.Command {
	var output string
	var validating validation.Flags
	cmd := &cobra.Command{
		Use:   "plan [DIR...]",
		Short: "Print what rendering would do, without doing it",
		Long: `Print the graph of everything that rendering the directories would do: each node with its inputs,
its configuration in one line and the file and field it comes from. Nothing is executed and nothing is written.`,
		Example: "  krmflow plan overlays/prod\n  krmflow plan -R . -o json",
		RunE: func(cmd *cobra.Command, args []string) error {
			check, err := validating.New(cmd)
			if err != nil {
				return err
			}
			switch output {
			case "text":
				return printPlan(a, cmd, args, check, func(plan *planner.Plan, w io.Writer) error { return plandoc.WriteText(diag.SanitisingWriter(w), plan) })
			case "json":
				return printPlan(a, cmd, args, check, func(plan *planner.Plan, w io.Writer) error { return plandoc.WriteJSON(w, plan) })
			case "dot":
				return printPlan(a, cmd, args, check, (*planner.Plan).WriteDOT)
			}
			return usageError(fmt.Errorf("illegal value --output %s; legal values: text, json, dot", output))
		},
	}
	a.RegisterRendering(cmd)
	validating.Register(cmd)
	a.RegisterReport(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "text", "form of the plan: text, json or dot")
	return cmd
}

func graphCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "graph [DIR...]",
		Short:   "Draw the plan in the DOT language",
		Example: "  krmflow graph overlays/prod | dot -Tsvg > plan.svg",
		RunE: func(cmd *cobra.Command, args []string) error {
			return printPlan(a, cmd, args, nil, (*planner.Plan).WriteDOT)
		},
	}
	a.RegisterRendering(cmd)
	return cmd
}
