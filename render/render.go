// Package render is krmflow as a library: it plans directories, decides which of their functions may run, and runs the plan.
//
// [Render] does all of that. A program that wants to look at the plan first calls [Compile], then [Run] with the same options: what
// the plan shows is what runs.
//
// The package keeps no state, prints nothing, writes no files and ends no process: options have callbacks for what happens meanwhile,
// and package output writes folders. Its functions may be called at the same time, also for the same directories. A bug of
// krmflow is an error of the type [*diag.PanicError].
//
// Steps run in this process, functions never do: what runs them is no part of this package, but given to it, see
// [scheduler.Options.Executor]. Nothing is fetched unless [Options.Sources] say how.
package render

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/trace"
	"github.com/krmflow/krmflow/scheduler"
)

// Options say what is rendered, and how. Only Dirs are needed.
type Options struct {
	// Dirs are the directories to render: paths of this machine, names in Plan.FS if that is set, or references to something remote.
	Dirs []string
	// Plan says how they are compiled. The zero value means what kustomize build means without flags; an empty Cwd is the working
	// directory. Functions are denied unless Plan.Functions trusts them; package executors/probe asks this machine what isolates
	// programs, and which images there are.
	Plan planner.Options
	// Sources say how what is remote is fetched, unless Plan.Fetch says so. If they are nil, what is remote is an error.
	Sources *Sources
	// Run says how the plan is run. Without an Executor, a plan that has functions cannot run.
	Run scheduler.Options
}

// A Result is what [Render] has made.
type Result struct {
	Plan *planner.Plan
	// Lists are the resources of each of [Options.Dirs], in that order. Those of a root that failed are nil.
	Lists []*krm.List
	// Warnings are those of the plan, then the first thousand of the steps that ran. They change no resources.
	Warnings []planner.Warning
}

// WriteYAML writes the resources of all roots as one YAML stream, as kustomize writes it.
func (r *Result) WriteYAML(w io.Writer) error {
	first := true
	for _, list := range r.Lists {
		if list == nil || list.Len() == 0 {
			continue
		}
		if !first {
			if _, err := io.WriteString(w, "---\n"); err != nil {
				return err
			}
		}
		first = false
		if err := list.WriteYAML(w); err != nil {
			return err
		}
	}
	return nil
}

// Render compiles the directories and runs the plan. If a root has mistakes or a function is denied, nothing runs and the error says
// all that is wrong. With o.Run.KeepGoing a root that fails keeps no other from being rendered, and the result has those beside the
// error. Without a plan there is no result.
func Render(ctx context.Context, o Options) (*Result, error) {
	plan, err := Compile(ctx, o)
	if err != nil {
		return nil, err
	}
	result := &Result{Plan: plan, Lists: make([]*krm.List, len(o.Dirs)), Warnings: plan.Warnings}
	mistakes := plan.Err()
	if mistakes != nil && !o.Run.KeepGoing {
		return result, errors.Join(mistakes, Denied(plan))
	}
	result.collect(&o)
	return result, errors.Join(mistakes, Run(ctx, plan, o))
}

