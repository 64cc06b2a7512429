package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/engine/limits"
	"github.com/krmflow/krmflow/internal/engine/records"
	"github.com/krmflow/krmflow/internal/engine/sink"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/output/known"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
)

// A recorder is a log that keeps warnings and failed roots.
type recorder struct {
	silent
	mu        sync.Mutex
	warnings  []string
	unchanged []string
}

func (l *recorder) Warn(w planner.Warning) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.warnings = append(l.warnings, w.Msg)
}

func (l *recorder) Planned(p *planner.Plan) {
	for _, w := range p.Warnings {
		l.Warn(w)
	}
}

func (l *recorder) Unchanged(dir string) { l.unchanged = append(l.unchanged, filepath.Base(dir)) }

// newEngine returns an engine with a log and the resource usage of its runs. change may change its
// options.
func newEngine(t *testing.T, change func(*Options)) (*Engine, *recorder, *limits.Usage) {
	t.Helper()
	o := Options{Jobs: 2, Calls: 2, Limits: Limits{Input: 1 << 20},
		Program: func(function.Runtime) executors.Program { return executors.Program{} }}
	o.Plan.Jobs = 2
	o.Plan.Cwd, _ = os.Getwd()
	if change != nil {
		change(&o)
	}
	log, usage, exits := &recorder{}, &limits.Usage{}, &limits.Exits{}
	t.Cleanup(exits.Run)
	return New(o, Host{Log: log, Exits: exits, Usage: usage, Steps: &limits.Steps{}, Stop: func(error) {},
		Strict: func() error { return nil }}), log, usage
}

// tree writes files below a new directory and returns it. It also gives the user an empty cache.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", filepath.Join(t.TempDir(), "cache"))
	dir := t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	return dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func configMap(name string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + "}}\n"
}

// treeOf returns a tree of roots, each with a ConfigMap of the same name.
func treeOf(t *testing.T, names ...string) (dir string, dirs []string) {
	files := map[string]string{}
	for _, name := range names {
		files[name+"/kustomization.yaml"], files[name+"/cm.yaml"] = "resources: [cm.yaml]\n", configMap(name)
	}
	dir = tree(t, files)
	for _, name := range names {
		dirs = append(dirs, filepath.Join(dir, name))
	}
	return dir, dirs
}

// build renders a root as build does. It calls meanwhile after the lookup of earlier records and
// before planning.
func build(t *testing.T, dir string, meanwhile func()) (text string, reused bool) {
	t.Helper()
	e, _, _ := newEngine(t, nil)
	q := Request{Dirs: []string{dir}, Text: true}
	if meanwhile != nil {
		q.Text, q.Reuse = false, func(string, *records.Record) bool { meanwhile(); return false }
	}
	run, err := e.Plan(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	run.request.Text = true // also after meanwhile
	var b bytes.Buffer
	reused = true
	if err := run.Print(&b, func(w io.Writer) error {
		reused = false
		list, err := run.List(t.Context())
		if err != nil {
			return err
		}
		return list.WriteYAML(w)
	}); err != nil {
		t.Fatal(err)
	}
	return b.String(), reused
}

// Roots raise the memory limit of a run, even if an earlier run has rendered them.
func TestRootsAllowMoreMemory(t *testing.T) {
	_, dirs := treeOf(t, "a", "b", "c")
	for range 2 {
		e, _, usage := newEngine(t, func(*Options) {})
		if _, err := e.Plan(t.Context(), Request{Dirs: dirs, Reuse: func(string, *records.Record) bool { return true }}); err != nil {
			t.Fatal(err)
		}
		if got, want := usage.Made.Load(), int64(3*rootWorth); got != want {
			t.Errorf("%d bytes, want %d", got, want)
		}
	}
}

// If a file changes between the lookup of records and the plan, the run records the new content.
func TestChangeBeforePlan(t *testing.T) {
	dir := tree(t, map[string]string{"kustomization.yaml": "resources: [cm.yaml]\n"})
	one := func() { write(t, filepath.Join(dir, "cm.yaml"), configMap("one")) }
	two := func() { write(t, filepath.Join(dir, "cm.yaml"), configMap("two")) }
	expect := func(meanwhile func(), want string, reused bool) {
		t.Helper()
		if text, again := build(t, dir, meanwhile); !strings.Contains(text, "name: "+want+"\n") || again != reused {
			t.Errorf("%q, reused: %t; want %s, %t", text, again, want, reused)
		}
	}
	one()
	expect(nil, "one", false)
	expect(nil, "one", true)
	expect(two, "two", false)
	expect(nil, "two", true)
	one()
	expect(nil, "one", true)
}

// Results arrive in any order, each once. If the run keeps going, an error of one root comes after
// the others.
func TestResultsOfAllRoots(t *testing.T) {
	dir, dirs := treeOf(t, "a", "b", "c")
	write(t, filepath.Join(dir, "b/kustomization.yaml"),
		"resources: [cm.yaml]\npatches: [{patch: '{kind: ConfigMap, apiVersion: v1, metadata: {name: other}}'}]\n")
	for _, keepGoing := range []bool{false, true} {
		e, _, _ := newEngine(t, func(o *Options) { o.KeepGoing = keepGoing; o.Recursive = true })
		run, err := e.Plan(t.Context(), Request{Args: []string{dir}})
		if err != nil {
			t.Fatal(err)
		}
		var made []string
		var failed error
		for result, err := range run.Results(t.Context(), Hooks{}) {
			if err != nil {
				failed = err
				continue
			}
			made = append(made, filepath.Base(result.Root.Dir))
		}
		slices.Sort(made)
		if failed == nil || keepGoing && fmt.Sprint(made) != "[a c]" || slices.Contains(made, "b") {
			t.Errorf("keep going: %t: %v of %v: %v", keepGoing, made, dirs, failed)
		}
	}
}

// Leaving the loop early ends the run.
func TestResultsLeft(t *testing.T) {
	_, dirs := treeOf(t, "a", "b", "c", "d", "e", "f")
	e, _, _ := newEngine(t, nil)
	run, err := e.Plan(t.Context(), Request{Dirs: dirs})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range run.Results(t.Context(), Hooks{}) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d results, want one", n)
	}
}

