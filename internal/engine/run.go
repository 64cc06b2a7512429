package engine

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/container"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/engine/lockfile"
	"github.com/krmflow/krmflow/internal/engine/profile"
	"github.com/krmflow/krmflow/internal/engine/records"
	"github.com/krmflow/krmflow/internal/engine/sink"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/output/known"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
	"github.com/krmflow/krmflow/scheduler"
	"golang.org/x/sync/errgroup"
)

// A Run is a planned request. It must not be used concurrently.
type Run struct {
	e         *Engine
	request   Request
	log       Log
	roots     render.Roots
	dirs      []string // all roots, including those that are not planned
	options   render.Options
	seen      *lockfile.Seen
	keepGoing bool

	plan         *planner.Plan
	planWarnings int      // warnings of the plan before a preview added step warnings
	reusing      *reusing // nil if records are not used
	text         []byte   // printed by an earlier run
	hasText      bool
	made         *krm.List // the list of the only root, if its text may be stored

	called map[string][]records.Setting // see calledBy
}

// Plan returns the plan, which has the roots that are not reused.
func (r *Run) Plan() *planner.Plan { return r.plan }

// A Scope describes the roots and options of a plan.
type Scope struct {
	// Roots are all roots of the request, including those that are not planned.
	Roots render.Roots
	// Options are the options of the plan. Dirs are the planned roots.
	render.Options
}

// Scope returns the roots and options of the plan.
func (r *Run) Scope() Scope { return Scope{r.roots, r.options} }

// Denied returns an error if the functions of the plan must not be called: one of them may not or
// cannot run, or there were warnings and --strict is set. A run that keeps going still renders the
// roots that do not depend on a denied function.
func (r *Run) Denied() error { return errors.Join(r.e.denied(r.plan), r.strictCalls(r.plan)) }

// Hooks are callbacks for the events of a run. They are called concurrently. Any of them may be
// nil.
type Hooks struct {
	// Only selects the roots to render, by their directories as named in the plan.
	Only func(dir string) bool
	// KeepGoing continues with steps that do not depend on a failed step.
	KeepGoing bool
	// Event is called after each step. Call is called with the report of each function, instead
	// of the log.
	Event func(scheduler.Event)
	Call  func(scheduler.CallReport)
	// Warn is called with the warnings of steps, instead of the log. Silent suppresses the
	// warnings if Warn is nil.
	Warn   func(n *graph.Node, warning func() *diag.Error)
	Silent bool
	// Root is called with the list of each root, concurrently and before other steps use the
	// list. The loop over the results gets the list afterwards, and must only read it.
	Root func(graph.Root, *krm.List)
	// Seen and Made are the fields of [scheduler.Options].
	Seen, Made func(*graph.Node, *krm.List)
}

// A Result is the result of a root.
type Result struct {
	// Root is the root as named in the plan. List has its resources.
	Root graph.Root
	List *krm.List
	// Record is the record of an unchanged root that was reused. List is nil in that case.
	Record *records.Record
}

// Results renders the roots of the plan. It yields the reused roots first, then the others in
// the order in which they are finished. If there are errors of the run, the last element has
// them; errors of the plan are not included. If a function is denied, nothing runs, unless the
// run keeps going. Breaking out of the loop cancels the run. For a request with Unseen, the end of
// the loop records the inputs of the planned roots.
func (r *Run) Results(ctx context.Context, h Hooks) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		for _, dir := range r.dirs {
			if h.Only != nil && !h.Only(diag.Redact(dir)) {
				continue
			}
			if record := r.reused(dir); record != nil &&
				!yield(Result{Root: graph.Root{Dir: diag.Redact(dir)}, Record: record}, nil) {
				return
			}
		}
		plan := r.part(h.Only)
		if len(plan.Graph.Roots) == 0 && h.Only != nil {
			if err := r.recordUnseen(); err != nil {
				yield(Result{}, err)
			}
			return
		}
		if err := r.mayRun(plan); err != nil {
			yield(Result{}, err)
			return
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		results, done := make(chan Result), make(chan error, 1)
		go func() {
			defer close(results)
			defer func() {
				if p := recover(); p != nil {
					done <- diag.Panicked("krmflow", p)
				}
			}()
			done <- r.run(ctx, plan, h, false, func(root graph.Root, list *krm.List) error {
				select {
				case results <- Result{Root: root, List: list}:
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			})
		}()
		for result := range results {
			if !yield(result, nil) {
				cancel(errLeft)
				for range results { // until the run has ended
				}
				return
			}
		}
		err := <-done
		if r.request.Unseen && (err == nil || r.keepGoing && ctx.Err() == nil) {
			err = errors.Join(err, r.recordUnseen())
		}
		if err != nil {
			yield(Result{}, err)
		}
	}
}