// collect makes a run of o keep its lists and warnings in r, after those who are told of them.
func (r *Result) collect(o *Options) {
	var mu sync.Mutex
	root, warn, dirs := o.Run.Root, o.Run.Warn, o.Dirs
	r.Warnings = slices.Clip(r.Warnings) // those of the plan stay as they are
	most := len(r.Warnings) + 1000
	o.Run.Root = func(made graph.Root, list *krm.List) error {
		if root != nil {
			if err := root(made, list); err != nil {
				return err
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for i, dir := range dirs {
			if diag.Redact(dir) == made.Dir {
				r.Lists[i] = list
			}
		}
		return nil
	}
	o.Run.Warn = func(n *graph.Node, warning func() *diag.Error) {
		if warn != nil {
			warn(n, warning)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(r.Warnings) < most {
			r.Warnings = append(r.Warnings, planner.WarningOf(warning()))
		}
	}
}

// Compile plans the directories. Nothing runs. The mistakes in them are in the plan; the error says why ctx has ended, or is a
// [*diag.PanicError] for a bug of krmflow.
func Compile(ctx context.Context, o Options) (plan *planner.Plan, err error) {
	defer recovered(&err)
	defer o.prepare(ctx)()
	plan = planner.Compile(ctx, o.Dirs, o.Plan)
	if ctx.Err() == nil {
		o.lockFunctions(ctx, plan)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return plan, nil
}

// prepare completes the options for planning. The function that it returns releases what planning has used.
func (o *Options) prepare(ctx context.Context) (end func()) {
	if o.Plan.Cwd == "" {
		o.Plan.Cwd, _ = os.Getwd() // without one, only absolute paths can be rendered
	}
	if o.Plan.Functions.Isolation == nil {
		o.Plan.Functions.Isolation = func() (string, string) { return "", "the options do not say what does" }
	}
	if o.Plan.Fetch != nil || o.Sources == nil {
		return func() {}
	}
	o.Plan.Fetch, end = o.sources().Fetching(ctx)
	return end
}

// sources returns o.Sources, which must not be nil, with the directories that are rendered.
func (o *Options) sources() *Sources {
	s := *o.Sources
	if s.Rendered == nil {
		s.Rendered = o.Dirs
	}
	return &s
}

// recovered makes a panic an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = diag.Panicked("the planner", p)
	}
}

// Consolidate returns the Composition of a directory as one list, and what was read for it: see [planner.Consolidate]. The error is that
// of [Compile].
func Consolidate(ctx context.Context, dir string, o Options) (list yaml.Value, plan *planner.Plan, err error) {
	defer recovered(&err)
	defer o.prepare(ctx)()
	list, plan = planner.Consolidate(ctx, dir, o.Plan)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return list, plan, err
}

// Run runs a plan. It returns all failures as one error: those of steps are of the type [*scheduler.NodeError]. If a function of the
// plan is denied, nothing runs and the error is that of [Denied]; but with o.Run.KeepGoing the roots that need no such function are
// rendered, if there are any.
func Run(ctx context.Context, plan *planner.Plan, o Options) error {
	denied, g := Denied(plan), plan.Graph
	if denied != nil {
		g = allowed(plan)
		if !o.Run.KeepGoing || len(g.Roots) == 0 {
			return denied
		}
	}
	end := o.execute()
	defer end()
	failed := scheduler.Run(ctx, g, o.Run)
	trace.Duplicates(plan, failed)
	return errors.Join(denied, errors.Join(failed...))
}

// allowed returns the part of a plan that needs no denied function. What is wrong with no node in particular, such as a catalog that is not
// what it was said to be, concerns all roots.
func allowed(plan *planner.Plan) *graph.Graph {
	denied := map[string]bool{}
	for _, d := range plan.Denied {
		if d.Node == "" {
			return &graph.Graph{}
		}
		denied[d.Node] = true
	}
	without := plan.Graph.RootsThatNeed(denied)
	return plan.Graph.Only(func(r graph.Root) bool { return !slices.Contains(without, r) })
}

// A DeniedError says that functions of a plan may not run.
type DeniedError struct{ Denials []planner.Denial }

func (e *DeniedError) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap returns the error of each denial, none twice: a base that is planned in two variants is denied twice.
func (e *DeniedError) Unwrap() []error {
	var errs []error
	said := map[string]bool{}
	for _, d := range e.Denials {
		if text := d.Err.Error(); !said[text] {
			said[text] = true
			errs = append(errs, d.Err)
		}
	}
	return errs
}

// Denied returns a [*DeniedError] if functions of the plan may not run, else nil.
func Denied(plan *planner.Plan) error {
	if len(plan.Denied) == 0 {
		return nil
	}
	return &DeniedError{plan.Denied}
}
