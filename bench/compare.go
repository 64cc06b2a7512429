package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Options configures Compare. The zero value measures all trees with the running program and
// with a kustomize from PATH.
type Options struct {
	// Krmflow is the program to measure. It defaults to the running program.
	Krmflow string
	// Kustomize is the program to compare with. It defaults to kustomize on PATH. If there is
	// none, only krmflow is measured.
	Kustomize string
	// Versus is a command line that replaces kustomize build. Each of Dirs is appended to it.
	Versus []string
	// Trees lists the trees to measure by name. It defaults to all of [Trees] and flat trees of
	// growing size.
	Trees []string
	// Function is the path of a program. If it is set, one more tree is measured: see
	// [FunctionsOf].
	Function string
	// Dirs are directories to measure instead of generated trees. If Together is set, krmflow
	// builds all of them with one command; otherwise each is measured separately. Compositions
	// are built by krmflow only.
	Dirs     []string
	Together bool
	// Flags are passed to both programs for Dirs, KrmflowFlags to krmflow only.
	Flags, KrmflowFlags []string
	// OwnCache means that the flags select krmflow's cache for Dirs. By default it is a
	// temporary cache that is initially empty.
	OwnCache bool
	// Runs is the number of measured builds of each tree per program. It defaults to 5. An
	// additional first build is compared but not measured.
	Runs int
	// Budget limits the total time of kustomize for one tree. It is stopped when the budget is
	// exhausted. The default is one minute.
	Budget time.Duration
	// Seed is the seed for the generated trees.
	Seed int64
	// Keep is a folder for the trees, which are not removed. By default they are in a temporary
	// folder.
	Keep string
	// JSON selects a JSON document instead of tables.
	JSON bool
	// Log receives a line before each tree, because some take minutes. It may be nil.
	Log io.Writer
}

// A TreeError reports a name in [Options.Trees] that no tree has.
type TreeError struct {
	Name  string
	Names []string // valid names
}

func (e *TreeError) Error() string {
	return fmt.Sprintf("no tree is called %q; available: %s", e.Name, strings.Join(e.Names, ", "))
}

// trees returns the trees that o.Trees can name: [Trees], the tree for o.Function, and the trees
// of growing size.
func (o *Options) trees() []Tree {
	trees := Trees()
	if o.Function != "" {
		trees = append(trees, FunctionsOf(5, 200, o.Function))
	}
	for _, n := range []int{1000, 2000, 5000, 10000, 20000} {
		trees = append(trees, Growing(n))
	}
	return trees
}

// ErrDiffers is returned by Compare if the outputs of the programs differ.
var ErrDiffers = errors.New("output differs from kustomize")

// Compare measures the trees and writes a report to w. It returns an error if a build fails or
// if the outputs of krmflow and kustomize differ in a single byte. The report is written even
// then; if ctx ends, it contains the rows so far. Unless o.Keep is set, all created files are
// removed.
func Compare(ctx context.Context, w io.Writer, o Options) error {
	report, failed := Measure(ctx, o)
	if report == nil {
		return failed
	}
	print := report.WriteText
	if o.JSON {
		print = report.json
	}
	return errors.Join(failed, print(w))
}

// Measure is like [Compare], but returns the report. If a build fails, it returns both a report
// and an error.
func Measure(ctx context.Context, o Options) (*Report, error) {
	if err := o.checkTrees(); err != nil {
		return nil, err
	}
	if err := o.complete(); err != nil {
		return nil, err
	}
	dir, remove, err := o.folder()
	if err != nil {
		return nil, err
	}
	defer remove()
	subjects := o.subjects(dir)
	c := &comparison{o: o, dir: dir}
	report := &Report{Krmflow: o.Krmflow, Kustomize: o.Kustomize, KrmflowVersion: version(ctx, o.Krmflow), KustomizeVersion: version(ctx,
		o.Kustomize), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Runs: o.Runs, Seed: o.Seed}
	var failed error
	for i, s := range subjects {
		if o.Log != nil {
			fmt.Fprintf(o.Log, "%d/%d %s\n", i+1, len(subjects), s.title)
		}
		row, err := c.row(ctx, s)
		if ctx.Err() != nil {
			failed = errors.Join(failed, context.Cause(ctx))
			break
		}
		if err != nil {
			row.Error = err.Error()
			failed = errors.Join(failed, fmt.Errorf("%s: %w", s.name, err))
		}
		report.Rows = append(report.Rows, row)
	}
	report.grow()
	return report, failed
}

