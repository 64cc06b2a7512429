package schema

import (
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/spf13/cobra"
)

// Command returns the schema command.
func Command(a *cli.Invocation) *cobra.Command {
	return &cobra.Command{
		Use:   "schema KIND",
		Short: "Print the JSON Schema of a kind of krmflow's own: " + strings.Join(Kinds, ", "),
		Long: `Print the JSON Schema (draft 2020-12) of Composition, Catalog, Plan, Lock, Test or Diff. An editor with the YAML language server completes and
checks a file that begins with the line

  # yaml-language-server: $schema=composition.schema.json

in which the path is relative to the file.`,
		Example:   "  krmflow schema composition > composition.schema.json",
		ValidArgs: Kinds,
		Args:      options.Exactly(1, "a kind: "+strings.Join(Kinds, ", ")),
		RunE: func(_ *cobra.Command, args []string) error {
			text, ok := Of(args[0])
			if !ok {
				e := diag.Errorf(diag.Pos{}, "", "no schema for %q, only for %s", args[0], strings.Join(Kinds, ", "))
				e.Hints = diag.DidYouMean(args[0], Kinds)
				return options.UsageError(e)
			}
			return a.Print(text)
		},
	}
}
