package options

import (
	"github.com/krmflow/krmflow/diag"
	"github.com/spf13/cobra"
)

// Exactly returns an argument check for n arguments. Its failure is a usage error; what
// describes the arguments in the message about missing ones.
func Exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return UsageError(diag.Arguments.Errorf("%s needs %s", cmd.CommandPath(), what))
		}
		return AtMost(n)(cmd, args)
	}
}

// AtMost returns an argument check for at most n arguments. Its failure is a usage error.
func AtMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		if n == 0 {
			e := diag.Errorf(diag.Pos{}, "", "%s takes no arguments, not %q", cmd.Name(), args[0]).With(diag.Arguments)
			if cmd.Flags().Lookup("directory") != nil {
				e.Hint("for another directory add -C %s", diag.ShellWord(args[0]))
			}
			return UsageError(e)
		}
		e := diag.Errorf(diag.Pos{}, "", "%s takes no more than %d argument; %q is too many", cmd.Name(), n, args[n]).With(diag.Arguments)
		if cmd.Name() == "build" {
			e.Hint("plan and apply-render take several directories")
		}
		return UsageError(e)
	}
}
