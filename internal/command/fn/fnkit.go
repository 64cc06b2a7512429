// Package fn is the command fn, for those who write functions: one to begin with, golden tests, lists for pipes, and pages about functions.
package fn

import (
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/spf13/cobra"
)

// Command returns the command fn.
func Command(a *cli.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fn",
		Short: "Write, test and describe functions",
	}
	cmd.AddCommand(initCommand(a), testCommand(a), docCommand(a), sourceCommand(a), sinkCommand(a))
	return cmd
}
