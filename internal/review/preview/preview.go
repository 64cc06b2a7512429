// Package preview says what a plan would make, as far as that needs no function: it runs the built-ins, which are pure, and starts,
// fetches and writes nothing.
package preview

import (
	"cmp"
	"context"
	"path"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/planview"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/diff"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/trace"
	"github.com/krmflow/krmflow/scheduler"
)

// A Folder is compared with what would be written to it: an [output.Dir] that only checks.
type Folder interface {
	Put(root string, list *krm.List) error
	Keep(root string) error
	Commit() (output.Changes, error)
}

// Options say how a plan is run.
type Options struct {
	// Root takes the list of each root, and Seen is that of [scheduler.Options]. They may be nil.
	Root func(graph.Root, *krm.List)
	Seen func(*graph.Node, *krm.List)
	// Against is compared with what Clean makes of the output, and Name is how the user calls it. Out has the folder of each root in it, by the directory of
	// the root.
	Against Folder
	Clean   func(dir string, list *krm.List) *krm.List
	Name    string
	Out     map[string]string
	// Objects says that the plan shall know what the resources are called.
	Objects bool
}

// Run runs the steps of a plan that need no function, goes on after one that fails, and adds what they warn about to the warnings of the
// plan. The errors are mistakes in the input, in the order of the plan; err is why the run or the comparison has ended.
func Run(ctx context.Context, planned *engine.Run, o Options) (made *planview.Preview, mistakes []error, err error) {
	r := &run{o: o, made: &planview.Preview{Roots: map[string]*planview.Output{}, Failed: map[*graph.Node]error{}, Against: o.Name},
		warnings: map[*graph.Node][]planner.Warning{}}
	plan := planned.Plan()
	answers, failed := planned.Preview(ctx, scheduler.Options{Event: r.event, Warn: r.warn, Root: r.root, Seen: o.Seen})
	trace.Duplicates(plan, failed)
	for _, err := range failed {
		if _, ok := err.(*scheduler.RootError); ok {
			return nil, nil, err
		}
		mistakes = append(mistakes, err)
	}
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	r.addWarnings(plan)
	r.made.Answers = answers
	return r.made, mistakes, r.compare()
}

// run collects what the steps make.
type run struct {
	o  Options
	mu sync.Mutex

	made     *planview.Preview
	warnings map[*graph.Node][]planner.Warning
	kept     int // warnings
	more     int // besides
}

// maxWarnings is how many warnings are kept.
const maxWarnings = 1000

func (r *run) event(e scheduler.Event) {
	if e.Err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.made.Failed[e.Node] = e.Err
	}
}

func (r *run) warn(n *graph.Node, warning func() *diag.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == maxWarnings {
		r.more++
		return
	}
	r.kept++
	r.warnings[n] = append(r.warnings[n], planner.WarningOf(warning()))
}

// root counts the resources of a root and compares them. Nobody keeps the list.
func (r *run) root(at graph.Root, list *krm.List) error {
	if r.o.Root != nil {
		r.o.Root(at, list)
	}
	out := &planview.Output{Kinds: map[string]int{}}
	hide := &secret.Set{} // values that steps copied from Secrets, possibly into a name
	for _, res := range list.All() {
		for _, text := range res.Taken {
			hide.AddTaken(text)
		}
	}
	for _, res := range list.All() {
		id := res.ID()
		out.Kinds[id.Kind]++
		if r.o.Objects {
			out.Objects = append(out.Objects, hide.Name(called(id)))
		}
	}
	if r.o.Against != nil {
		out.Changes = &planview.Changes{}
		if err := r.o.Against.Put(r.o.Out[at.Dir], r.o.Clean(at.Dir, list)); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made.Roots[at.Dir] = out
	return nil
}

// called returns what people call a resource. It has no content hash: who knows all of a Secret but its password could try passwords until that fits.
func called(id krm.ID) string {
	name := cmp.Or(diff.Base(id.Name), id.Name)
	if id.Namespace != "" && id.Namespace != krm.ClusterScope {
		name = id.Namespace + "/" + name
	}
	return id.Kind + " " + name
}

// addWarnings adds the warnings to those of the plan: in its order, each once.
func (r *run) addWarnings(plan *planner.Plan) {
	told := map[string]bool{}
	for _, n := range plan.Graph.Nodes {
		for _, w := range r.warnings[n] {
			if text := w.String(); !told[text] {
				told[text] = true
				plan.Warnings = append(plan.Warnings, w)
			}
		}
	}
	plan.MoreWarnings += r.more
}

// compare tells the roots what would change in the folder.
func (r *run) compare() error {
	if r.o.Against == nil {
		return nil
	}
	dirs := map[string]string{} // of the roots, by their folders
	for dir, out := range r.o.Out {
		dirs[out] = dir
		if r.made.Roots[dir] == nil {
			if err := r.o.Against.Keep(out); err != nil {
				return err
			}
		}
	}
	changes, err := r.o.Against.Commit()
	if err != nil {
		return err
	}
	of := func(file string) *planview.Changes {
		for up := path.Dir(file); ; up = path.Dir(up) {
			if out := r.made.Roots[dirs[up]]; out != nil {
				return out.Changes
			}
			if up == "." || up == "/" {
				return &r.made.Elsewhere
			}
		}
	}
	for _, file := range changes.Added {
		c := of(file)
		c.Added = append(c.Added, file)
	}
	for _, file := range changes.Changed {
		c := of(file)
		c.Changed = append(c.Changed, file)
	}
	for _, file := range changes.Removed {
		c := of(file)
		c.Removed = append(c.Removed, file)
	}
	return nil
}
