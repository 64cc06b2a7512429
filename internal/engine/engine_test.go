package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	var b bytes.Buffer
	if done, err := run.Kept(&b); done {
		return b.String(), err == nil
	}
	for result, err := range run.Results(t.Context(), Hooks{}) {
		if err = errors.Join(err, run.KeepList(&b, result.List)); err != nil {
			t.Fatal(err)
		}
	}
	return b.String(), false
}

// Roots that an earlier run may have rendered raise the time limit of a run, because it checks all
// their inputs. Without a cache they do not.
func TestKnownRootsAllowMoreTime(t *testing.T) {
	_, dirs := treeOf(t, "a", "b", "c")
	for _, noCache := range []bool{false, true} {
		e, _, usage := newEngine(t, func(o *Options) { o.Sources.NoCache = noCache })
		if _, err := e.Plan(t.Context(), Request{Dirs: dirs, Reuse: func(string, *records.Record) bool { return true }}); err != nil {
			t.Fatal(err)
		}
		want := int64(3 * rootWorth)
		if noCache {
			want = 0
		}
		if got := usage.Made.Load(); got != want {
			t.Errorf("no cache: %t: %d, want %d", noCache, got, want)
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
	list := run.Roots()
	w.Open = func() (sink.Sink, error) { return folder(t.Context(), out, list) }
	made, err := run.Write(t.Context(), w)
	return made, log, err
}

// folder opens a folder of output.
func folder(ctx context.Context, out string, list render.Roots) (sink.Sink, error) {
	var flags sink.FolderFlags
	o, err := flags.Options(list)
	if err != nil {
		return nil, err
	}
	o.Context = ctx
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
	ask := func(word string) (text string, kept bool) {
		e, _, _ := newEngine(t, nil)
		run, err := e.Plan(t.Context(), Request{Dirs: dirs, Key: word})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if done, err := run.Kept(&b); done {
			if err != nil || len(run.Plan().Graph.Roots) > 0 {
				t.Errorf("%v, %d roots planned", err, len(run.Plan().Graph.Roots))
			}
			return b.String(), true
		}
		if err := run.Remember([]byte(word + " text")); err != nil {
			t.Fatal(err)
		}
		return "", false
	}
	ask("one")
	if text, kept := ask("one"); !kept || text != "one text" {
		t.Errorf("%q, %t", text, kept)
	}
	if text, kept := ask("two"); kept {
		t.Errorf("another key has %q", text)
	}
}
