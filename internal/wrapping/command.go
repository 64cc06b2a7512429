package wrapping

import (
	"os"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/app"
	"github.com/krmflow/krmflow/internal/options"
	"github.com/spf13/cobra"
)

// Command returns the command wrap.
func Command(a *app.App) *cobra.Command {
	var most int64
	var json bool
	cmd := &cobra.Command{
		Use:   "wrap -- COMMAND [ARG...]",
		Short: "Make a function of a command that prints resources",
		Long: `Read a ResourceList from stdin, run the command, merge the resources that it prints into the list, and write that to stdout: what a function
does. The command is not run by a shell.

It finds the fields of metadata and spec of its configuration in variables that are called as they are, in upper case: metadata.name is NAME and
spec.replicas is REPLICAS. A field that is no scalar is YAML. KUST_FUNCTION_CONFIG has the whole configuration, and stdin the resources as a List. With --json these are JSON.

What it prints is merged into a resource of the same apiVersion, kind, namespace and name, so that what the command does not say stays as it
is. A new resource without a path belongs to config/NAME_KIND.yaml. Fields get a common order. With KUST_MERGE=false the output takes the place of
the list; the resources of the directory KUST_OVERRIDE_DIR are merged in at the end. The exit code and stderr are those of the command.`,
		Example: "  krmflow wrap -- ./nginx-template.sh\n  krmflow fn source app --function-config nginx.yaml | krmflow wrap -- ./nginx-template.sh",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return options.UsageError(diag.Arguments.Errorf("wrap needs the command to run"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if most <= 0 {
				return options.UsageError(diag.FlagValue.Errorf("--max-output must be more than 0"))
			}
			c := &Call{Args: args, Env: os.Environ(), Stdin: a.Stdin, Stdout: a.Stdout, Stderr: a.Stderr, MaxOutput: most, JSON: json}
			return c.Run(cmd.Context())
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().Int64Var(&most, "max-output", 256<<20, "bytes that the command may print")
	cmd.Flags().BoolVar(&json, "json", false, "give the command JSON in the place of YAML, for languages that read no YAML")
	return cmd
}
