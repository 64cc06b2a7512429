// Package preview runs the built-in steps of a plan to determine its output as far as possible.
// Built-ins are pure: a preview does not start programs, access the network or write files.
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

// A Folder compares output with existing files. It is an [output.Dir] in check mode.
type Folder interface {
	Put(root string, list *krm.List) error
	Keep(root string) error
	Commit() (output.Changes, error)
}

// Options configure a preview.
type Options struct {
	// Root receives the list of each root. Seen has the meaning of [scheduler.Options.Seen].
	// Both may be nil.
	Root func(graph.Root, *krm.List)
	Seen func(*graph.Node, *krm.List)
	// Against is the folder to compare with, nil for none. Clean returns the list that would be
	// written for a root. Name is the name of the folder for messages. Out maps the directory of
	// each root to its folder in Against.
	Against Folder
	Clean   func(dir string, list *krm.List) *krm.List
	Name    string
	Out     map[string]string
	// Objects requests the names of the resources in the result.
	Objects bool
}

// Run runs all steps of a plan that do not depend on a function. It continues after failed steps
// and adds warnings to the plan. mistakes are the errors in the user's input, in plan order. err
// is an error that ended the run or the comparison.
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

// run collects the results of steps.
type run struct {
	o  Options
	mu sync.Mutex

	made     *planview.Preview
	warnings map[*graph.Node][]planner.Warning
	kept     int // number of recorded warnings
	more     int // number of dropped warnings
}

// maxWarnings is the maximum number of recorded warnings.
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

// root counts the resources of a root and compares them with the folder. It does not retain the
// list.
func (r *run) root(at graph.Root, list *krm.List) error {
	if r.o.Root != nil {
		r.o.Root(at, list)
	}
	out := &planview.Output{Kinds: map[string]int{}}
	hide := &secret.Set{} // values copied from Secrets, possibly into a name
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

// called returns the user's name for a resource. It omits the content hash of the name: with it,
// a reader who knows the rest of a Secret could try passwords until the hash matches.
func called(id krm.ID) string {
	name := cmp.Or(diff.Base(id.Name), id.Name)
	if id.Namespace != "" && id.Namespace != krm.ClusterScope {
		name = id.Namespace + "/" + name
	}
	return id.Kind + " " + name
}

// addWarnings adds the distinct warnings to the plan, in plan order.
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

// compare assigns the changes in the folder to the roots.
func (r *run) compare() error {
	if r.o.Against == nil {
		return nil
	}
	dirs := map[string]string{} // directories of the roots by folder
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
