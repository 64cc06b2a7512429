package main

import (
	"github.com/krmflow/krmflow/internal/catalogs"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/editing"
	"github.com/krmflow/krmflow/internal/options"
	"github.com/spf13/cobra"
)

func editCommand(a *cli.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "edit",
		Short: "Change files that a render reads",
		Long: `Change a kustomization file as 'kustomize edit' does, and leave all else in it byte for byte. Edits with --and between them are one:
the file is written once, if all of them succeed.`,
		Example: "  krmflow edit -C overlays/prod set image web:v2 --and set namespace prod --dry-run",
	}
	session := &editing.Session{Stdout: a.Stdout, Stderr: a.Stderr, More: a.MoreEdits, Usage: usageError,
		FlagError: func(cmd *cobra.Command, err error) error { return options.FlagError(cmd, cmd.Root(), err) }}
	cmd.AddCommand(session.Commands(cmd)...)
	generate := catalogs.GenerateCommand(a)
	generate.PreRunE = session.Refuse
	cmd.AddCommand(generate)
	return cmd
}
