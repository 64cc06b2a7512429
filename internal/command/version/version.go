// Package version implements the version command.
package version

import (
	"errors"
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/cli/settings"
	"github.com/krmflow/krmflow/planner"
	"github.com/spf13/cobra"
)

// Command returns the version command.
func Command(a *cli.Invocation) *cobra.Command {
	var short bool
	var format string
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  krmflow version\n  krmflow version -o json",
		Args:    options.AtMost(0),
		RunE: func(*cobra.Command, []string) error {
			p := a.Name.Provenance(planner.KustomizeVersion)
			switch {
			case short && format != "":
				return options.UsageError(errors.New("--short and --output exclude each other"))
			case short:
				return a.Print(a.Name.Short(p) + "\n")
			case format == "json":
				return a.Print(p.JSON())
			case format == "yaml":
				return a.Print(p.YAML())
			case format != "":
				return options.UsageError(fmt.Errorf("--output is %q, not json or yaml", format))
			}
			return a.Print(a.Name.Text(p, compiledIn()))
		},
	}
	cmd.Flags().BoolVar(&short, "short", false, "print only the version number")
	cmd.Flags().StringVarP(&format, "output", "o", "", "output `format`: json or yaml, with build details")
	return cmd
}

// compiledIn returns a line for each catalog that is trusted because it was compiled in.
func compiledIn() string {
	var trusts strings.Builder
	for _, s := range settings.BuiltIn() {
		fmt.Fprintf(&trusts, "trusts %s, which is compiled in\n", s.Ref)
	}
	if settings.Locked() {
		trusts.WriteString("trusts nothing else\n")
	}
	return trusts.String()
}
