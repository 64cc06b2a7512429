package wrap

import (
	"os"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/spf13/cobra"
)

// Command returns the wrap command.
func Command(a *cli.Invocation) *cobra.Command {
	most := options.Size(256 << 20)
	var json bool
	var names []string
	cmd := &cobra.Command{
		Use:   "wrap -- COMMAND [ARG...]",
		Short: "Turn a command that prints resources into a function",
		Long: `Read a ResourceList from stdin, run the command, merge the resources that it prints into the list, and write the list to stdout, as a function does. The
command runs without a shell.

--env names the variables for the command. Each has the value of the field of metadata or spec with the same name in lower or mixed case: NAME is
metadata.name, REPLICAS is spec.replicas; spec takes precedence. Without --env, the schema in the catalog entry selects the fields: metadata.name,
metadata.namespace and the declared fields become variables, unless the variable is already set. No other field becomes a variable. A field that is not a
scalar is passed as YAML. KUST_FUNCTION_CONFIG has the whole configuration, and stdin has the resources as a List. With --json these are JSON.

The output is merged into resources with the same apiVersion, kind, namespace and name; fields that the command does not print stay as they are. A new resource
without a path goes to config/NAME_KIND.yaml. Fields get a common order. With KUST_MERGE=false the output replaces the list; the resources of the
directory KUST_OVERRIDE_DIR are merged last. The exit code and stderr are those of the command.`,
		Example: "  krmflow fn wrap --env NAME,REPLICAS -- ./nginx-template.sh\n  krmflow fn source app --function-config nginx.yaml | krmflow fn wrap --env NAME,REPLICAS -- ./nginx-template.sh",
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
			if cmd.Flags().Changed("env") {
				if err := checkNames(names); err != nil {
					return err
				}
				names = append([]string{}, names...) // not nil: --env= means no variables
			}
			c := &Call{Args: args, Env: os.Environ(), Names: names, Stdin: a.Stdin, Stdout: a.Stdout, Stderr: a.Stderr,
				MaxOutput: int64(most), JSON: json}
			return c.Run(cmd.Context())
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().StringSliceVar(&names, "env", nil, "variable `names` for fields of the configuration, comma-separated")
	cmd.Flags().Var(&most, "max-output", "output limit of the command")
	cmd.Flags().BoolVar(&json, "json", false, "pass JSON to the command instead of YAML")
	return cmd
}

// checkNames returns an error for a name that cannot be a field name in upper case.
func checkNames(names []string) error {
	for _, name := range names {
		if !function.IsVariable(name) || strings.ToUpper(name) != name {
			return options.UsageError(diag.FlagValue.Errorf("illegal value --env %s; expected names in upper case: letters, digits and _",
				diag.OneLine(name)))
		}
	}
	return nil
}
