// Package validate implements the validate command.
package validate

import (
	"errors"

	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/review/validation"
	"github.com/spf13/cobra"
)

// Command returns the validate command.
func Command(a *cli.Invocation) *cobra.Command {
	flags := validation.Flags{On: true}
	cmd := &cobra.Command{
		Use:   "validate [DIR...]",
		Short: "Check rendered resources against the Kubernetes schemas",
		Long: `Render the directories and compare each resource with the schemas of Kubernetes, and of CustomResourceDefinitions that are rendered or named by
--crds. Nothing is written. Each error names the file and line that cause it: in a resource, a patch or another step. Functions run as in build.`,
		Example: "  krmflow validate overlays/prod\n  krmflow validate -R . --kube-version 1.31 --crds crds/",
		RunE: func(cmd *cobra.Command, args []string) error {
			check, err := flags.New(cmd)
			if err != nil {
				return err
			}
			run, err := a.Plan(cmd, engine.Request{Args: args})
			if err != nil {
				return err
			}
			if err := run.Denied(); err != nil && (!a.KeepGoing || a.StrictError() != nil) {
				return err
			}
			failed := run.Plan().Err()
			for _, err := range run.Results(cmd.Context(), engine.Hooks{Root: check.Root}) {
				failed = errors.Join(failed, err)
			}
			if failed != nil && (!a.KeepGoing || cmd.Context().Err() != nil) {
				return failed
			}
			failed = errors.Join(failed, check.Evaluate(cmd.Context(), a))
			return errors.Join(failed, validation.Checked(a, check, run))
		},
	}
	a.RegisterRendering(cmd)
	a.RegisterShard(cmd)
	a.RegisterReport(cmd)
	flags.RegisterAlways(cmd)
	flags.RegisterRules(cmd)
	return cmd
}
