package catalog

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/trust"
	"github.com/spf13/cobra"
)

// GenerateCommand returns the command that writes a catalog of the functions that
// configurations name directly.
func GenerateCommand(a *cli.Invocation) *cobra.Command {
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
		Args:    options.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			switch {
			case o.dest != "":
			case loaders.IsRemote(dir) && !loaders.Exists(dir):
				return options.UsageError(fmt.Errorf("%s is remote: name the file of its catalog with --output", diag.Redact(dir)))
			default:
				o.dest = filepath.Join(dir, "catalog.yaml")
			}
			return generateCatalog(a, cmd, dir, o)
		},
	}
	a.Flags.RegisterReading(cmd)
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

func generateCatalog(a *cli.Invocation, cmd *cobra.Command, dir string, o generateOptions) error {
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
	// Nothing is executed: the permissive policy only lets the planner discover all functions.
	functions := planner.Functions{
		Trusted: trusted, Publishers: publishers, PluginHome: options.PluginHome(),
		Policy: trust.Policy{AllowUncatalogued: true, AllowExec: true, AllowUnverified: true, AllowUnsandboxed: true, Network: true},
	}
	run, err := a.Plan(cmd, engine.Request{Dirs: []string{dir}, Functions: &functions})
	if err != nil {
		return err
	}
	plan := run.Plan()
	entries, err := Generate(plan.Graph, plan.Decisions, filepath.Join(beside, filepath.Base(o.dest)), o.localize)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return a.Print("no function to list: nothing was written\n")
	}
	var edits []Edit
	if o.strip {
		if edits, err = Strip(plan.Graph, plan.Decisions, entries); err != nil {
			return err
		}
	}
	if err := Write(o.dest, yaml.AppendYAML(nil, catalog.Of(entries).Value()), edits); err != nil {
		return err
	}
	text := fmt.Sprintf("%s lists %s; look at it before you trust it\n", o.dest, diag.Count(len(entries), "function"))
	for _, e := range edits {
		text += "changed " + e.Name + "\n"
	}
	return a.Print(text)
}
