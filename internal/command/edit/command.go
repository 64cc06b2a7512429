package edit

import (
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/command/catalog"
	"github.com/spf13/cobra"
)

// Command returns the edit command.
func Command(a *cli.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "edit",
		Short: "Change a kustomization file",
		Long: `Change a kustomization file as kustomize edit does, and keep the rest of the file byte for byte. Edits joined by --and are one edit: the file is written
once, if all of them succeed.`,
		Example: "  krmflow edit -C overlays/prod set image web:v2 --and set namespace prod --dry-run",
	}
	session := &Session{Stdout: a.Stdout, Stderr: a.Stderr, More: a.MoreEdits, Usage: options.UsageError,
		FlagError: func(cmd *cobra.Command, err error) error { return options.FlagError(cmd, cmd.Root(), err) }}
	cmd.AddCommand(session.Commands(cmd)...)
	generate := catalog.GenerateCommand(a, "generate-catalog")
	generate.PreRunE, generate.Hidden = session.Refuse, true // catalog generate
	cmd.AddCommand(generate)
	return cmd
}
