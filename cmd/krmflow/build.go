package main

import (
	"context"
	"errors"

	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/options"
	"github.com/krmflow/krmflow/internal/profile"
	"github.com/krmflow/krmflow/internal/sink"
	"github.com/krmflow/krmflow/internal/stdout"
	"github.com/krmflow/krmflow/internal/validation"
	"github.com/spf13/cobra"
)

func buildCommand(a *cli.Invocation) *cobra.Command {
	var dest string
	var validating validation.Flags
	cmd := &cobra.Command{
		Use:   "build [DIR]",
		Short: "Render one directory as kustomize build does",
		Long: `Render one directory to stdout, or with -o to a file or folder. The flags are those of kustomize build and mean the
same, so that krmflow build can take its place in scripts.`,
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
			if dest == stdout.Dev {
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
			if done, err := run.Kept(a.Stdout); done {
				return err
			}
			if dest != "" {
				if err := errors.Join(refuseInput(a, dest, run.Plan()), sink.CheckBuild(dest)); err != nil {
					return err
				}
			}
			result, err := onlyResult(cmd.Context(), a, run)
			if err != nil {
				return err
			}
			a.Recorder.Stage(profile.Writing)
			if check != nil {
				check.Root(result.Root, result.List)
				if err := validated(a, check, run); err != nil {
					return err
				}
			}
			if dest != "" {
				return sink.WriteBuild(dest, result.List, a.Earlier().SaveWritten)
			}
			return run.KeepList(a.Stdout, result.List)
		},
	}
	a.Flags.Register(cmd)
	a.Functions.Register(cmd)
	validating.Register(cmd)
	a.RegisterReport(cmd)
	a.RegisterProfile(cmd)
	cmd.Flags().StringVarP(&dest, "output", "o", "", "write to this file, or to this folder if it exists: one file per resource")
	return cmd
}

// onlyResult makes the only root of a run.
func onlyResult(ctx context.Context, a *cli.Invocation, run *engine.Run) (result engine.Result, err error) {
	for made, failed := range run.Results(ctx, engine.Hooks{}) {
		if err = failed; err == nil {
			result = made
		}
	}
	return result, errors.Join(err, a.StrictError())
}
