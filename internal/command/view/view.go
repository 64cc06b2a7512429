// Package view implements the view command.
package view

import (
	"context"
	"errors"

	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/command/catalog"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
	"github.com/spf13/cobra"
)

// Command returns the view command.
func Command(a *cli.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "view",
		Short: "Show a Composition with its imports resolved",
	}
	show := catalog.ShowCommand(a, "catalog")
	show.Hidden = true // catalog show
	cmd.AddCommand(viewCompositionCommand(a), show)
	return cmd
}

func viewCompositionCommand(a *cli.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "composition [DIR]",
		Short: "Print a Composition with imports, overrides and order resolved",
		Long: `Print the Composition of a directory as one list, with its imports, overrides and order resolved. Saved as composition.yaml, the output has the same
plan except for file and line numbers. Nothing is executed.`,
		Example: "  krmflow view composition staging",
		Args:    options.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			var v yaml.Value
			compile := func(ctx context.Context, o render.Options) (plan *planner.Plan, err error) {
				v, plan, err = render.Consolidate(ctx, dir, o)
				return plan, err
			}
			if _, err := a.Plan(cmd, engine.Request{Dirs: []string{dir}, Compile: compile}); err != nil {
				return err
			}
			return errors.Join(a.Print(string(yaml.AppendYAML(nil, v))), a.StrictError())
		},
	}
	a.Flags.RegisterReading(cmd)
	return cmd
}
