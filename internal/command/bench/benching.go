// Package bench implements the bench command, which profiles renders of directories and
// compares krmflow with kustomize.
package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/krmflow/krmflow/bench"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// measuring is the bench command with its own flags.
type measuring struct {
	*cli.Invocation
	o              bench.Options
	versus, form   string
	trace, html    string
	pprof          string
	baseline       string
	ofTrees, ofDir *pflag.FlagSet // flags for generated trees only, and for directories only
	flags          func(command string) *pflag.FlagSet
}

// Command returns the bench command. flags returns the flag set of the named command (build or
// apply-render); bench passes the matching flags on to it.
func Command(a *cli.Invocation, flags func(command string) *pflag.FlagSet) *cobra.Command {
	m := &measuring{Invocation: a, flags: flags}
	cmd := &cobra.Command{
		Use:   "bench [DIR...]",
		Short: "Profile the render of directories, or compare with kustomize",
		Long: `Render the directories several times in separate processes, with an empty cache and with a filled one, and print where the time goes: the
slowest stages, layers, files, functions and steps, the critical path that more cores cannot shorten, and the time that each step adds to the run.
The flags of apply-render have the same meaning here.

-o html writes the profile as a page with a timeline, --trace for Perfetto, and --pprof for go tool pprof. --baseline compares with the JSON of an
earlier run. --vs 'kustomize build' also builds each root with another program, compares the output byte for byte, and prints the ratios.

Without directories, bench builds generated trees with krmflow and kustomize in turn, and prints the medians of CPU and wall time and the peak
memory with their ratios. A --tree that does not exist lists all trees. Without kustomize on PATH, bench measures krmflow alone.`,
		Example: `  krmflow bench overlays/prod
  krmflow bench -R overlays -o html > report.html
  krmflow bench -R overlays -o json > before.json
  krmflow bench -R overlays --baseline before.json
  krmflow bench -R overlays --vs 'kustomize build' --budget 5m
  krmflow bench --tree overlays-100`,
		RunE: m.run,
	}
	a.RegisterRendering(cmd)
	m.register(cmd.Flags())
	return cmd
}

func (m *measuring) register(fs *pflag.FlagSet) {
	fs.StringVar(&m.o.Kustomize, "kustomize", "", "kustomize `program` to compare with (default for generated trees: from PATH)")
	fs.StringVar(&m.o.Krmflow, "krmflow", "", "krmflow `program` to measure (default: this one)")
	fs.IntVarP(&m.o.Runs, "runs", "n", 5, "number of measured runs, after one warm-up run")
	fs.DurationVar(&m.o.Budget, "budget", 0, "time limit of the other program for all runs of a tree (default 1m)")
	fs.StringVarP(&m.form, "output", "o", "text", "output `format`: text or json; html for directories")
	fs.BoolVar(&m.o.JSON, "json", false, "the same as -o json")
	_ = fs.MarkHidden("json") // fails only for flags that do not exist

	m.ofTrees = pflag.NewFlagSet("", pflag.ContinueOnError)
	m.ofTrees.Var((*options.Repeated)(&m.o.Trees), "tree", "generated `tree` to measure; may be repeated (default: all)")
	m.ofTrees.StringVar(&m.o.Function, "function", "", "`program` that copies a ResourceList, to measure a tree of calls")
	m.ofTrees.Int64Var(&m.o.Seed, "seed", 1, "seed of the generated trees")
	m.ofTrees.StringVar(&m.o.Keep, "keep", "", "generate the trees in this `DIR` and keep them")
	fs.AddFlagSet(m.ofTrees)

	m.ofDir = pflag.NewFlagSet("", pflag.ContinueOnError)
	m.ofDir.StringVar(&m.versus, "vs", "", "`command` to compare with, such as 'kustomize build'")
	m.ofDir.StringVar(&m.html, "html", "", "write the profile to this `FILE` as an HTML page")
	_ = m.ofDir.MarkHidden("html") // fails only for flags that do not exist
	m.ofDir.StringVar(&m.trace, "trace", "", "write a trace of the median run to this `FILE`, for Perfetto")
	m.ofDir.StringVar(&m.pprof, "pprof", "", "run once more and write cpu.pprof and heap.pprof to this `DIR`")
	m.ofDir.StringVar(&m.baseline, "baseline", "", "`FILE` of an earlier bench -o json to compare with")
	fs.AddFlagSet(m.ofDir)
}

