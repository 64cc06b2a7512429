// Package docs implements the docs command.
package docs

import (
	"fmt"

	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/help"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/cli/program"
	"github.com/spf13/cobra"
)

// Command returns the docs command.
func Command(a *cli.Invocation) *cobra.Command {
	cmd := &cobra.Command{Use: "docs", Short: "Write documentation of the commands"}
	cmd.AddCommand(&cobra.Command{
		Use:     "man DIR",
		Short:   "Write manual pages to a folder",
		Long:    "Write a manual page for each command to a folder, which is made if it is not there. Packages put them into share/man/man1.",
		Example: "  krmflow docs man share/man/man1 && man -M share/man krmflow-plan",
		Args:    options.Exactly(1, "a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			pages, err := help.WriteManual(cmd.Root(), program.Version(), args[0])
			if err != nil {
				return err
			}
			return a.Print(fmt.Sprintf("wrote %d pages to %s\n", len(pages), args[0]))
		},
	})
	return cmd
}
