package localize

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/loaders"
	"github.com/spf13/cobra"
)

// Command returns the localize command.
func Command(a *cli.Invocation) *cobra.Command {
	var o Options
	var unverified bool
	cmd := &cobra.Command{
		Use:   "localize [DIR [DEST]]",
		Short: "Copy a directory with all remote content it refers to",
		Long: `Copy a directory and everything that it refers to into a new directory, and change remote references to references to the copies. Nothing else in the
files changes. Local files must be inside the scope: --scope, by default the directory itself. Remote references must have a ref or digest. Then
both directories are built: the copy must render the same bytes.`,
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
	cmd.Flags().StringVar(&o.Scope, "scope", "", "`DIR` that contains all local files to copy (default: the directory)")
	cmd.Flags().BoolVar(&unverified, "no-verify", false, "do not compare the copy with the directory")
	return cmd
}

func localizeDir(a *cli.Invocation, cmd *cobra.Command, o Options, unverified bool) error {
	e, err := a.Engine(cmd)
	if err != nil {
		return err
	}
	opts, err := e.Prepare(cmd.Context(), []string{o.Target})
	if err != nil {
		return err
	}
	fetch, end := opts.Sources.Fetching(cmd.Context()) // shared with the renders, so that they see the copied content
	defer end()
	files := loaders.NewLocal(cmd.Context(), loaders.Config{Cwd: opts.Plan.Cwd, Roots: []string{o.Target}, Budget: opts.Plan.Input,
		Fetch: fetch})
	dest, root, err := Run(files, o)
	if err != nil {
		return err
	}
	if !unverified {
		if err := sameRender(a, cmd, fetch, o.Target, root); err != nil {
			return errors.Join(err, diag.Errorf(diag.Pos{}, "", "%s was created, but it was not verified that it renders the same",
				dest).Hint("to copy without verification, add --no-verify"))
		}
	}
	return a.Print(fmt.Sprintf("localized %s to %s\n", diag.Redact(o.Target), dest))
}

// sameRender renders a directory and its copy and returns an error if the results differ.
func sameRender(a *cli.Invocation, cmd *cobra.Command, fetch loaders.Fetch, dir, copied string) error {
	run, err := a.Plan(cmd, engine.Request{Dirs: []string{dir, copied}, Fetch: fetch})
	if err != nil {
		return err
	}
	results, err := engine.Texts(run.Results(cmd.Context(), engine.Hooks{}))
	if err != nil {
		return err
	}
	if !bytes.Equal(results[diag.Redact(dir)], results[copied]) {
		return diag.Errorf(diag.Pos{}, "", "%s does not render the same as %s", copied,
			diag.Redact(dir)).Hint("compare the output of both builds with 'diff'")
	}
	return nil
}
