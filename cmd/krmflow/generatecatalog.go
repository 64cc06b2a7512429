package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/catalogs"
	"github.com/krmflow/krmflow/internal/editing"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
	"github.com/krmflow/krmflow/trust"
	"github.com/spf13/cobra"
)

func editCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "edit",
		Short: "Change files that a render reads",
		Long: `Change a kustomization file as 'kustomize edit' does, and leave all else in it byte for byte. Edits with --and between them are one:
the file is written once, if all of them succeed.`,
		Example: "  krmflow edit -C overlays/prod set image web:v2 --and set namespace prod --dry-run",
	}
	generate := generateCatalogCommand(a)
	cmd.AddCommand(generate)
	if a.edits {
		session := &editing.Session{Stdout: a.stdout, Stderr: a.stderr, More: a.moreEdits, Usage: usageError, FlagError: flagError}
		cmd.AddCommand(session.Commands(cmd)...)
		generate.PreRunE = session.Refuse
	}
	return cmd
}

func generateCatalogCommand(a *app) *cobra.Command {
	var dest string
	var force bool
	cmd := &cobra.Command{
		Use:   "generate-catalog [DIR]",
		Short: "Write a catalog of the functions that configurations name themselves",
		Long: `Write a catalog that lists each function which a configuration of the directory, its bases, components and imports names and no trusted
catalog lists, with the digest that it has now. Nothing is executed. The catalog trusts nothing by itself: look at it, then name it with
--trusted-plugin-catalog or add it with 'krmflow trust add'.`,
		Example: "  krmflow edit generate-catalog overlays/prod",
		Args:    atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			if dest == "" {
				dest = filepath.Join(dir, "catalog.yaml")
			}
			return a.generateCatalog(cmd, dir, dest, force)
		},
	}
	a.flags.registerReading(cmd)
	a.functionFlags.trusted.register(cmd)
	cmd.Flags().StringVar(&a.runtime, "container-runtime", "", "podman, docker or the path of one of them (default: the first of them on PATH)")
	cmd.Flags().StringVarP(&dest, "output", "o", "", "file to write (default: catalog.yaml in the directory)")
	cmd.Flags().BoolVar(&force, "force", false, "replace a file that exists")
	return cmd
}

func (a *app) generateCatalog(cmd *cobra.Command, dir, dest string, force bool) error {
	if err := a.validate(); err != nil {
		return err
	}
	a.log = a.flags.logger(a.stderr)
	if _, err := os.Lstat(dest); err == nil && !force {
		return diag.Errorf(diag.Pos{}, "", "%s exists", dest).Hint("add --force to replace it")
	}
	beside, err := filepath.EvalSymlinks(filepath.Dir(dest))
	if err == nil {
		beside, err = filepath.Abs(beside)
	}
	if err != nil {
		return err
	}
	trusted, publishers, err := a.trustedCatalogs()
	if err != nil {
		return err
	}
	// Nothing runs: the policy only lets the planner find out what there is.
	functions := planner.Functions{
		Trusted: trusted, Publishers: publishers, PluginHome: pluginHome(),
		Policy: trust.Policy{AllowUncatalogued: true, AllowExec: true, AllowUnverified: true, AllowUnsandboxed: true, Network: true},
	}
	sources, err := a.sources(cmd, []string{dir})
	if err != nil {
		return err
	}
	plan, err := render.Compile(cmd.Context(), render.Options{Dirs: []string{dir}, Plan: a.plannerOptions(cmd, functions), ContainerRuntime: a.runtime, Sources: sources})
	if err != nil {
		return err
	}
	if err := plan.Err(); err != nil {
		return err
	}
	entries, err := catalogs.Generate(plan.Graph, plan.Decisions, beside)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return a.print("no configuration names a function that no trusted catalog lists: nothing is written\n")
	}
	if err := output.WriteFileAtomic(dest, yaml.AppendYAML(nil, catalog.Of(entries).Value()), 0o644); err != nil {
		return err
	}
	return a.print(fmt.Sprintf("%s lists %s; look at it before you trust it\n", dest, diag.Count(len(entries), "function")))
}
