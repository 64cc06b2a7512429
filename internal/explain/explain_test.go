package explain

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/history"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
	"github.com/krmflow/krmflow/scheduler"
)

// minRoots is how many roots must have been looked at, or the test shows nothing.
const minRoots = 50

// The changes of each field of each resource follow one another, from nothing to the value that the output has. KRMFLOW_TREES names a folder with more
// trees.
func TestEveryField(t *testing.T) {
	dirs := []string{"../../testdata/kustomize"}
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
				continue // it has a mistake, or needs what is not here
			}
			roots++
			for i, r := range h.Result().All() {
				chain := h.Steps(i)
				steps += len(chain)
				replay(t, root, r, chain)
				each(r.Value(), nil, func(path []any, v yaml.Value) {
					fields++
					now := yaml.Value{}
					for _, c := range history.FieldOf(chain, path) {
						if !c.Old.Equal(now) {
							t.Fatalf("%s: %s %v: %s begins with %s, and %s was left", root, r.ID(), path, c.Node.ID, show(c.Old), show(now))
						}
						now = c.New
					}
					if !now.Equal(v) {
						t.Fatalf("%s: %s %v: the changes lead to %s, the output has %s", root, r.ID(), path, show(now), show(v))
					}
				})
			}
			if roots%10 == 0 {
				if _, err := New(plan, h, root, "ConfigMap/there-is-none"); err == nil {
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

// replay fails if the steps of a resource do not follow one another.
func replay(t *testing.T, root string, r *krm.Resource, chain []history.Step) {
	t.Helper()
	var now *krm.Resource
	for i, s := range chain {
		if (s.Before == nil) != (i == 0) || now != nil && !s.Before.Value().Equal(now.Value()) {
			t.Fatalf("%s: %s: step %d (%s) does not begin where the one before has ended", root, r.ID(), i, s.Node.ID)
		}
		now = s.After
	}
	if now == nil || !now.Value().Equal(r.Value()) {
		t.Fatalf("%s: %s: the steps do not lead to the output", root, r.ID())
	}
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

// run renders a root, nil if that fails.
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

func TestParse(t *testing.T) {
	for _, text := range []string{"", "web", "/", "Deployment/", "/web", "a/b/c/d", "Deployment/web:a[", "Deployment/web:[x]", "Deployment/web:a..b", "Deployment/web:a[0"} {
		if s, err := Parse(text, func(Subject) bool { return false }); err == nil {
			t.Errorf("%q is %+v", text, s)
		}
	}
	v := yaml.MapOf(yaml.Field{Key: "a.b", Value: yaml.MapOf(yaml.Field{Key: "c", Value: yaml.SeqOf(yaml.MapOf(yaml.Field{Key: "name", Value: yaml.Str("x.y")}))})},
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
	if s, _ := Parse("ClusterRole/system:x:rules[0]", func(s Subject) bool { return s.name == "system:x" }); len(s.field) != 2 || s.fieldText() != "rules[0]" {
		t.Errorf("%+v", s)
	}
}

// An output folder that says what it was made of leads to the root.
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
