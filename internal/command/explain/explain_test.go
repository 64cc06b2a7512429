package explain

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/review/history"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
	"github.com/krmflow/krmflow/scheduler"
)

// minRoots is the minimum number of roots that the test must check to be meaningful.
const minRoots = 50

// maxPlaced is the maximum number of fields per root whose lines are checked, because each check
// searches the file.
const maxPlaced = 500

// The changes of each field of each resource form a chain, from no value to the value in the
// output. KRMFLOW_TREES names a folder with more trees.
func TestEveryField(t *testing.T) {
	dirs := []string{"../../../testdata/kustomize"}
	if more := os.Getenv("KRMFLOW_TREES"); more != "" {
		dirs = append(dirs, more)
	}
	roots, fields, steps := 0, 0, 0
	for _, dir := range dirs {
		found, err := render.FindRoots(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, root := range found {
			plan, h := run(t, root)
			if h == nil {
				continue // it has an error, or needs something that is not here
			}
			roots++
			placed := 0
			for i, r := range h.Result().All() {
				chain := h.Steps(i)
				steps += len(chain)
				replay(t, root, r, chain)
				files := history.FilesOf(plan)
				each(r.Value(), nil, func(path []any, v yaml.Value) {
					fields++
					changes := history.FieldOf(chain, path)
					now := yaml.Value{}
					for _, c := range changes {
						if !c.Old.Equal(now) {
							t.Fatalf("%s: %s %v: %s begins with %s, and %s was left", root, r.ID(), path, c.Node.ID, show(c.Old), show(now))
						}
						now = c.New
					}
					if !now.Equal(v) {
						t.Fatalf("%s: %s %v: the changes lead to %s, the output has %s", root, r.ID(), path, show(now), show(v))
					}
					if why := wrong(chain, changes, path); why != "" {
						t.Fatalf("%s: %s %v: %s", root, r.ID(), path, why)
					}
					if placed++; placed > maxPlaced {
						return
					}
					if why := misplaced(files, changes[0]); why != "" {
						t.Fatalf("%s: %s %v: %s", root, r.ID(), path, why)
					}
				})
			}
			if roots%10 == 0 {
				if _, err := New(plan, h, root, "ConfigMap/there-is-none", nil); err == nil {
					t.Errorf("%s: something that is not there was explained", root)
				}
			}
		}
	}
	t.Logf("%d roots, %d fields, %d steps", roots, fields, steps)
	if roots < minRoots {
		t.Errorf("%d roots were looked at, want %d", roots, minRoots)
	}
}

// replay fails unless the steps of a resource follow one another and start where it is written or
// generated.
func replay(t *testing.T, root string, r *krm.Resource, chain []history.Step) {
	t.Helper()
	var now *krm.Resource
	for i, s := range chain {
		if (s.Before == nil) != (i == 0) || now != nil && !s.Before.Value().Equal(now.Value()) {
			t.Fatalf("%s: %s: step %d (%s) does not begin where the one before has ended", root, r.ID(), i, s.Node.ID)
		}
		if verb := s.Node.Op.Verb(); i == 0 && verb != "load" && verb != "generate" {
			t.Fatalf("%s: %s: it begins with %s, which makes nothing", root, r.ID(), s.Node.ID)
		}
		now = s.After
	}
	if now == nil || !now.Value().Equal(r.Value()) {
		t.Fatalf("%s: %s: the steps do not lead to the output", root, r.ID())
	}
}

// wrong returns a description of missing or excess changes of a field, or "". For a field outside
// of lists it requires all changes since the field was last absent. For other fields it requires
// that the first change finds no item with that name.
func wrong(chain []history.Step, changes []history.Change, path []any) string {
	item := slices.IndexFunc(path, func(step any) bool { _, ok := step.(int); return ok })
	if item < 0 {
		var want, have []string
		for _, s := range chain {
			var old yaml.Value
			if s.Before != nil {
				old = history.At(s.Before.Value(), path)
			}
			now := history.At(s.After.Value(), path)
			if !old.Exists() {
				want = nil
			}
			if !old.Equal(now) {
				want = append(want, s.Node.ID)
			}
		}
		for _, c := range changes {
			have = append(have, c.Node.ID)
		}
		if !slices.Equal(have, want) {
			return fmt.Sprintf("it is changed by %v, want %v", have, want)
		}
		return ""
	}
	first := changes[0]
	if first.Before == nil {
		return ""
	}
	now := history.At(first.After.Value(), first.Path[:item+1])
	for _, x := range history.At(first.Before.Value(), first.Path[:item]).Items() {
		same := x.Equal(now) || now.Get("name").Exists() && x.Get("name").Equal(now.Get("name"))
		if rest := path[item+1:]; same && !slices.ContainsFunc(rest, func(step any) bool { _, ok := step.(int); return ok }) &&
			history.At(x, rest).Exists() {
			return fmt.Sprintf("%s has not made it: it was there", first.Node.ID)
		}
	}
	return ""
}

// misplaced returns a description of a wrong line for a field, or "". If a file has the field, the
// line must have its name or its value.
func misplaced(files history.Files, c history.Change) string {
	if c.Before != nil || c.Node.Op.Verb() != "load" {
		return ""
	}
	pos, _ := files.Place(c)
	src := files[pos.File]
	if src == nil || pos.File != c.After.Pos.File {
		return fmt.Sprintf("it is said to be in %s, and is in %s", pos, c.After.Pos)
	}
	lines := strings.Split(src.Text(), "\n")
	if pos.Line < 1 || pos.Line > len(lines) {
		return fmt.Sprintf("%s is no line", pos)
	}
	if _, item := c.Path[len(c.Path)-1].(int); item {
		return "" // whatever it starts with
	}
	line := lines[pos.Line-1]
	var name, parent string // an anchor is at the parent
	for _, step := range c.Path {
		if step, ok := step.(string); ok {
			parent, name = name, step
		}
	}
	if strings.Contains(line, name) || parent != "" && strings.Contains(line, parent) ||
		c.New.IsScalar() && strings.Contains(line, strings.SplitN(c.New.Text(), "\n", 2)[0]) {
		return ""
	}
	return fmt.Sprintf("%s is %q", pos, line)
}

// each calls visit with all fields and items of a value.
func each(v yaml.Value, path []any, visit func([]any, yaml.Value)) {
	if len(path) > 0 {
		visit(path, v)
	}
	for _, f := range v.Fields() {
		each(f.Value, append(path[:len(path):len(path)], f.Key), visit)
	}
	for i, x := range v.Items() {
		each(x, append(path[:len(path):len(path)], i), visit)
	}
}

// run renders a root. It returns nil if that fails.
func run(t *testing.T, root string) (*planner.Plan, *history.History) {
	t.Helper()
	o := render.Options{Dirs: []string{root}}
	plan, err := render.Compile(t.Context(), o)
	if err != nil || plan.Err() != nil || len(plan.Denied) > 0 {
		return nil, nil
	}
	for range plan.Graph.Calls() {
		return nil, nil
	}
	var lists history.Recorder
	o.Run = scheduler.Options{Jobs: 2, Made: lists.Made, Root: func(graph.Root, *krm.List) error { return nil }}
	if err := render.Run(t.Context(), plan, o); err != nil {
		return nil, nil
	}
	return plan, lists.Of(plan.Graph, plan.Graph.Roots[0])
}

func TestParseReadsSubjectsAndFields(t *testing.T) {
	for _, text := range []string{"", "web", "/", "Deployment/", "/web", "a/b/c/d", "Deployment/web:a[", "Deployment/web:[x]",
		"Deployment/web:a..b", "Deployment/web:a[0"} {
		if s, err := Parse(text, func(Subject) bool { return false }); err == nil {
			t.Errorf("%q is %+v", text, s)
		}
	}
	v := yaml.MapOf(yaml.Field{Key: "a.b",
		Value: yaml.MapOf(yaml.Field{Key: "c", Value: yaml.SeqOf(yaml.MapOf(yaml.Field{Key: "name", Value: yaml.Str("x.y")}))})},
		yaml.Field{Key: "7", Value: yaml.Str("seven")})
	for text, want := range map[string]string{
		"a.b.c[0].name": "x.y", `["a.b"].c[name=x.y].name`: "x.y", `"a.b".c[0]["name"]`: "x.y", "/a.b/c/0/name": "x.y", "/7": "seven",
	} {
		s, err := Parse("K/n:"+text, func(s Subject) bool { return s.name == "n" })
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if path, ok := s.field.In(v); !ok || history.At(v, path).Text() != want {
			t.Errorf("%s leads to %v (%t)", text, path, ok)
		}
	}
	if s, _ := Parse("ClusterRole/system:x:rules[0]", func(s Subject) bool { return s.name == "system:x" }); len(s.field) != 2 ||
		s.fieldText() != "rules[0]" {
		t.Errorf("%+v", s)
	}
}

// An output folder that records its source leads to the root.
func TestInOutput(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "web.yaml"), []byte("kind: A\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, ok, err := InOutput(filepath.Join(dir, "web.yaml") + ":spec"); !ok || err == nil {
		t.Errorf("ok %t, %v; want an error about the folder", ok, err)
	}
	if _, _, ok, err := InOutput("Deployment/web:spec"); ok || err != nil {
		t.Errorf("ok %t, %v; want no file", ok, err)
	}
}