// List renders the only root and returns its resources.
func (r *Run) List(ctx context.Context) (list *krm.List, err error) {
	if err := r.mayRun(r.plan); err != nil {
		return nil, err
	}
	for result, failed := range r.Results(ctx, Hooks{}) {
		if err = failed; err == nil {
			list = result.List
		}
	}
	return list, errors.Join(err, r.e.host.Strict())
}

// Texts returns the YAML of the results of a run by the names of their roots in the plan.
func Texts(results iter.Seq2[Result, error]) (map[string][]byte, error) {
	texts := map[string][]byte{}
	for result, err := range results {
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if err := result.List.WriteYAML(&b); err != nil {
			return nil, err
		}
		texts[result.Root.Dir] = b.Bytes()
	}
	return texts, nil
}

// Preview runs the steps of the plan that do not need functions, and continues after failed
// steps. The callbacks of o receive the events. errs are in the order of the plan.
//
// answers reports, by node id, whether the answer of a call is cached. It has only calls
// without an input list whose answers can be reused. For other calls this is unknown before a
// run.
func (r *Run) Preview(ctx context.Context, o scheduler.Options) (answers map[string]bool, errs []error) {
	h := r.e.host
	progress := r.e.show(r.plan)
	defer progress.Stop()
	event, root, warn := o.Event, o.Root, o.Warn
	o.Pure, o.KeepGoing, o.Jobs, o.Limit, o.Begin = true, true, r.e.o.Jobs, h.Usage.Jobs(), h.Steps.Begin
	o.Event = func(e scheduler.Event) {
		h.Steps.End(e.Node)
		if e.Err != nil {
			progress.Fail(e.Node)
		}
		event(e)
	}
	o.Warn = func(n *graph.Node, warning func() *diag.Error) {
		if r.reusing != nil {
			warning = sync.OnceValue(warning)
			r.reusing.warn(n, warning)
		}
		warn(n, warning)
	}
	o.Root = func(at graph.Root, list *krm.List) error {
		h.Usage.Made.Add(int64(list.Size()))
		err := root(at, list)
		progress.Done()
		return err
	}
	errs = scheduler.Run(ctx, r.plan.Graph, o)
	return r.answers(ctx), errs
}

// errLeft cancels a run whose results are not consumed.
var errLeft = errors.New("the results are not needed")

// part returns the part of the plan that the selected roots depend on, or the whole plan if
// only is nil.
func (r *Run) part(only func(dir string) bool) *planner.Plan {
	if only == nil {
		return r.plan
	}
	part := *r.plan
	part.Graph = r.plan.Graph.Only(func(root graph.Root) bool { return only(root.Dir) })
	nodes := map[string]bool{"": true}
	for _, n := range part.Graph.Nodes {
		nodes[n.ID] = true
	}
	part.Denied = slices.DeleteFunc(slices.Clone(r.plan.Denied), func(d planner.Denial) bool { return !nodes[d.Node] })
	part.Failed = slices.DeleteFunc(slices.Clone(r.plan.Failed), func(f planner.RootError) bool { return !only(f.Dir) })
	return &part
}

// A Writing describes how a run is written to a sink.
type Writing struct {
	Hooks
	// Folder is the output folder that the sink writes, or "" if it writes no folder.
	Folder string
	// Open opens the sink. inputs are the files that the roots are made from. files is the metadata
	// of the files in Folder that earlier runs have recorded, or nil if records are not used. The
	// sink updates it, and Write stores it when the results are committed.
	Open func(inputs iter.Seq[string], files *known.Files) (sink.Sink, error)
	// Check is called when all roots are rendered. If it returns an error, the results are not
	// committed.
	Check func() error
}

// Written describes the result of writing to a sink.
type Written struct {
	// Committed is true if the results are visible, or were compared. Missing are the
	// directories of failed roots.
	Committed bool
	Missing   []string
}

