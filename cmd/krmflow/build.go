package main

import (
	"errors"

	"github.com/krmflow/krmflow/internal/app"
	"github.com/krmflow/krmflow/internal/options"
	"github.com/krmflow/krmflow/internal/profile"
	"github.com/krmflow/krmflow/internal/reuse"
	"github.com/krmflow/krmflow/internal/sink"
	"github.com/krmflow/krmflow/internal/stdout"
	"github.com/krmflow/krmflow/internal/validation"
	"github.com/spf13/cobra"
)

func buildCommand(a *app.App) *cobra.Command {
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
			var text []byte // of an earlier run
			if dest == "" && check == nil {
				a.Reuse(func(_ string, made *reuse.Record) (ok bool) {
					text, ok = a.Kept(made)
					return ok
				})
			}
			plan, err := a.Plan(cmd, []string{dir})
			if err != nil {
				return err
			}
			if a.Reused(dir) != nil {
				a.Log.Unchanged(dir)
				if err := a.StrictError(); err != nil {
					return err
				}
				_, err := a.Stdout.Write(text)
				return err
			}
			if dest != "" {
				if err := errors.Join(refuseInput(a, dest, plan), sink.CheckBuild(dest)); err != nil {
					return err
				}
			}
			result, err := a.RunOne(cmd.Context(), plan)
			if err != nil {
				return err
			}
			a.Recorder.Stage(profile.Writing)
			if check != nil {
				check.Root(plan.Graph.Roots[0], result)
				if err := validated(a, check, plan); err != nil {
					return err
				}
			}
			if dest != "" {
				return sink.WriteBuild(dest, result, a.RememberWritten)
			}
			return a.RememberText(plan, result)
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
