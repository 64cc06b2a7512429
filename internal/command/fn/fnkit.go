// Package fn implements the fn command for function authors: a template for new functions,
// golden tests, ResourceLists for pipes, and reference pages.
package fn

import (
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/spf13/cobra"
)

// Command returns the fn command.
func Command(a *cli.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fn",
		Short: "Write, test, run and describe functions",
	}
	cmd.AddCommand(initCommand(a), testCommand(a), docCommand(a), sourceCommand(a), sinkCommand(a))
	return cmd
}
