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

// Options says what Compare measures. The zero value measures every tree with this program and a kustomize found on PATH.
type Options struct {
	// Krmflow is the program to measure; empty means the running one.
	Krmflow string
	// Kustomize is the program to compare with. When it is empty, kustomize is looked for on PATH, and if there is none krmflow is
	// measured alone.
	Kustomize string
	// Versus is a command line that is run with each of Dirs at its end, in the place of kustomize build.
	Versus []string
	// Trees names the trees to measure; empty means all of Trees, and flat trees of growing size.
	Trees []string
	// Function is a program; if it is not empty the trees have one more, of [FunctionsOf] it.
	Function string
	// Dirs are roots to measure instead of generated trees: each by itself, or all of them with one command of krmflow if Together
	// is true. A Composition is built by krmflow alone.
	Dirs     []string
	Together bool
	// Flags are given to both programs for Dirs, and KrmflowFlags to krmflow alone.
	Flags, KrmflowFlags []string
	// OwnCache means that the flags say which cache krmflow uses for Dirs. Else it has one that is empty at first, and removed afterwards.
	OwnCache bool
	// Runs is how many times each program builds a tree, after a first time whose output is compared and whose cost is not
	// counted; 0 means 5.
	Runs int
	// Budget is how long kustomize may take for a tree, all runs together; then it is stopped. 0 means a minute.
	Budget time.Duration
	// Seed varies the generated trees.
	Seed int64
	// Keep is a folder to make the trees in and to leave them; empty means a temporary one.
	Keep string
	// JSON asks for one JSON document in place of a table.
	JSON bool
	// Log gets a line when the turn of a tree comes, because some take minutes; nil means silence.
	Log io.Writer
}

// A TreeError says that [Options.Trees] has a name that no tree has.
type TreeError struct {
	Name  string
	Names []string // of the trees that there are
}

func (e *TreeError) Error() string {
	return fmt.Sprintf("no tree is called %q; there are %s", e.Name, strings.Join(e.Names, ", "))
}

// trees returns those that o.Trees may name: [Trees], one more if there is a function, and those whose growth is measured.
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

// ErrDiffers is returned by Compare when the two programs did not print the same.
var ErrDiffers = errors.New("output differs from kustomize")

// Compare measures, writes a report to w, and fails when a build fails or when krmflow and kustomize differ in a single byte. The
// report is written nevertheless, and when ctx ends it has the rows so far. The files that Compare makes are removed before it
// returns, unless o.Keep is set.
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

// Measure is [Compare] without its text. There is a report beside the error of a build.
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
	report := &Report{Krmflow: o.Krmflow, Kustomize: o.Kustomize, KrmflowVersion: version(ctx, o.Krmflow), KustomizeVersion: version(ctx, o.Kustomize), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Runs: o.Runs, Seed: o.Seed}
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

// checkTrees returns a [*TreeError] for the first name that is none.
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

// complete fills in defaults and finds the programs.
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

// A subject is one row to measure: roots that are built together.
type subject struct {
	name, title string
	size        int                         // resources of a flat tree whose growth is measured; krmflow builds it alone
	roots       []string                    // folders as the programs get them
	below       string                      // folder that krmflow gets in their place; may be empty
	sample      int                         // how many of them kustomize builds; 0 for all
	caches      bool                        // krmflow is measured without a cache, with an empty and with a filled one
	leaf        string                      // file that is changed to measure that, too; may be empty
	change      string                      // what is added to it
	files       bool                        // build into a folder, with one file per resource
	alone       bool                        // kustomize cannot build it
	flags, ours []string                    // of both programs, and of krmflow alone
	write       func(context.Context) error // makes the files; nil if they are there
}

// subjects lists what to measure. Their files are made when their turn comes.
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

// isComposition reports whether krmflow builds a directory from a Composition.
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
	s := subject{name: t.Name, title: t.Title, size: t.Size, files: t.Files, sample: t.Sample, caches: true, change: t.Change, flags: t.Flags, ours: t.KrmflowFlags,
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
