package create

import (
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/spf13/cobra"
)

// Command returns the create command.
func Command(a *cli.Invocation) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:     "create",
		Aliases: []string{"init"},
		Short:   "Write a new kustomization file",
		Example: "  krmflow create --resources ../base --namespace staging --nameprefix acme-\n  krmflow create --autodetect --recursive",
		Args:    options.AtMost(0),
		RunE: func(*cobra.Command, []string) error {
			_, err := o.Write()
			return err
		},
	}
	o.Register(cmd)
	return cmd
}
