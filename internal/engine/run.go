package engine

import (
	"bytes"
	"context"
	"errors"
	"iter"
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
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
	"github.com/krmflow/krmflow/scheduler"
)

// A Run is a planned request. It is not safe for concurrent use.
type Run struct {
	e         *Engine
	request   Request
	log       Log
	roots     render.Roots
	leftOut   int
	dirs      []string // all, also those that are not planned
	options   render.Options
	seen      *lockfile.Seen
	keepGoing bool

	plan         *planner.Plan
	planWarnings int      // how many warnings the plan had before a preview added those of its steps
	reusing      *reusing // nil if nothing is known and nothing is remembered
	text         []byte   // that an earlier run has printed
	hasText      bool
}

// Roots returns all roots of the request, also those that are not planned, and how many were found and left out.
func (r *Run) Roots() (list render.Roots, leftOut int) { return r.roots, r.leftOut }

// Plan returns the plan of the roots that are not known.
func (r *Run) Plan() *planner.Plan { return r.plan }

// Options returns what the plan was made with. Its Dirs are the roots that are planned.
func (r *Run) Options() render.Options { return r.options }

// Denied returns the error for functions that may not or cannot run, nil if all can.
func (r *Run) Denied() error { return r.e.denied(r.plan) }

// Hooks take what happens while roots are made. They are called from several goroutines; nil ones are not called.
type Hooks struct {
	// Only chooses the roots that are made, by their directories as the plan names them.
	Only func(dir string) bool
	// KeepGoing makes what does not need a failed step.
	KeepGoing bool
	// Event is called after each step, and Call with what each function reported: the log is not told of that call.
	Event func(scheduler.Event)
	Call  func(scheduler.CallReport)
	// Warn takes the warnings of steps. Otherwise they are told, unless Silent is set.
	Warn   func(n *graph.Node, warning func() *diag.Error)
	Silent bool
	// Seen and Made are those of [scheduler.Options].
	Seen, Made func(*graph.Node, *krm.List)
}

// A Result is what came of a root.
type Result struct {
	// Root is the root as the plan names it, and List its resources.
	Root graph.Root
	List *krm.List
	// Record is what is known of a root that an earlier run has made and that has not changed. It has no List then.
	Record *records.Record
}

// Results makes the roots of the plan and returns them in the order in which they are done, after those that are known. The last element
// has the errors of the run, if there are any; those of the plan are not among them. Nothing runs if a function is denied, unless the run
// keeps going. Leaving the loop ends the run.
func (r *Run) Results(ctx context.Context, h Hooks) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		for _, dir := range r.dirs {
			if record := r.Known(dir).Record; record != nil && !yield(Result{Root: graph.Root{Dir: diag.Redact(dir)}, Record: record}, nil) {
				return
			}
		}
		plan := r.part(h.Only)
		if len(plan.Graph.Roots) == 0 && h.Only != nil {
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
		if err := <-done; err != nil {
			yield(Result{}, err)
		}
	}
}

// List makes the only root and returns its resources.
func (r *Run) List(ctx context.Context) (list *krm.List, err error) {
	for result, failed := range r.Results(ctx, Hooks{}) {
		if err = failed; err == nil {
			list = result.List
		}
	}
	return list, errors.Join(err, r.e.host.Strict())
}

