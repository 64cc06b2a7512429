package test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/review/history"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/scheduler"
	"github.com/spf13/cobra"
)

// readTests reads the test files in and below the given directories.
func readTests(dirs []string) ([]*Suite, error) {
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	files, err := Find(dirs)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		e := diag.Errorf(diag.Pos{}, "", "no file called %s in %s or below", Name, diag.Some(dirs)).With(diag.NoRoots)
		return nil, e.Hint("write one beside a Kustomization: see docs/review.md")
	}
	return Read(files)
}

// ofShard returns the suites whose roots belong to the shard of this run.
func ofShard(cmd *cobra.Command, a *cli.Invocation, suites []*Suite) ([]*Suite, error) {
	e, err := a.Engine(cmd)
	if err != nil || !a.Sharded() {
		return suites, err
	}
	var dirs []string
	for _, s := range suites {
		if !slices.Contains(dirs, s.Root) {
			dirs = append(dirs, s.Root)
		}
	}
	own := e.Distribute(dirs)
	return slices.DeleteFunc(suites, func(s *Suite) bool { return !slices.Contains(own, s.Root) }), nil
}

// renderTested renders the roots of all suites and returns their outcomes.
func renderTested(cmd *cobra.Command, a *cli.Invocation, suites []*Suite) (map[string]*Outcome, error) {
	outcomes := map[string]*Outcome{}
	var dirs []string
	for _, s := range suites {
		if outcomes[s.Root] == nil {
			outcomes[s.Root] = &Outcome{}
			dirs = append(dirs, s.Root)
		}
	}
	a.Strict = false                                                                   // a test may expect warnings
	run, err := a.Plan(cmd, engine.Request{Dirs: dirs, KeepGoing: true, Silent: true}) // a test may expect a root to fail
	if err != nil {
		return nil, err
	}
	plan := run.Plan()
	t := &testRun{plan: plan, files: history.FilesOf(plan), outcomes: outcomes, keep: func(n int64) { a.Used.Made.Add(n) }}
	for _, f := range plan.Failed {
		t.outcome(f.Dir).Errs = f.Errs
	}
	t.planned()
	var failed error
	for result, err := range run.Results(cmd.Context(), engine.Hooks{Warn: t.warn, Seen: t.secrets.Seen}) {
		if err != nil {
			failed = err
			continue
		}
		t.root(result.Root, result.List)
	}
	if cmd.Context().Err() != nil {
		return nil, context.Cause(cmd.Context())
	}
	t.failed(failed)
	return outcomes, nil
}

// A testRun collects the outcomes of roots.
type testRun struct {
	plan     *planner.Plan
	files    history.Files
	keep     func(bytes int64) // accounts for additional memory
	secrets  history.Secrets
	mu       sync.Mutex
	outcomes map[string]*Outcome
}

// outcome returns the outcome of a root by its name in the plan.
func (t *testRun) outcome(dir string) *Outcome {
	for name, o := range t.outcomes {
		if name == dir || diag.Redact(name) == dir {
			return o
		}
	}
	return &Outcome{}
}

// planned assigns the warnings of layers to the roots that use them.
func (t *testRun) planned() {
	roots := map[string][]string{} // roots by file
	for _, l := range t.plan.Layers().All() {
		for _, file := range l.Files {
			roots[file] = append(roots[file], l.Roots...)
		}
	}
	for _, w := range t.plan.Warnings {
		in := roots[w.Pos.File]
		slices.Sort(in)
		for _, dir := range slices.Compact(in) {
			o := t.outcome(dir)
			o.Warnings = append(o.Warnings, w.Message())
		}
	}
}

// warn assigns the warnings of a step to the roots that need it.
func (t *testRun) warn(n *graph.Node, warning func() *diag.Error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := warning()
	for _, root := range t.plan.Graph.RootsThatNeed(map[string]bool{n.ID: true}) {
		o := t.outcome(root.Dir)
		o.Warnings = append(o.Warnings, w)
	}
}

func (t *testRun) root(root graph.Root, list *krm.List) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.outcome(root.Dir)
	o.List = list
	o.Secrets = func(s *secret.Set) {
		list.AddSecrets(s)
		t.secrets.Add(s, t.plan.Graph, root)
	}
	o.Hide = secret.NewSet(o.Secrets)
	steps := sync.OnceValue(func() *history.History {
		t.keep(int64(len(t.plan.Graph.Nodes)) * history.Worth(list))
		return history.Replay(t.plan.Graph, root)
	})
	o.Cause = func(i int, path []any) diag.Pos {
		h := steps()
		if h.Result() == nil || i >= h.Result().Len() {
			return diag.Pos{} // made by a function
		}
		changes := history.FieldOf(h.Steps(i), path)
		if len(changes) == 0 {
			return diag.Pos{}
		}
		pos, _ := t.files.Place(changes[len(changes)-1])
		return pos
	}
}

// failed assigns errors to the roots without a result.
func (t *testRun) failed(err error) {
	of := map[string][]error{} // by directory of the root
	add := func(id string, err error) {
		for _, root := range t.plan.Graph.RootsThatNeed(map[string]bool{id: true}) {
			if said := of[root.Dir]; !slices.ContainsFunc(said, func(e error) bool { return e.Error() == err.Error() }) {
				of[root.Dir] = append(said, err)
			}
		}
	}
	denied := map[string]bool{}
	for _, d := range t.plan.Denied {
		denied[d.Err.Error()] = true
		add(d.Node, d.Err)
	}
	var others []error
	for e := range diag.Each(err) {
		var node *scheduler.NodeError
		switch {
		case errors.As(e, &node):
			add(node.Node.ID, e)
		case !denied[e.Error()]:
			others = append(others, e)
		}
	}
	for _, root := range t.plan.Graph.Roots {
		o := t.outcome(root.Dir)
		if o.List != nil || len(o.Errs) > 0 {
			continue
		}
		if o.Errs = of[root.Dir]; len(o.Errs) == 0 {
			o.Errs = slices.Clip(others)
		}
		if len(o.Errs) == 0 {
			o.Errs = []error{fmt.Errorf("%s was not rendered", root.Dir)}
		}
	}
}

// Write prints a report as text, json or junit. It also writes it to the file junit as JUnit
// XML, unless junit is empty. The error reports the number of failed tests.
func Write(a *cli.Invocation, report *Report, form, junit string) error {
	write := map[string]func(io.Writer) error{"text": report.WriteText, "json": report.WriteJSON, "junit": report.WriteJUnit}[form]
	errs := []error{write(a.Stdout)}
	if junit != "" {
		var b bytes.Buffer
		errs = append(errs, report.WriteJUnit(&b))
		errs = append(errs, output.WriteFileAtomic(junit, b.Bytes(), 0o666))
	}
	failed, all := report.Failed()
	if failed > 0 {
		errs = append(errs, diag.TestFailed.Errorf("%d of %s failed", failed, diag.Count(all, "test"))) // the report has the details
	} else {
		a.Result = diag.Count(all, "test") + " passed"
	}
	return errors.Join(errs...)
}
