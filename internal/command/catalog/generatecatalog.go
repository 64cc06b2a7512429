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
// configurations name directly. It is catalog generate, and under kustomize's name edit
// generate-catalog.
func GenerateCommand(a *cli.Invocation, name string) *cobra.Command {
	var o generateOptions
	cmd := &cobra.Command{
		Use:   name + " [DIR]",
		Short: "Write a catalog of the functions that a directory uses",
		Long: `Write a catalog of all functions that the configurations of a directory, its bases, components and imports name and that no trusted
catalog lists, with their current digests. Nothing is executed. Writing the catalog does not trust it: review it, then pass it to
--trusted-plugin-catalog or add it with 'krmflow trust add'.

--strip-providers removes the names of these functions from the configurations, since the catalog has them now. Nothing else in these files
changes. A configuration with options that a catalog cannot hold, such as arguments or mounts, is an error, and no file is written.

--localize also copies the entries of trusted remote catalogs that the directory uses, so that the new catalog replaces them. An entry without a
digest, or two entries for one kind, are errors.`,
		Example: "  krmflow catalog generate overlays/prod\n  krmflow catalog generate overlays/prod --strip-providers",
		Args:    options.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			switch {
			case o.dest != "":
			case loaders.IsRemote(dir) && !loaders.Exists(dir):
				return options.UsageError(fmt.Errorf("%s is remote: name the file to write with --output", diag.Redact(dir)))
			default:
				o.dest = filepath.Join(dir, "catalog.yaml")
			}
			return generateCatalog(a, cmd, dir, o)
		},
	}
	a.Flags.RegisterReading(cmd)
	a.Trusted.Register(cmd)
	cmd.Flags().StringVar(&a.Runtime, "container-runtime", "",
		"`engine` that runs containers: podman, docker or a path (default: from PATH)")
	cmd.Flags().StringVarP(&o.dest, "output", "o", "", "`FILE` to write (default: catalog.yaml in the directory)")
	cmd.Flags().BoolVar(&o.force, "force", false, "replace an existing file")
	cmd.Flags().BoolVar(&o.strip, "strip-providers", false, "remove the names of catalogued functions from configurations")
	cmd.Flags().BoolVar(&o.localize, "localize", false, "also copy the entries of remote catalogs that the directory uses")
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
	trusted, config, err := a.TrustedCatalogs()
	if err != nil {
		return err
	}
	// Nothing is executed: the permissive policy only lets the planner discover all functions.
	functions := planner.Functions{
		Trusted: trusted, Publishers: config.Publishers, PluginHome: options.PluginHome(),
		Policy: trust.Policy{AllowUncatalogued: true, AllowExec: true, AllowUnverified: true, AllowUnsandboxed: true, Network: true,
			Discover: true},
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