// Texts makes all roots and returns what they render to, by their names in the plan.
func (r *Run) Texts(ctx context.Context) (map[string][]byte, error) {
	texts := map[string][]byte{}
	for result, err := range r.Results(ctx, Hooks{}) {
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

// Preview runs the steps of the plan that need no function, and continues after a step that fails. The functions of o take what happens.
// The errors are in the order of the plan. answers tells of the calls that get no list, and whose answers may be reused, whether an answer
// is there: by the ids of their nodes. Of all others that is not known before a run.
func (r *Run) Preview(ctx context.Context, o scheduler.Options) (answers map[string]bool, errs []error) {
	h := r.e.host
	event, root := o.Event, o.Root
	o.Pure, o.KeepGoing, o.Jobs, o.Limit, o.Begin = true, true, r.e.o.Jobs, h.Usage.Jobs(), h.Steps.Begin
	o.Event = func(e scheduler.Event) {
		h.Steps.End(e.Node)
		event(e)
	}
	o.Root = func(at graph.Root, list *krm.List) error {
		h.Usage.Made.Add(int64(list.Size()))
		return root(at, list)
	}
	errs = scheduler.Run(ctx, r.plan.Graph, o)
	return r.answers(ctx), errs
}

// errLeft ends a run whose results nobody wants any more.
var errLeft = errors.New("the results are not needed")

// part returns the part of the plan that some of its roots need, all of it for nil.
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

// A Writing is how a run is written to a sink.
type Writing struct {
	Hooks
	// Open opens the sink.
	Open func() (sink.Sink, error)
	// Begin is called with the plan before it runs, and Check when all roots are made: an error keeps the result invisible.
	Begin func(*planner.Plan)
	Check func() error
	// Root is called with each root before the sink takes it, Put when the sink has taken it, and End when all are made.
	Root func(root graph.Root, list *krm.List)
	Put  func()
	End  func()
}

// Written says what a sink has taken.
type Written struct {
	// Committed is true if the results are visible, or were compared, and Missing are the directories of the roots that failed.
	Committed bool
	Missing   []string
}

// Write gives all roots to a sink, those that are known as well, and makes them visible in one step. Then it remembers the results. The
// sink is opened if the plan may run.
func (r *Run) Write(ctx context.Context, w Writing) (Written, error) {
	if err := r.mayRun(r.plan); err != nil {
		return Written{}, err
	}
	to, err := w.Open()
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
	if w.Begin != nil {
		w.Begin(r.plan)
	}
	err = errors.Join(r.plan.Err(), r.run(ctx, r.plan, w.Hooks, len(r.roots) > 1, func(root graph.Root, list *krm.List) error {
		if w.Root != nil {
			w.Root(root, list)
		}
		if err := b.put(root, list); err != nil {
			return err
		}
		if w.Put != nil {
			w.Put()
		}
		return nil
	}))
	if w.End != nil {
		w.End()
	}
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
	}
	out := Written{Committed: b.committed}
	for dir := range b.missing {
		out.Missing = append(out.Missing, dir)
	}
	return out, err
}

// putKnown gives the sink what earlier runs have made. What it needs anew is planned.
func (r *Run) putKnown(ctx context.Context, b *batch) error {
	var again []string
	for _, root := range r.roots {
		record := r.Known(root.Dir).Record
		if record == nil {
			continue
		}
		ok, err := b.to.Reuse(root, record)
		switch {
		case err != nil:
			return err
		case ok:
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

// A batch is what a run gives to a sink.
type batch struct {
	to      sink.Sink
	mu      sync.Mutex
	roots   map[string]render.Root // all, by directory
	missing map[string]render.Root // that have not ended well

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

// note adds to the record of a root what was made of it, and reports whether it was made.
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

// finish makes the results visible. failed is what has failed before, although the run keeps going.
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
		e.Err = nil // a root that failed counts more than an output that would change
		err = &e
	}
	return errors.Join(failed, err)
}

// run runs a plan, and calls root with the list of each root.
func (r *Run) run(ctx context.Context, plan *planner.Plan, h Hooks, several bool, root func(graph.Root, *krm.List) error) error {
	e := r.e
	e.host.Recorder.Stage(profile.Running)
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
			e.host.Recorder.Event(event)
			if h.Event != nil {
				h.Event(event)
			}
		},
		Root: func(at graph.Root, list *krm.List) error {
			e.host.Usage.Made.Add(int64(list.Size()))
			start := time.Now()
			defer func() { e.host.Recorder.Root(at, list, start) }()
			return root(at, list)
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

// warnNode passes on a warning of a step.
func (r *Run) warnNode(n *graph.Node, warning func() *diag.Error) {
	if r.reusing != nil {
		warning = sync.OnceValue(warning)
		if r.reusing.warn(n, warning) {
			return
		}
	}
	r.log.WarnNode(n, warning)
}

// mayRun returns an error if a plan may not run: because functions of it may not, unless the run keeps going without the roots that need
// these, or because it has functions and what is known now makes the run fail.
func (r *Run) mayRun(plan *planner.Plan) error {
	var err error
	if !r.keepGoing { // otherwise it is of render.Run, when the others are done
		err = r.e.denied(plan)
	}
	for range plan.Graph.Calls() {
		return errors.Join(err, r.e.host.Strict())
	}
	return err
}

func (e *Engine) denied(plan *planner.Plan) error {
	if err := render.Denied(plan); err != nil {
		return err
	}
	return e.needsRuntime(plan)
}

// needsRuntime returns an error if the plan has containers and nothing on this machine can run them.
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

// noRuntime returns why nothing on this machine can run functions of a runtime, nil if something may.
func (e *Engine) noRuntime(runtime function.Runtime) error {
	if runtime != function.RuntimeContainer || e.o.OwnExecutor(runtime) {
		return nil
	}
	_, err := container.Detect(e.o.ContainerRuntime)
	return err
}