func (m *measuring) run(cmd *cobra.Command, args []string) error {
	if err := m.check(cmd, args); err != nil {
		return err
	}
	work := m.o.Keep
	if work == "" { // created here so that it is removed even if the comparison is aborted
		dir, err := os.MkdirTemp("", "krmflow-bench-")
		if err != nil {
			return err
		}
		defer m.Exits.Add(func() { removeAll(dir) })()
		work = dir
	}
	m.o.Keep, m.o.Log = work, m.Stderr
	if len(args) > 0 {
		return m.profile(cmd, args)
	}
	return m.generated(cmd.Context())
}

// generated compares krmflow with kustomize on generated trees.
func (m *measuring) generated(ctx context.Context) error {
	err := bench.Compare(ctx, m.Stdout, m.o)
	var unknown *bench.TreeError
	if errors.As(err, &unknown) {
		e := *diag.AsError(err)
		e.Hints = diag.DidYouMean(unknown.Name, unknown.Names)
		return options.UsageError(&e)
	}
	return err
}

// check validates flags and directories before anything is measured.
func (m *measuring) check(cmd *cobra.Command, dirs []string) error {
	switch m.form {
	case "text":
	case "json":
		m.o.JSON = true
	case "html":
		if len(dirs) == 0 {
			return options.UsageError(errors.New("-o html needs directories: name some"))
		}
	default:
		return options.UsageError(diag.FlagValue.Errorf("illegal value --output %s; legal values: text, json, html", diag.Redact(m.form)))
	}
	if m.o.Runs < 1 {
		return options.UsageError(errors.New("--runs must be at least 1"))
	}
	if m.Recursive && len(dirs) == 0 {
		return options.UsageError(errors.New("-R needs directories: write krmflow bench -R . for the working directory"))
	}
	if len(m.o.Trees) > 0 && len(dirs) > 0 {
		return options.UsageError(errors.New("--tree and directories exclude each other: measure either generated trees or directories"))
	}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return fmt.Errorf("%s: not a directory", diag.Redact(dir))
		}
	}
	var errs []error
	wrong, what := m.ofTrees, "generated trees: remove the directories"
	if len(dirs) == 0 {
		wrong, what = m.ofDir, "directories: name some"
	}
	wrong.VisitAll(func(f *pflag.Flag) {
		if cmd.Flags().Changed(f.Name) {
			errs = append(errs, options.UsageError(fmt.Errorf("--%s is for %s", f.Name, what)))
		} else if f.Changed {
			errs = append(errs, options.UsageError(fmt.Errorf("--%s must not be empty", f.Name)))
		}
	})
	m.ofDir.VisitAll(func(f *pflag.Flag) {
		if len(dirs) > 0 && cmd.Flags().Changed(f.Name) && strings.TrimSpace(f.Value.String()) == "" {
			errs = append(errs, options.UsageError(fmt.Errorf("--%s must not be empty", f.Name)))
		}
	})
	if m.versus != "" && m.o.Kustomize != "" {
		errs = append(errs, options.UsageError(errors.New("--vs and --kustomize exclude each other")))
	}
	return errors.Join(errs...)
}

// passedOn returns the given flags that a render accepts: both are shared with kustomize build,
// ours exist only in krmflow.
func (m *measuring) passedOn(cmd *cobra.Command) (both, ours []string) {
	render := m.flags("apply-render")
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if m.ofDir.Lookup(f.Name) != nil || render.Lookup(f.Name) == nil || f.Name == "output" {
			return
		}
		values := []string{f.Value.String()}
		switch list := f.Value.(type) {
		case interface{ GetSlice() []string }:
			values = list.GetSlice()
		case *options.Catalogs:
			values = *list
		}
		for _, value := range values {
			flag := "--" + f.Name + "=" + value
			if slices.Contains(ofKustomize, f.Name) {
				both = append(both, flag)
			} else {
				ours = append(ours, flag)
			}
		}
	})
	return both, ours
}

// ofKustomize lists the flags that kustomize build also has.
var ofKustomize = []string{"enable-alpha-plugins", "enable-exec", "network", "network-name", "mount", "env", "as-current-user",
	"load-restrictor", "reorder", "enable-helm", "helm-command", "helm-api-versions", "helm-kube-version", "helm-debug"}

// removeAll removes a folder. It retries because a process that has not yet noticed the end of
// the run may still write to it.
func removeAll(dir string) {
	for range 10 {
		if os.RemoveAll(dir) == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
