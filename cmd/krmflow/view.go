package main

import (
	"errors"

	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
	"github.com/spf13/cobra"
)

func viewCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "view",
		Short: "Show what files come to, without running anything",
	}
	cmd.AddCommand(viewCompositionCommand(a), viewCatalogCommand(a))
	return cmd
}

func viewCompositionCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "composition [DIR]",
		Short: "Print a Composition with its imports, overrides and order worked in",
		Long: `Print the Composition of a directory as one list: what it imports, overrides and reorders is worked in. Saved as its
composition.yaml, the output gives the same plan, but for the places (file and line) that it shows. Nothing is executed.`,
		Example: "  krmflow view composition staging",
		Args:    atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			if err := a.validate(); err != nil {
				return err
			}
			a.log = a.flags.logger(a.stderr)
			sources, err := a.sources(cmd, []string{dir})
			if err != nil {
				return err
			}
			v, plan, err := render.Consolidate(cmd.Context(), dir, render.Options{Plan: a.plannerOptions(cmd, planner.Functions{}), Sources: &sources})
			if err != nil {
				return err
			}
			a.log.Planned(plan)
			a.warnUnlocked(sources.Lock)
			if err := plan.Err(); err != nil {
				return err
			}
			return errors.Join(a.print(string(yaml.AppendYAML(nil, v))), a.strictError())
		},
	}
	a.flags.registerReading(cmd)
	return cmd
}