// checkTrees returns a [*TreeError] for the first unknown name in o.Trees.
func (o *Options) checkTrees() error {
	var names []string
	for _, t := range o.trees() {
		names = append(names, t.Name)
	}
	for _, name := range o.Trees {
		if !slices.Contains(names, name) {
			return &TreeError{name, names}
		}
	}
	return nil
}

// complete sets defaults and locates the programs.
func (o *Options) complete() (err error) {
	o.Runs = cmp.Or(o.Runs, 5)
	o.Budget = cmp.Or(o.Budget, time.Minute)
	if o.Krmflow == "" {
		o.Krmflow, err = os.Executable()
	} else {
		o.Krmflow, err = exec.LookPath(o.Krmflow)
	}
	if err != nil {
		return err
	}
	if len(o.Versus) > 0 {
		o.Kustomize = o.Versus[0]
	}
	name := cmp.Or(o.Kustomize, "kustomize")
	path, err := exec.LookPath(name)
	if err != nil && o.Kustomize != "" {
		return err
	}
	o.Kustomize = path
	return nil
}

func (o *Options) folder() (dir string, remove func(), err error) {
	if o.Keep != "" {
		return o.Keep, func() {}, os.MkdirAll(o.Keep, 0o755)
	}
	dir, err = os.MkdirTemp("", "krmflow-bench-")
	return dir, func() { os.RemoveAll(dir) }, err
}

// A subject is one row to measure: a set of roots that are built together.
type subject struct {
	name, title string
	// size is the number of resources of a flat tree of growing size, which only krmflow builds;
	// otherwise 0.
	size        int
	roots       []string                    // folders passed to the programs
	below       string                      // folder for krmflow instead of roots; may be empty
	sample      int                         // number of roots that kustomize builds; 0 for all
	caches      bool                        // also measure with an empty and a filled cache
	leaf        string                      // file to change for another measurement; may be empty
	change      string                      // text to append to leaf
	files       bool                        // build into a folder, with one file per resource
	alone       bool                        // only krmflow can build it
	flags, ours []string                    // flags for both programs, and for krmflow only
	write       func(context.Context) error // creates the files; nil if they exist
}

// subjects returns the rows to measure. Their files are created later, right before they are
// measured.
func (o *Options) subjects(dir string) []subject {
	var list []subject
	for _, d := range o.Dirs {
		s := subject{name: d, title: d, roots: []string{d}, alone: isComposition(d), flags: o.Flags, ours: o.KrmflowFlags}
		if o.Together && len(list) > 0 {
			all := &list[0]
			all.roots, all.alone = append(all.roots, d), all.alone || s.alone
			all.title = fmt.Sprintf("%s and %d more roots", all.name, len(all.roots)-1)
			continue
		}
		list = append(list, s)
	}
	if len(list) > 0 {
		return list
	}
	for _, t := range o.trees() {
		if len(o.Trees) == 0 || slices.Contains(o.Trees, t.Name) {
			list = append(list, o.generated(dir, t))
		}
	}
	return list
}

// isComposition reports whether krmflow builds the directory from a Composition.
func isComposition(dir string) bool {
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	return (exists("composition.yaml") || exists("composition.yml")) &&
		!exists("kustomization.yaml") && !exists("kustomization.yml") && !exists("Kustomization")
}

func (o *Options) generated(dir string, t Tree) subject {
	base := filepath.Join(dir, t.Name)
	s := subject{name: t.Name, title: t.Title, size: t.Size, files: t.Files, sample: t.Sample, caches: true, change: t.Change,
		flags: t.Flags, ours: t.KrmflowFlags,
		write: func(ctx context.Context) error { return Write(ctx, base, t, o.Seed) }}
	if t.Below != "" {
		s.below = filepath.Join(base, filepath.FromSlash(t.Below))
	}
	if t.Files && t.Leaf != "" {
		s.leaf = filepath.Join(base, filepath.FromSlash(t.Leaf))
	}
	for _, r := range t.Roots {
		s.roots = append(s.roots, filepath.Join(base, filepath.FromSlash(r)))
	}
	return s
}