// Write renders all roots into a sink, including reused roots, and commits them atomically.
// Then it records the results. The sink is opened only if the plan may run.
func (r *Run) Write(ctx context.Context, w Writing) (Written, error) {
	if err := r.mayRun(r.plan); err != nil {
		return Written{}, err
	}
	files := r.e.Output(w.Folder)
	to, err := w.Open(r.inputs, files)
	if err != nil {
		return Written{}, err
	}
	defer r.e.host.Exits.Add(to.Abort)()
	b := &batch{to: to, roots: map[string]render.Root{}, missing: map[string]render.Root{}}
	for _, root := range r.roots {
		dir := diag.Redact(root.Dir)
		b.roots[dir], b.missing[dir] = root, root
	}
	if err := r.putKnown(ctx, b); err != nil {
		return Written{}, err
	}
	err = errors.Join(r.plan.Err(), r.run(ctx, r.plan, w.Hooks, len(r.roots) > 1, b.put))
	if err != nil && (!r.keepGoing || ctx.Err() != nil) {
		return Written{}, err
	}
	r.e.host.Recorder.Stage(profile.Writing)
	if w.Check != nil {
		if invalid := w.Check(); invalid != nil {
			return Written{}, errors.Join(err, invalid)
		}
	}
	err = b.finish(ctx, err, r.e.host.Strict)
	if b.committed {
		err = errors.Join(err, r.remember(b.note))
		r.e.saveOutput(w.Folder, files)
	}
	out := Written{Committed: b.committed}
	for dir := range b.missing {
		out.Missing = append(out.Missing, dir)
	}
	return out, err
}

// inputs yields the files that the roots are made from, including those of reused roots.
func (r *Run) inputs(yield func(string) bool) {
	for _, src := range r.plan.Files() {
		if !yield(src.File) {
			return
		}
	}
	for _, dir := range r.dirs {
		if record := r.reused(dir); record != nil {
			for file := range record.Files {
				if !yield(file) {
					return
				}
			}
		}
	}
}

// putKnown passes the records of reused roots to the sink. Roots that the sink cannot reuse are
// planned after all.
func (r *Run) putKnown(ctx context.Context, b *batch) error {
	reused, errs := make([]bool, len(r.roots)), make([]error, len(r.roots))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, root := range r.roots {
		if record := r.reused(root.Dir); record != nil {
			g.Go(func() error {
				reused[i], errs[i] = b.to.Reuse(root, record)
				return nil
			})
		}
	}
	_ = g.Wait() // errors are in errs
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var again []string
	for i, root := range r.roots {
		switch {
		case r.reused(root.Dir) == nil:
		case reused[i]:
			r.log.Unchanged(root.Dir)
			delete(b.missing, diag.Redact(root.Dir))
		default:
			again = append(again, root.Dir)
		}
	}
	if len(again) == 0 {
		return nil
	}
	return r.planAgain(ctx, again)
}

// A batch tracks the roots that a run writes to a sink.
type batch struct {
	to      sink.Sink
	mu      sync.Mutex
	roots   map[string]render.Root // all roots, by directory
	missing map[string]render.Root // roots that have not finished successfully

	committed bool
}

func (b *batch) put(at graph.Root, list *krm.List) error {
	b.mu.Lock()
	root := b.missing[at.Dir]
	b.mu.Unlock()
	if err := b.to.Put(root, list); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.missing, at.Dir)
	return nil
}

// note adds the sink's result for a root to its record. It reports whether the root was
// rendered.
func (b *batch) note(dir string, made *records.Record) bool {
	if _, missing := b.missing[dir]; missing {
		return false
	}
	root, ok := b.roots[dir]
	if ok {
		b.to.Note(root, made)
		made.Rendered = true
	}
	return ok
}

