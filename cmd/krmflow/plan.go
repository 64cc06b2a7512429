package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/options"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/plandoc"
	"github.com/krmflow/krmflow/render"
	"github.com/spf13/cobra"
)

// print writes the product of a command to stdout. That this fails is known to who has made stdout: see [stdout.Writer].
func (a *app) print(s string) error {
	_, err := io.WriteString(a.stdout, s)
	return err
}

// plan compiles the roots and prints the warnings. Mistakes are returned as one error unless keepGoing is true and some
// roots have none.
func (a *app) plan(cmd *cobra.Command, dirs []string) (*planner.Plan, error) {
	if err := a.validate(); err != nil {
		return nil, err
	}
	a.log = a.flags.logger(a.stderr)
	for _, w := range options.Outdated(cmd) {
		a.log.Warn(w)
	}
	functions, err := a.Planner()
	if err != nil {
		return nil, err
	}
	sources, err := a.sources(cmd, dirs)
	if err != nil {
		return nil, err
	}
	a.opts = render.Options{Dirs: dirs, Plan: a.plannerOptions(cmd, functions), Sources: &sources}
	plan, err := render.Compile(cmd.Context(), a.opts)
	if err != nil {
		return nil, err
	}
	a.log.Planned(plan)
	a.warnUnlocked(sources.Lock)
	if err := plan.Err(); err != nil && !a.keepGoing {
		for _, d := range plan.Denied {
			err = errors.Join(err, d.Err) // without its exit code: that of the mistake counts
		}
		return nil, err
	}
	return plan, nil
}

// strictError turns warnings into a failure if the user asked for it.
func (a *app) strictError() error {
	if n := a.log.Warnings(); a.strict && n > 0 {
		return fmt.Errorf("--strict: warnings are errors: %d", n)
	}
	return nil
}

// mayRun returns an error if a plan may not run: because functions of it may not, or because it has functions and what is known now
// makes the run fail.
func (a *app) mayRun(plan *planner.Plan) error {
	err := a.denied(plan)
	for range plan.Graph.Calls() {
		return errors.Join(err, a.strictError())
	}
	return err
}

// planRoots plans the directories that the arguments stand for.
func (a *app) planRoots(cmd *cobra.Command, args []string) (render.Roots, *planner.Plan, error) {
	roots, err := a.roots(cmd.Context(), args)
	if err != nil {
		return nil, nil, err
	}
	plan, err := a.plan(cmd, roots.Dirs())
	return roots, plan, err
}

// printPlan plans the directories, prints the plan and returns what is wrong with it.
func (a *app) printPlan(cmd *cobra.Command, args []string, write func(*planner.Plan, io.Writer) error) error {
	_, plan, err := a.planRoots(cmd, args)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := write(plan, &b); err != nil {
		return err
	}
	_, err = b.WriteTo(a.stdout)
	return errors.Join(err, plan.Err(), a.denied(plan), a.strictError())
}

func planCommand(a *app) *cobra.Command {
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
				return a.printPlan(cmd, args, func(plan *planner.Plan, w io.Writer) error { return plandoc.WriteText(diag.SanitisingWriter(w), plan) })
			case "json":
				return a.printPlan(cmd, args, func(plan *planner.Plan, w io.Writer) error { return plandoc.WriteJSON(w, plan) })
			case "dot":
				return a.printPlan(cmd, args, (*planner.Plan).WriteDOT)
			}
			return usageError(fmt.Errorf("illegal value --output %s; legal values: text, json, dot", output))
		},
	}
	a.registerRendering(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "text", "form of the plan: text, json or dot")
	return cmd
}

func graphCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "graph [DIR...]",
		Short:   "Draw the plan in the DOT language",
		Example: "  krmflow graph overlays/prod | dot -Tsvg > plan.svg",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.printPlan(cmd, args, (*planner.Plan).WriteDOT)
		},
	}
	a.registerRendering(cmd)
	return cmd
}
