package drawing

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/planner"
)

const testdata = "../../../testdata"

// compile plans directories below cwd.
func compile(t *testing.T, cwd string, dirs ...string) *planner.Plan {
	t.Helper()
	cwd, err := filepath.Abs(cwd)
	if err != nil {
		t.Fatal(err)
	}
	plan := planner.Compile(t.Context(), dirs, planner.Options{Cwd: cwd, Reorder: "legacy"})
	if err := plan.Err(); err != nil {
		t.Fatal(err)
	}
	return plan
}

// overlays plans n overlays over one base and a component, each with its own steps.
func overlays(t *testing.T, n int) *planner.Plan {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "base/kustomization.yaml", "resources: [web.yaml, api.yaml]\nnamePrefix: shop-\n")
	write(t, dir, "base/web.yaml", "{apiVersion: v1, kind: Service, metadata: {name: web}}\n")
	write(t, dir, "base/api.yaml", "{apiVersion: v1, kind: Service, metadata: {name: api}}\n")
	write(t, dir, "team/kustomization.yaml", "{apiVersion: kustomize.config.k8s.io/v1alpha1, kind: Component, namePrefix: team-}\n")
	var dirs []string
	for i := range n {
		name := fmt.Sprintf("overlays/region-%03d", i)
		text := "resources: [../../base]\ncomponents: [../../team]\n" + []string{"namespace: a\n", "nameSuffix: -b\n",
			"commonAnnotations: {c: d}\n"}[i%3]
		if i%7 == 0 {
			text += "patches:\n- target: {kind: Service}\n  patch: |\n    - {op: add, path: /metadata/labels, value: {}}\n"
		}
		write(t, dir, name+"/kustomization.yaml", text)
		dirs = append(dirs, name)
	}
	return compile(t, dir, dirs...)
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// pictures returns plans by their special property.
func pictures(t *testing.T) map[string]*planner.Plan {
	return map[string]*planner.Plan{
		"one overlay":               compile(t, testdata+"/kustomize/shop", "overlays/prod"),
		"100 overlays":              overlays(t, 100),
		"functions":                 compile(t, testdata+"/examples/webapp", "dev", "staging", "prod"),
		"a monorepo":                compile(t, testdata+"/kustomize/monorepo", "all"),
		"configurations and schema": compile(t, testdata+"/kustomize", "components/both", "openapi/overlay", "transformers/inline"),
	}
}

func draw(t *testing.T, p *planner.Plan, o Options) *Drawing {
	t.Helper()
	d, err := New(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// written returns a drawing in one of its forms.
func written(t *testing.T, d *Drawing, form func(*Drawing, io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := form(d, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var forms = map[string]func(*Drawing, io.Writer) error{"dot": (*Drawing).WriteDOT, "mermaid": (*Drawing).WriteMermaid,
	"svg": (*Drawing).WriteSVG}

func TestSameTreeSameBytes(t *testing.T) {
	for _, steps := range []bool{false, true} {
		for name, form := range forms {
			o := Options{Steps: steps, Fold: true, Legend: true}
			first := written(t, draw(t, compile(t, testdata+"/kustomize", "shop/overlays/prod", "monorepo/all"), o), form)
			for range 5 {
				if again := written(t, draw(t, compile(t, testdata+"/kustomize", "shop/overlays/prod", "monorepo/all"), o),
					form); again != first {
					t.Fatalf("two drawings of one tree differ: %s, steps %t", name, steps)
				}
			}
		}
	}
}

// Similar boxes become one box only if there are many boxes.
func TestSimilarBoxesAreFolded(t *testing.T) {
	boxes := func(n int, o Options) []string {
		var names []string
		for _, b := range draw(t, overlays(t, n), o).boxes {
			names = append(names, strings.Join(b.title, ""))
		}
		return names
	}
	if got := boxes(5, Options{Fold: true}); len(got) != 7 {
		t.Errorf("five overlays: %q", got)
	}
	if got := boxes(100, Options{Fold: true}); !slices.Equal(got, []string{"base", "team", "100 roots"}) {
		t.Errorf("100 overlays: %q", got)
	}
	if got := boxes(100, Options{}); len(got) != 102 {
		t.Errorf("100 overlays, not folded: %d boxes", len(got))
	}
	d := draw(t, overlays(t, 100), Options{Fold: true})
	text := written(t, d, (*Drawing).WriteSVG)
	for _, want := range []string{"overlays/region-000", "and 96 others", "0–1 patches each", "1 transformer each"} {
		if !strings.Contains(text, want) {
			t.Errorf("100 overlays do not say %q", want)
		}
	}
}

func TestChainsBecomeOneBox(t *testing.T) {
	dir := t.TempDir()
	var dirs []string
	for i := range 15 {
		write(t, dir, fmt.Sprintf("app%02d/base/kustomization.yaml", i), "resources: [a.yaml]\n")
		write(t, dir, fmt.Sprintf("app%02d/base/a.yaml", i), "{apiVersion: v1, kind: Service, metadata: {name: web}}\n")
		write(t, dir, fmt.Sprintf("app%02d/prod/kustomization.yaml", i), "resources: [../base]\nnamePrefix: a\n")
		dirs = append(dirs, fmt.Sprintf("app%02d/prod", i))
	}
	d := draw(t, compile(t, dir, dirs...), Options{Fold: true})
	if len(d.boxes) != 15 || len(d.edges) != 0 {
		t.Fatalf("%d boxes and %d edges for 15 chains", len(d.boxes), len(d.edges))
	}
	b := d.boxes[3]
	var lines []string
	for _, l := range b.lines {
		lines = append(lines, l.text)
	}
	if got := strings.Join(append(b.title, lines...), "; "); got != "app03/prod; on app03/base; 1 resource; 1 transformer" || !b.root {
		t.Errorf("a chain says %q, root %t", got, b.root)
	}
}

// Many thousands of layers are drawn quickly, whatever their connections.
func TestManyBoxes(t *testing.T) {
	const n = 6000
	input := []string{asInput}
	shapes := map[string]func(d *Drawing, i int){
		"apart": func(*Drawing, int) {},
		"star":  func(d *Drawing, i int) { d.edges = append(d.edges, edge{from: 0, to: i, ways: input}) },
		"chain": func(d *Drawing, i int) { d.edges = append(d.edges, edge{from: i - 1, to: i, ways: input}) },
		"chain and all on the first": func(d *Drawing, i int) {
			d.edges = append(d.edges, edge{from: i - 1, to: i, ways: input}, edge{from: 0, to: i, ways: input})
		},
		"tree": func(d *Drawing, i int) { d.edges = append(d.edges, edge{from: (i - 1) / 2, to: i, ways: input}) },
	}
	for name, shape := range shapes {
		d := &Drawing{boxes: make([]box, n)}
		for i := range n {
			d.boxes[i] = box{title: []string{fmt.Sprint(i)}, kind: kustomization}
			if i > 0 {
				shape(d, i)
			}
		}
		d.edges = distinct(d.edges)
		begin := time.Now()
		d.stagger()
		written(t, d, (*Drawing).WriteSVG)
		written(t, d, (*Drawing).WriteDOT)
		took := time.Since(begin)
		t.Logf("%s: %v", name, took)
		if took > 30*time.Second {
			t.Errorf("%s: %d boxes took %v", name, n, took)
		}
	}
}
