package main

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/app"
	"github.com/krmflow/krmflow/internal/localize"
	"github.com/krmflow/krmflow/internal/options"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
	"github.com/spf13/cobra"
)

func localizeCommand(a *app.App) *cobra.Command {
	var o localize.Options
	var unverified bool
	cmd := &cobra.Command{
		Use:   "localize [DIR [DEST]]",
		Short: "Copy a directory with all that it refers to, so that nothing in the copy is remote",
		Long: `Copy a directory and everything that it refers to into a new directory, in which references to what is remote are references to copies.
Nothing else in the files changes. What is local must be in the scope, the directory itself if there is no --scope; what is remote
must have a ref or a digest. Then both are built: the copy must render the same bytes.`,
		Example: "  krmflow localize overlays/prod --scope .\n  krmflow localize 'https://github.com/org/repo//overlays/prod?ref=v1' copy",
		Args:    options.AtMost(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Target = "."
			if len(args) > 0 {
				o.Target = args[0]
			}
			if len(args) > 1 {
				o.Dest = args[1]
			}
			return localizeDir(a, cmd, o, unverified)
		},
	}
	a.Flags.Register(cmd)
	a.Functions.Register(cmd)
	cmd.Flags().StringVar(&o.Scope, "scope", "", "directory that holds all that is copied (default: the directory itself)")
	cmd.Flags().BoolVar(&unverified, "no-verify", false, "do not build the directory and its copy to compare them")
	return cmd
}

func localizeDir(a *app.App, cmd *cobra.Command, o localize.Options, unverified bool) error {
	if err := a.Validate(); err != nil {
		return err
	}
	a.StartLog()
	sources, err := a.Sources(cmd, []string{o.Target})
	if err != nil {
		return err
	}
	opts := a.PlannerOptions(cmd, planner.Functions{})
	var end func()
	a.Fetch, end = sources.Fetching(cmd.Context()) // also for the builds: they see what was copied
	defer end()
	files := loaders.NewLocal(cmd.Context(), loaders.Config{Cwd: opts.Cwd, Roots: []string{o.Target}, Budget: opts.Input, Fetch: a.Fetch})
	dest, root, err := localize.Run(files, o)
	if err != nil {
		return err
	}
	if !unverified {
		if err := sameRender(a, cmd, o.Target, root); err != nil {
			return errors.Join(err, diag.Errorf(diag.Pos{}, "", "%s is there, but nothing has shown that it renders the same", dest).Hint("--no-verify makes a copy that is not rendered"))
		}
	}
	return a.Print(fmt.Sprintf("localized %s to %s\n", diag.Redact(o.Target), dest))
}

// sameRender renders a directory and its copy and returns an error if the results differ.
func sameRender(a *app.App, cmd *cobra.Command, dir, copied string) error {
	_, results, err := rendered(a, cmd, dir, copied)
	if err != nil {
		return err
	}
	if !bytes.Equal(results[diag.Redact(dir)].Bytes(), results[copied].Bytes()) {
		return diag.Errorf(diag.Pos{}, "", "%s renders something else than %s", copied, diag.Redact(dir)).Hint("'diff' of both builds shows what")
	}
	return nil
}

// rendered returns what directories render, by their names in the plan, and that plan.
func rendered(a *app.App, cmd *cobra.Command, dirs ...string) (*planner.Plan, map[string]*bytes.Buffer, error) {
	plan, err := a.Plan(cmd, dirs)
	if err == nil {
		err = a.MayRun(plan)
	}
	if err != nil {
		return nil, nil, err
	}
	results := map[string]*bytes.Buffer{}
	for _, dir := range dirs {
		results[diag.Redact(dir)] = &bytes.Buffer{}
	}
	o, end := a.RunOptions(cmd.Context(), nil, func(r graph.Root, list *krm.List) error {
		return list.WriteYAML(results[r.Dir])
	})
	defer end()
	return plan, results, render.Run(cmd.Context(), plan, o)
}
