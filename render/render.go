// Package render is krmflow as a library: it plans directories, decides which of their functions
// may run, and runs the plan.
//
// [Render] does all of that. To inspect the plan first, call [Compile], then [Run] with the same
// options: only nodes of the plan run.
//
// The package has no global state, prints nothing, writes no files and does not end the process.
// Options have callbacks for progress; package output writes folders. Functions may be called
// concurrently, also for the same directories. A bug in krmflow is returned as a
// [*diag.PanicError].
//
// Built-in steps run in this process, functions never do. The caller supplies the executor of
// functions, see [scheduler.Options.Executor]. Nothing is fetched without [Options.Sources].
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

// Options are the inputs of a render and its settings. Only Dirs is required.
type Options struct {
	// Dirs are the directories to render: local paths, names in Plan.FS if that is set, or remote
	// references.
	Dirs []string
	// Plan controls compilation. The zero value matches kustomize build without flags. An empty
	// Cwd means the working directory. Functions are denied unless Plan.Functions trusts them.
	// Package executors/probe detects this machine's sandboxes and images.
	Plan planner.Options
	// Sources controls fetching of remote content, unless Plan.Fetch is set. If it is nil, remote
	// references are errors.
	Sources *Sources
	// Run controls execution. A plan with functions requires an Executor.
	Run scheduler.Options
}

// A Result is the outcome of [Render].
type Result struct {
	Plan *planner.Plan
	// Lists are the resources of each entry of [Options.Dirs], in the same order. The list of a
	// failed root is nil.
	Lists []*krm.List
	// Warnings are the warnings of the plan, followed by the first thousand from executed steps.
	// They do not affect resources.
	Warnings []planner.Warning
}

// WriteYAML writes the resources of all roots as one YAML stream, in kustomize's format.
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

// Render compiles the directories and runs the plan. If a root has mistakes or a function is
// denied, nothing runs and the error contains all problems. With o.Run.KeepGoing, the other roots
// are rendered, and the result is returned together with the error. The result is nil if there is
// no plan.
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

// collect makes a run of o store its lists and warnings in r, after calling the callbacks of o.
func (r *Result) collect(o *Options) {
	var mu sync.Mutex
	root, warn, dirs := o.Run.Root, o.Run.Warn, o.Dirs
	r.Warnings = slices.Clip(r.Warnings) // appending must not modify the plan's slice
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

// Compile plans the directories. It runs nothing. Mistakes in the directories are part of the
// plan. The error is the cause of ctx's end, or a [*diag.PanicError] for a bug in krmflow.
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

// prepare completes the options for planning. The returned function releases the resources of
// planning.
func (o *Options) prepare(ctx context.Context) (end func()) {
	if o.Plan.Cwd == "" {
		o.Plan.Cwd, _ = os.Getwd() // without it, only absolute paths can be rendered
	}
	if o.Plan.Functions.Isolation == nil {
		o.Plan.Functions.Isolation = func() (string, string) { return "", "the options set no Isolation" }
	}
	if o.Plan.Fetch != nil || o.Sources == nil {
		return func() {}
	}
	o.Plan.Fetch, end = o.sources().Fetching(ctx)
	return end
}

// sources returns a copy of o.Sources, which must not be nil, with the rendered directories set.
func (o *Options) sources() *Sources {
	s := *o.Sources
	if s.Rendered == nil {
		s.Rendered = o.Dirs
	}
	return &s
}

// recovered turns a panic into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = diag.Panicked("the planner", p)
	}
}

// Consolidate returns the Composition of a directory as one list, and the plan with the files
// read: see [planner.Consolidate]. The error is as for [Compile].
func Consolidate(ctx context.Context, dir string, o Options) (list yaml.Value, plan *planner.Plan, err error) {
	defer recovered(&err)
	defer o.prepare(ctx)()
	list, plan = planner.Consolidate(ctx, dir, o.Plan)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return list, plan, err
}

// Run runs a plan. It returns all failures as one error. Failures of steps are
// [*scheduler.NodeError] values. If a function of the plan is denied, nothing runs and Run
// returns the error of [Denied]. With o.Run.KeepGoing, the roots that do not need the denied
// functions are rendered, if there are any.
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

// allowed returns the part of a plan that does not need denied functions. A denial without a
// node, such as a catalog with a wrong digest, affects all roots.
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

// A DeniedError reports functions of a plan that may not run.
type DeniedError struct{ Denials []planner.Denial }

func (e *DeniedError) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap returns the error of each denial without duplicates: a base planned in two variants is
// denied twice.
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

// Denied returns a [*DeniedError] if functions of the plan may not run, otherwise nil.
func Denied(plan *planner.Plan) error {
	if len(plan.Denied) == 0 {
		return nil
	}
	return &DeniedError{plan.Denied}
}