// Completion offers the shortest unambiguous names that begin with the typed text.
func TestNamesForCompletion(t *testing.T) {
	ids := []krm.ID{
		{GVK: krm.GVK{Group: "apps", Kind: "Deployment"}, Name: "web", Namespace: "a"},
		{GVK: krm.GVK{Group: "apps", Kind: "Deployment"}, Name: "web", Namespace: "b"},
		{GVK: krm.GVK{Group: "apps", Kind: "Deployment"}, Name: "api", Namespace: "a"},
		{GVK: krm.GVK{Group: "networking.k8s.io", Kind: "Ingress"}, Name: "web"},
		{GVK: krm.GVK{Group: "example.com", Kind: "Ingress"}, Name: "web"},
	}
	for typed, want := range map[string]string{
		"":                 "Deployment/a/web Deployment/b/web Deployment/api Ingress.networking.k8s.io/web Ingress.example.com/web",
		"Deployment/a":     "Deployment/a/web Deployment/api",
		"Deployment/a/":    "Deployment/a/web Deployment/a/api",
		"Deployment.apps/": "Deployment.apps/a/web Deployment.apps/b/web Deployment.apps/api",
		"Service/":         "",
	} {
		if got := strings.Join(namesFor(ids, typed), " "); got != want {
			t.Errorf("%q: %s, want %s", typed, got, want)
		}
	}
}