// finish commits the results. failed is the error of the roots that failed, if the run keeps
// going.
func (b *batch) finish(ctx context.Context, failed error, strict func() error) error {
	for _, root := range b.missing {
		if err := b.to.Keep(root); err != nil {
			return errors.Join(failed, err)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := strict(); err != nil {
		return errors.Join(failed, err)
	}
	err := b.to.Commit()
	b.committed = err == nil || errors.Is(err, sink.ErrChanged)
	if failed != nil && errors.Is(err, sink.ErrChanged) {
		e := *diag.AsError(err)
		e.Err = nil // the error of a failed root takes precedence over a difference
		err = &e
	}
	return errors.Join(failed, err)
}

// run runs a plan and calls root with the list of each root.
func (r *Run) run(ctx context.Context, plan *planner.Plan, h Hooks, several bool, root func(graph.Root, *krm.List) error) error {
	e := r.e
	e.host.Recorder.Stage(profile.Running)
	progress := e.show(plan)
	defer progress.Stop()
	pool := executors.NewPool(ctx, e.o.Program)
	kept, endAnswers := e.answers(ctx)
	defer endAnswers()
	defer e.host.Exits.Add(pool.Close)()
	o := r.options
	o.Run = scheduler.Options{
		Reuse:     kept,
		Jobs:      e.o.Jobs,
		Calls:     e.o.Calls,
		Limit:     e.host.Usage.Jobs(),
		KeepGoing: r.keepGoing || h.KeepGoing,
		Several:   several,
		Begin:     e.host.Steps.Begin,
		Seen:      h.Seen,
		Made:      h.Made,
		Warn:      h.Warn,
		Call:      h.Call,
		Event: func(event scheduler.Event) {
			e.host.Steps.End(event.Node)
			r.log.Node(event)
			if event.Err != nil {
				progress.Fail(event.Node)
			}
			e.host.Recorder.Event(event)
			if h.Event != nil {
				h.Event(event)
			}
		},
		Root: func(at graph.Root, list *krm.List) error {
			e.host.Usage.Made.Add(int64(list.Size()))
			start := time.Now()
			defer func() { e.host.Recorder.Root(at, list, start) }()
			if r.request.Text && r.reusing != nil {
				r.made = list
			}
			if h.Root != nil {
				h.Root(at, list)
			}
			err := root(at, list)
			if err == nil {
				progress.Done()
			}
			return err
		},
		AllowErrorResults: e.o.AllowErrorResults,
		Executor: func(runtime function.Runtime) (scheduler.Executor, error) {
			if err := e.noRuntime(runtime); err != nil {
				return nil, diag.Errorf(diag.Pos{}, "", "%w", err).With(diag.NoEngine)
			}
			return pool.Get(runtime)
		},
	}
	if o.Run.Call == nil {
		o.Run.Call = r.log.Call
	}
	if o.Run.Warn == nil && !h.Silent {
		o.Run.Warn = r.warnNode
	}
	return render.Run(ctx, plan, o)
}

// warnNode prints and records a warning of a step.
func (r *Run) warnNode(n *graph.Node, warning func() *diag.Error) {
	if r.reusing != nil {
		warning = sync.OnceValue(warning)
		if r.reusing.warn(n, warning) {
			return
		}
	}
	r.log.WarnNode(n, warning)
}

// mayRun returns an error if a plan may not run. Denied functions are an error unless the run
// keeps going without the roots that depend on them. Warnings with --strict are an error before
// the first function is called.
func (r *Run) mayRun(plan *planner.Plan) error {
	var err error
	if !r.keepGoing { // otherwise render.Run returns this error, after the other roots
		err = r.e.denied(plan)
	}
	return errors.Join(err, r.strictCalls(plan))
}

// strictCalls returns the error of --strict, if the plan calls functions.
func (r *Run) strictCalls(plan *planner.Plan) error {
	for range plan.Graph.Calls() {
		return r.e.host.Strict()
	}
	return nil
}

func (e *Engine) denied(plan *planner.Plan) error {
	if err := render.Denied(plan); err != nil {
		return err
	}
	return e.needsRuntime(plan)
}

// needsRuntime returns an error if the plan has containers and this machine cannot run them.
func (e *Engine) needsRuntime(plan *planner.Plan) error {
	var names []string
	for call, n := range plan.Graph.Calls() {
		if call.Function.Runtime == function.RuntimeContainer {
			names = append(names, n.ID+": "+call.Function.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	if err := e.noRuntime(function.RuntimeContainer); err != nil {
		e := diag.Errorf(diag.Pos{}, "", "%w; these functions need one:", err).With(diag.NoEngine)
		e.Hints = names
		return e
	}
	return nil
}

// noRuntime returns an error if this machine cannot run functions of a runtime.
func (e *Engine) noRuntime(runtime function.Runtime) error {
	if runtime != function.RuntimeContainer || e.o.OwnExecutor(runtime) {
		return nil
	}
	_, err := container.Detect(e.o.ContainerRuntime)
	return err
}
