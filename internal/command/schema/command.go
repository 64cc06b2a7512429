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
		Short: "Print the JSON Schema of a krmflow file or output",
		Long: `Print the JSON Schema (draft 2020-12) of Composition, Catalog, Plan, Lock, Test, Diff or PlanDiff. An editor with the YAML language server
completes and checks a file that begins with this line, with a path relative to the file:

  # yaml-language-server: $schema=composition.schema.json`,
		Example:   "  krmflow schema composition > composition.schema.json",
		ValidArgs: Kinds,
		Args:      options.Exactly(1, "a kind: "+strings.Join(Kinds, ", ")),
		RunE: func(_ *cobra.Command, args []string) error {
			text, ok := Of(args[0])
			if !ok {
				e := diag.Errorf(diag.Pos{}, "", "no schema for %q; schemas: %s", args[0], strings.Join(Kinds, ", "))
				e.Hints = diag.DidYouMean(args[0], Kinds)
				return options.UsageError(e)
			}
			return a.Print(text)
		},
	}
}
