package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/catalogs"
	"github.com/krmflow/krmflow/internal/editing"
	"github.com/krmflow/krmflow/internal/options"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
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
	session := &editing.Session{Stdout: a.stdout, Stderr: a.stderr, More: a.moreEdits, Usage: usageError, FlagError: options.FlagError}
	cmd.AddCommand(session.Commands(cmd)...)
	generate := generateCatalogCommand(a)
	generate.PreRunE = session.Refuse
	cmd.AddCommand(generate)
	return cmd
}

func generateCatalogCommand(a *app) *cobra.Command {
	var o generateOptions
	cmd := &cobra.Command{
		Use:   "generate-catalog [DIR]",
		Short: "Write a catalog of the functions that configurations name themselves",
		Long: `Write a catalog that lists each function which a configuration of the directory, its bases, components and imports names and no trusted
catalog lists, with the digest that it has now. Nothing is executed. The catalog trusts nothing by itself: look at it, then name it with
--trusted-plugin-catalog or add it with 'krmflow trust add'.

With --strip-providers the configurations do not name these functions any more: the catalog does. Nothing else in their files changes. A
configuration that says more about its function than a catalog can, such as arguments or mounts, is an error, and no file is written.

With --localize the entries of trusted remote catalogs that the directory uses are listed, too, as they are. The new catalog does without
these catalogs then. An entry without a digest, or two for one kind, are errors.`,
		Example: "  krmflow edit generate-catalog overlays/prod\n  krmflow edit generate-catalog overlays/prod --strip-providers",
		Args:    atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			switch {
			case o.dest != "":
			case loaders.IsRemote(dir) && !loaders.Exists(dir):
				return usageError(fmt.Errorf("%s is remote: say with --output where its catalog goes", diag.Redact(dir)))
			default:
				o.dest = filepath.Join(dir, "catalog.yaml")
			}
			return a.generateCatalog(cmd, dir, o)
		},
	}
	a.flags.registerReading(cmd)
	a.Trusted.Register(cmd)
	cmd.Flags().StringVar(&a.Runtime, "container-runtime", "", "podman, docker or the path of one of them (default: the first of them on PATH)")
	cmd.Flags().StringVarP(&o.dest, "output", "o", "", "file to write (default: catalog.yaml in the directory)")
	cmd.Flags().BoolVar(&o.force, "force", false, "replace a file that exists")
	cmd.Flags().BoolVar(&o.strip, "strip-providers", false, "take the names of the functions that the catalog lists out of the configurations")
	cmd.Flags().BoolVar(&o.localize, "localize", false, "copy the entries of remote catalogs that the directory uses")
	return cmd
}

type generateOptions struct {
	dest                   string
	force, strip, localize bool
}

func (a *app) generateCatalog(cmd *cobra.Command, dir string, o generateOptions) error {
	if err := a.validate(); err != nil {
		return err
	}
	a.log = a.flags.logger(a.stderr)
	if _, err := os.Lstat(o.dest); err == nil && !o.force {
		return diag.Errorf(diag.Pos{}, "", "%s exists", o.dest).Hint("add --force to replace it")
	}
	beside, err := filepath.EvalSymlinks(filepath.Dir(o.dest))
	if err == nil {
		beside, err = filepath.Abs(beside)
	}
	if err != nil {
		return err
	}
	trusted, publishers, err := a.TrustedCatalogs()
	if err != nil {
		return err
	}
	// Nothing runs: the policy only lets the planner find out what there is.
	functions := planner.Functions{
		Trusted: trusted, Publishers: publishers, PluginHome: options.PluginHome(),
		Policy: trust.Policy{AllowUncatalogued: true, AllowExec: true, AllowUnverified: true, AllowUnsandboxed: true, Network: true},
	}
	sources, err := a.sources(cmd, []string{dir})
	if err != nil {
		return err
	}
	plan, err := render.Compile(cmd.Context(), render.Options{Dirs: []string{dir}, Plan: a.plannerOptions(cmd, functions), Sources: &sources})
	if err != nil {
		return err
	}
	if err := plan.Err(); err != nil {
		return err
	}
	entries, err := catalogs.Generate(plan.Graph, plan.Decisions, filepath.Join(beside, filepath.Base(o.dest)), o.localize)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return a.print("there is no function to list: nothing is written\n")
	}
	var edits []catalogs.Edit
	if o.strip {
		if edits, err = catalogs.Strip(plan.Graph, plan.Decisions, entries); err != nil {
			return err
		}
	}
	if err := catalogs.Write(o.dest, yaml.AppendYAML(nil, catalog.Of(entries).Value()), edits); err != nil {
		return err
	}
	text := fmt.Sprintf("%s lists %s; look at it before you trust it\n", o.dest, diag.Count(len(entries), "function"))
	for _, e := range edits {
		text += "changed " + e.Name + "\n"
	}
	return a.print(text)
}
