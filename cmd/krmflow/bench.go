package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/krmflow/krmflow/bench"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/app"
	"github.com/krmflow/krmflow/internal/options"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func benchCommand(a *app.App) *cobra.Command {
	var o bench.Options
	cmd := &cobra.Command{
		Use:   "bench [DIR...]",
		Short: "Measure krmflow against kustomize on generated or real trees",
		Long: `Build trees with krmflow and with kustomize in turn, whole processes, compare their output byte for byte, and print
the medians of CPU and wall time and the peak memory with their ratios. Without directories the trees are generated; a
--tree that does not exist lists them. Without a kustomize on PATH, and for Compositions, krmflow is measured alone.

With -R all roots below the directories are built by one command of krmflow and one after the other by kustomize. The flags about
functions are those of build; kustomize gets those that it has, too.`,
		Example: "  krmflow bench\n  krmflow bench --tree overlays-100\n  krmflow bench overlays/prod\n  krmflow bench -R overlays --budget 5m",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkBench(&o, args); err != nil {
				return err
			}
			if o.Keep == "" { // made here, so that it is removed also if the comparison must be left
				dir, err := os.MkdirTemp("", "krmflow-bench-")
				if err != nil {
					return err
				}
				defer a.Exits.Add(func() { removeAll(dir) })()
				o.Keep = dir
			}
			o.Dirs, o.Together, o.Log = args, a.Recursive, a.Stderr
			if len(args) > 0 {
				roots, err := a.Roots(cmd, args)
				if err != nil {
					return err
				}
				a.StartLog()
				o.Dirs = roots.Dirs()
				o.Flags, o.KrmflowFlags = buildFlags(cmd)
			}
			err := bench.Compare(cmd.Context(), a.Stdout, o)
			var unknown *bench.TreeError
			if errors.As(err, &unknown) {
				e := *diag.AsError(err)
				e.Hints = diag.DidYouMean(unknown.Name, unknown.Names)
				return usageError(&e)
			}
			return err
		},
	}
	a.Functions.Register(cmd)
	fs := cmd.Flags()
	a.RegisterRoots(cmd, "measure every Kustomization and Composition at or below the directories together")
	fs.StringVar(&o.Kustomize, "kustomize", "", "kustomize program to compare with (default: the one on PATH)")
	fs.StringVar(&o.Krmflow, "krmflow", "", "krmflow program to measure (default: this one)")
	fs.Var((*options.Repeated)(&o.Trees), "tree", "generated tree to measure; may be repeated (default: all, and the growth of flat trees)")
	fs.StringVar(&o.Function, "function", "", "program that copies a ResourceList, to measure one more tree with calls of it")
	fs.IntVarP(&o.Runs, "runs", "n", 5, "how often each program builds a tree, after a first time whose output is compared")
	fs.DurationVar(&o.Budget, "budget", 0, "how long kustomize may take for a tree, all runs together (default 1m)")
	fs.Int64Var(&o.Seed, "seed", 1, "seed of the generated trees")
	fs.StringVar(&o.Keep, "keep", "", "folder to make the generated trees in and to leave them")
	fs.BoolVar(&o.JSON, "json", false, "print one JSON document")
	return cmd
}

// buildFlags returns the flags about functions that cmd was given as both programs take them, and as krmflow alone does.
func buildFlags(cmd *cobra.Command) (both, ours []string) {
	build := &cobra.Command{}
	new(options.Functions).Register(build)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if build.Flags().Lookup(f.Name) == nil {
			return
		}
		values := []string{f.Value.String()}
		switch list := f.Value.(type) {
		case *options.Repeated:
			values = *list
		case *options.Catalogs:
			values = *list
		}
		for _, value := range values {
			flag := "--" + f.Name + "=" + value
			switch f.Name {
			case "enable-alpha-plugins", "enable-exec", "network", "network-name", "mount", "env", "as-current-user":
				both = append(both, flag)
			default:
				ours = append(ours, flag)
			}
		}
	})
	return both, ours
}

// removeAll removes a folder. Somebody may still be writing to it who does not know yet that the run has ended.
func removeAll(dir string) {
	for range 10 {
		if os.RemoveAll(dir) == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// checkBench refuses what cannot be measured before anything is.
func checkBench(o *bench.Options, dirs []string) error {
	if o.Runs < 1 {
		return usageError(errors.New("--runs must be at least 1"))
	}
	if len(o.Trees) > 0 && len(dirs) > 0 {
		return usageError(errors.New("--tree and directories exclude each other: either generated trees are measured or yours"))
	}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return fmt.Errorf("%s: this is no directory", diag.Redact(dir))
		}
	}
	return nil
}
