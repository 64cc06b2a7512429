package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
	"github.com/krmflow/krmflow/trust"
	"github.com/spf13/cobra"
)

func editCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "edit", Short: "Write files that a render reads"}
	cmd.AddCommand(generateCatalogCommand(a))
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
	catalogs, publishers, err := a.trustedCatalogs()
	if err != nil {
		return err
	}
	// Nothing runs: the policy only lets the planner find out what there is.
	functions := planner.Functions{
		Trusted: catalogs, Publishers: publishers, PluginHome: pluginHome(),
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
	g := generatedCatalog{beside: beside}
	for call, n := range calls(plan.Graph) {
		g.add(call, plan.Decisions[n.ID])
	}
	if err := errors.Join(g.errs...); err != nil {
		return err
	}
	if len(g.entries) == 0 {
		return a.print("no configuration names a function that no trusted catalog lists: nothing is written\n")
	}
	if err := output.WriteFileAtomic(dest, yaml.AppendYAML(nil, catalog.Of(g.entries).Value()), 0o644); err != nil {
		return err
	}
	return a.print(fmt.Sprintf("%s lists %s; look at it before you trust it\n", dest, diag.Count(len(g.entries), "function")))
}

// generatedCatalog collects the entries of a catalog that lies in the folder beside.
type generatedCatalog struct {
	beside  string
	entries []*catalog.Entry
	at      []diag.Pos // of the first configuration of each
	errs    []error
}

// add makes an entry of a call, unless a trusted catalog has one.
func (g *generatedCatalog) add(call graph.Call, dec *trust.Decision) {
	if dec.Entry != nil {
		return
	}
	e, err := g.entry(call.Function, dec)
	if err != nil {
		g.errs = append(g.errs, err)
		return
	}
	e.GVK = krm.ParseGVK(call.Config.Get("apiVersion").Text(), call.Config.Get("kind").Text())
	for i, known := range g.entries {
		if known.GVK == e.GVK {
			if !addNeeds(known, e) {
				err := diag.Errorf(call.ConfigPos, "", "%s runs something else here than at %s", e.GVK, g.at[i])
				g.errs = append(g.errs, err.Hint("a catalog has one function for each apiVersion and kind: give one of them another kind"))
			}
			return
		}
	}
	g.entries, g.at = append(g.entries, e), append(g.at, call.ConfigPos)
}

// addNeeds adds what o needs to e and reports whether both run the same.
func addNeeds(e, o *catalog.Entry) bool {
	if (e.Container == nil) != (o.Container == nil) {
		return false
	}
	if e.Container == nil {
		e.AllowArgs = e.AllowArgs || o.AllowArgs
		return e.Exec[0] == o.Exec[0] && e.ExecRuntime == o.ExecRuntime
	}
	a, b := e.Container, o.Container
	a.Network, a.Storage, a.WritableStorage = a.Network || b.Network, a.Storage || b.Storage, a.WritableStorage || b.WritableStorage
	return a.Text == b.Text && a.Pin == b.Pin
}

// entry returns an entry with what runs for a configuration. What a flag can allow is no mistake in a container: the planner was not told
// which mounts there are.
func (g *generatedCatalog) entry(f function.Function, dec *trust.Decision) (*catalog.Entry, error) {
	for _, denial := range dec.Denials {
		if len(denial.Allow) == 0 || dec.Inline == nil || dec.Inline.Container == nil {
			return nil, denial.Err
		}
	}
	if in := dec.Inline.Container; in != nil {
		c := &catalog.Container{Text: in.Image, Network: in.Network != nil && *in.Network, Storage: len(in.Mounts) > 0}
		for _, m := range in.Mounts {
			c.WritableStorage = c.WritableStorage || m.Writable
		}
		c.Pin = catalog.Pin{Given: !dec.Digest.IsZero(), Digest: dec.Digest}
		return &catalog.Entry{Container: c}, nil
	}
	rel, err := filepath.Rel(g.beside, f.Program)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, fmt.Errorf("%s: the program %s is outside %s, where the catalog lies", f.Name, f.Program, g.beside)
	}
	program := catalog.Platform{URI: filepath.ToSlash(rel), Pin: catalog.Pin{Given: true, Digest: f.Digest}}
	return &catalog.Entry{Exec: []catalog.Platform{program}, ExecRuntime: dec.Inline.Exec.Runtime, AllowArgs: len(f.Args) > 0}, nil
}
