// Package build implements the build command.
package build

import (
	"errors"
	"io"

	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/cli/terminal"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/engine/profile"
	"github.com/krmflow/krmflow/internal/engine/sink"
	"github.com/krmflow/krmflow/internal/review/validation"
	"github.com/spf13/cobra"
)

// Command returns the build command.
func Command(a *cli.Invocation) *cobra.Command {
	var dest string
	var validating validation.Flags
	cmd := &cobra.Command{
		Use:   "build [DIR]",
		Short: "Render one directory, as kustomize build does",
		Long: `Render one directory to stdout, or with -o to a file or folder. All flags of kustomize build exist and have the same meaning, so krmflow build can
replace it in scripts.`,
		Example: "  krmflow build overlays/prod | kubectl apply -f-\n  krmflow build overlays/prod --trusted-plugin-catalog=catalog.yaml",
		Args:    options.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			if err := a.StartProfile(cmd); err != nil {
				return err
			}
			if dest == terminal.StdoutDevice {
				dest = ""
			}
			check, err := validating.New(cmd)
			if err != nil {
				return err
			}
			a.Helm.Hash = a.HoldHelm
			run, err := a.Plan(cmd, engine.Request{Dirs: []string{dir}, Text: dest == "" && check == nil})
			if err != nil {
				return err
			}
			return run.Print(a.Stdout, func(w io.Writer) error {
				if dest != "" {
					if err := errors.Join(a.RefuseInput(dest, run.Plan()), sink.CheckBuild(dest)); err != nil {
						return err
					}
				}
				list, err := run.List(cmd.Context())
				if err != nil {
					return err
				}
				a.Recorder.Stage(profile.Writing)
				if check != nil {
					check.Root(run.Plan().Graph.Roots[0], list)
					if err := validation.Checked(a, check, run); err != nil {
						return err
					}
				}
				if dest != "" {
					return sink.WriteBuild(dest, list, run.LastWrite(dest).Save)
				}
				return list.WriteYAML(w)
			})
		},
	}
	a.Flags.Register(cmd)
	a.Functions.Register(cmd)
	validating.Register(cmd)
	a.RegisterReport(cmd)
	a.RegisterProfile(cmd)
	cmd.Flags().StringVarP(&dest, "output", "o", "", "`FILE` to write, or an existing folder (one file per resource)")
	return cmd
}