// Hooks.Only limits the run to some roots.
func TestResultsOfSomeRoots(t *testing.T) {
	_, dirs := treeOf(t, "a", "b", "c")
	e, _, _ := newEngine(t, nil)
	run, err := e.Plan(t.Context(), Request{Dirs: dirs})
	if err != nil {
		t.Fatal(err)
	}
	var made []string
	for result, err := range run.Results(t.Context(), Hooks{Only: func(dir string) bool { return dir == dirs[1] }}) {
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, result.Root.Dir)
	}
	if len(made) != 1 || made[0] != dirs[1] {
		t.Errorf("%v", made)
	}
}

// renderTo renders directories into a folder as apply-render does.
func renderTo(t *testing.T, out string, w Writing, args ...string) (Written, *recorder, error) {
	t.Helper()
	e, log, _ := newEngine(t, nil)
	run, err := e.Plan(t.Context(), Request{Args: args, Reuse: func(string, *records.Record) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	w.Folder = out
	w.Open = func(_ iter.Seq[string], files *known.Files) (sink.Sink, error) {
		return folder(t.Context(), out, run.Scope().Roots, files)
	}
	made, err := run.Write(t.Context(), w)
	return made, log, err
}

// folder opens a folder of output.
func folder(ctx context.Context, out string, list render.Roots, files *known.Files) (sink.Sink, error) {
	var flags sink.FolderFlags
	o, err := flags.Options(list)
	if err != nil {
		return nil, err
	}
	o.Context, o.Known = ctx, files
	return sink.Folder(out, o, flags.Form(), func(output.Changes) {})
}

// A run records the roots it has written: the next run plans only the changed roots.
func TestWriteRemembers(t *testing.T) {
	dir, dirs := treeOf(t, "a", "b")
	out := filepath.Join(t.TempDir(), "out")
	if made, _, err := renderTo(t, out, Writing{}, dirs...); err != nil || !made.Committed || len(made.Missing) > 0 {
		t.Fatalf("%+v, %v", made, err)
	}
	write(t, filepath.Join(dir, "b/cm.yaml"), configMap("changed"))
	var planned []string
	var mu sync.Mutex
	w := Writing{Hooks: Hooks{Root: func(root graph.Root, _ *krm.List) {
		mu.Lock()
		defer mu.Unlock()
		planned = append(planned, filepath.Base(root.Dir))
	}}}
	if _, log, err := renderTo(t, out, w, dirs...); err != nil || fmt.Sprint(log.unchanged) != "[a]" || fmt.Sprint(planned) != "[b]" {
		t.Errorf("unchanged %v, planned %v, %v", log.unchanged, planned, err)
	}
	if err := os.RemoveAll(out); err != nil {
		t.Fatal(err)
	}
	planned = nil
	if _, _, err := renderTo(t, out, w, dirs...); err != nil || len(planned) != 2 {
		t.Errorf("without the folder: planned %v, %v", planned, err)
	}
}

// If a check fails, the result is not published and nothing is recorded.
func TestWriteChecked(t *testing.T) {
	_, dirs := treeOf(t, "a")
	out := filepath.Join(t.TempDir(), "out")
	wrong := errors.New("it is wrong")
	made, _, err := renderTo(t, out, Writing{Check: func() error { return wrong }}, dirs...)
	if made.Committed || !errors.Is(err, wrong) {
		t.Errorf("%+v, %v", made, err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("the folder is there")
	}
	if _, log, _ := renderTo(t, out, Writing{}, dirs...); len(log.unchanged) > 0 {
		t.Errorf("unchanged: %v", log.unchanged)
	}
}

// Errors of roots fail the run unless it keeps going. Then they are in the plan.
func TestPlanWithMistakes(t *testing.T) {
	dir, dirs := treeOf(t, "a", "b")
	write(t, filepath.Join(dir, "b/kustomization.yaml"), "resources: [none.yaml]\n")
	e, _, _ := newEngine(t, nil)
	if _, err := e.Plan(t.Context(), Request{Dirs: dirs}); diag.CodeOf(err) == "" {
		t.Errorf("error: %v", err)
	}
	run, err := e.Plan(t.Context(), Request{Dirs: dirs, KeepGoing: true})
	if err != nil {
		t.Fatal(err)
	}
	if plan := run.Plan(); len(plan.Failed) != 1 || len(plan.Graph.Roots) != 1 {
		t.Errorf("failed: %v", plan.Failed)
	}
}

// A request whose text is kept plans nothing. The key contains everything that determines the text.
func TestKeptText(t *testing.T) {
	_, dirs := treeOf(t, "a", "b")
	ask := func(word string, failed error) (text string, kept bool) {
		t.Helper()
		e, _, _ := newEngine(t, nil)
		run, err := e.Plan(t.Context(), Request{Dirs: dirs, Key: word})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		kept = true
		if err := run.Print(&b, func(w io.Writer) error {
			kept = false
			_, err := io.WriteString(w, word+" text")
			return errors.Join(err, failed)
		}); !errors.Is(err, failed) {
			t.Errorf("error %v, want %v", err, failed)
		}
		if n := len(run.Plan().Graph.Roots); kept && n > 0 || b.String() != word+" text" {
			t.Errorf("kept: %t, %d roots planned, text %q", kept, n, b.String())
		}
		return b.String(), kept
	}
	if _, kept := ask("one", errors.New("failed")); kept {
		t.Error("the first run has a text")
	}
	if _, kept := ask("one", nil); kept {
		t.Error("the text of a failed run was kept")
	}
	if _, kept := ask("one", nil); !kept {
		t.Error("the text was not kept")
	}
	if text, kept := ask("two", nil); kept {
		t.Errorf("another key has %q", text)
	}
}

// Print keeps a list only if it is the list of the rendered root and has no Secrets.
func TestKeptLists(t *testing.T) {
	dir := tree(t, map[string]string{"kustomization.yaml": "resources: [s.yaml]\n",
		"s.yaml": "{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: secret-value}}\n"})
	for range 2 {
		if _, reused := build(t, dir, nil); reused {
			t.Error("a list with a Secret was kept")
		}
	}
	_, dirs := treeOf(t, "a")
	for range 2 {
		e, _, _ := newEngine(t, nil)
		run, err := e.Plan(t.Context(), Request{Dirs: dirs, Text: true})
		if err != nil {
			t.Fatal(err)
		}
		called := false
		if err := run.Print(io.Discard, func(w io.Writer) error {
			called = true
			_, err := io.WriteString(w, "not the list")
			return err
		}); err != nil || !called {
			t.Errorf("a text that is not the list was kept: %v", err)
		}
	}
}

// With --strict, Print returns an error after a text with warnings, whether it is new or kept.
func TestPrintStrict(t *testing.T) {
	_, dirs := treeOf(t, "a")
	warned := errors.New("warnings are errors")
	for _, kept := range []bool{false, true} {
		e, _, _ := newEngine(t, nil)
		e.host.Strict = func() error { return warned }
		run, err := e.Plan(t.Context(), Request{Dirs: dirs, Key: "strict"})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		called := false
		err = run.Print(&b, func(w io.Writer) error {
			called = true
			_, err := io.WriteString(w, "text")
			return err
		})
		if !errors.Is(err, warned) || b.String() != "text" || called == kept {
			t.Errorf("kept: %t: %q, called: %t, %v", kept, b.String(), called, err)
		}
	}
}

// Results records the inputs of planned roots for a request with Unseen, even if no root is
// rendered.
func TestUnseenRootsAreRecorded(t *testing.T) {
	_, dirs := treeOf(t, "a", "b")
	for _, want := range []int{0, 2} {
		e, _, _ := newEngine(t, nil)
		q := Request{Dirs: dirs, Unseen: true, Reuse: func(string, *records.Record) bool { return true }}
		run, err := e.Plan(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for result, err := range run.Results(t.Context(), Hooks{Only: func(string) bool { return false }}) {
			t.Errorf("result %v, %v", result.Root, err)
		}
		reused := 0
		for _, dir := range dirs {
			if run.Known(dir).Record != nil {
				reused++
			}
		}
		if reused != want {
			t.Errorf("%d roots are reused, want %d", reused, want)
		}
	}
}

// Known describes the changes of a root since its last render.
func TestKnownState(t *testing.T) {
	dir, dirs := treeOf(t, "a")
	known := func() Known {
		e, _, _ := newEngine(t, nil)
		run, err := e.Plan(t.Context(), Request{Dirs: dirs, Reuse: func(string, *records.Record) bool { return false }})
		if err != nil {
			t.Fatal(err)
		}
		return run.Known(dirs[0])
	}
	if s := known().State(); s.Known {
		t.Errorf("before the first render: %+v", s)
	}
	build(t, dirs[0], nil)
	if s := known().State(); !s.Known || len(s.Changes) > 0 {
		t.Errorf("after a render: %+v", s)
	}
	write(t, filepath.Join(dir, "a/cm.yaml"), configMap("changed"))
	if s := known().State(); !s.Known || len(s.Changes) != 1 || filepath.Base(s.Changes[0].What) != "cm.yaml" {
		t.Errorf("after a change: %+v", s)
	}
}

// Denied reports functions that must not be called, whether or not the run keeps going.
func TestDenied(t *testing.T) {
	_, dirs := treeOf(t, "a")
	warned, denied := errors.New("warnings are errors"), errors.New("denied")
	for _, keepGoing := range []bool{false, true} {
		e, _, _ := newEngine(t, func(o *Options) { o.KeepGoing = keepGoing })
		e.host.Strict = func() error { return warned }
		run, err := e.Plan(t.Context(), Request{Dirs: dirs})
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Denied(); err != nil {
			t.Errorf("without functions: %v", err)
		}
		call := &graph.Node{ID: "call", Op: graph.Call{}}
		run.plan = &planner.Plan{Graph: &graph.Graph{Nodes: []*graph.Node{call}}, Denied: []planner.Denial{{Node: "call", Err: denied}}}
		if err := run.Denied(); !errors.Is(err, denied) || !errors.Is(err, warned) {
			t.Errorf("keep going: %t: %v", keepGoing, err)
		}
	}
}

// LastWrite and Objects keep data for later runs, in any order of calls.
func TestDataOfEarlierRuns(t *testing.T) {
	_, dirs := treeOf(t, "a")
	sum := krm.DigestOf([]byte("content"))
	for _, want := range []bool{false, true} {
		e, _, _ := newEngine(t, nil)
		ids := e.Objects(dirs[0])
		run, err := e.Plan(t.Context(), Request{Dirs: dirs})
		if err != nil {
			t.Fatal(err)
		}
		written := run.LastWrite("out.yaml")
		if got := written.Is(sum); got != want {
			t.Errorf("written: %t, want %t", got, want)
		}
		written.Save(sum)
		cached := true
		if id := ids.Of(sum, func() string { cached = false; return "id" }); id != "id" || cached != want {
			t.Errorf("id %q, cached: %t, want %t", id, cached, want)
		}
		ids.Save()
	}
}
