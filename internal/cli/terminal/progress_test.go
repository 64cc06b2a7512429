package terminal

import (
	"testing"
	"time"

	"github.com/krmflow/krmflow/graph"
)

// A root has failed as soon as a node that it depends on has. A root that could not be planned has
// failed from the start.
func TestProgressLine(t *testing.T) {
	g := &graph.Graph{}
	base := g.Add(&graph.Node{ID: "base"})
	for _, dir := range []string{"a", "b", "c"} {
		inputs := []graph.NodeID{base}
		if dir == "c" {
			inputs = nil
		}
		g.Roots = append(g.Roots, graph.Root{Dir: dir, Node: g.Add(&graph.Node{ID: dir, Inputs: inputs})})
	}
	var steps []string
	p := &Progress{g: g, unknown: 1, running: func() []string { return steps }, failed: map[string]bool{}}
	long := "overlays/production/europe/kustomization.yaml#transformers[0] (3s)"
	for _, step := range []struct {
		do    func()
		width int
		want  string
	}{
		{func() {}, 80, "[>              xxxxx] 0/4 roots, 1 failed  3s"},
		{p.Done, 80, "[=====>         xxxxx] 1/4 roots, 1 failed  3s"},
		{func() { p.Fail(g.Nodes[base]) }, 80, "[=====xxxxxxxxxxxxxxx] 1/4 roots, 3 failed  3s"},
		{func() { p.Fail(g.Nodes[1]) }, 80, "[=====xxxxxxxxxxxxxxx] 1/4 roots, 3 failed  3s"},
		{func() { steps = []string{"x#a (3s)"} }, 80, "[=====xxxxxxxxxxxxxxx] 1/4 roots, 3 failed  3s  x#a (3s)"},
		{func() { steps = []string{long} }, 80, "[=====xxxxxxxxxxxxxxx] 1/4 roots, 3 failed  3s  overlays/p…transformers[0] (3s)"},
		{func() {}, 60, "[===xxxxxxxxxxxx] 1/4 roots, 3 failed  3s  overl…rs[0] (3s)"},
		{func() {}, 40, "[==xxxxxxxx] 1/4 roots, 3 failed  3s"},
		{func() {}, 20, "[=xxxx] 1/4 roots, "},
		{func() {}, 1, ""},
		{func() { steps = []string{"a", "b", "c", long} }, 80, "[=====xxxxxxxxxxxxxxx] 1/4 roots, 3 failed  3s  a, b, c and 1 more"},
		{func() {}, 140,
			"[======xxxxxxxxxxxxxxxxxx] 1/4 roots, 3 failed  3s  a, b, c, overlays/production/europe/kustomization.yaml#transformers[0] (3s)"},
	} {
		step.do()
		got := p.line(step.width, 3400*time.Millisecond)
		if got != step.want {
			t.Errorf("width %d:\n%s\nwant\n%s", step.width, got, step.want)
		}
		if len([]rune(got)) >= step.width {
			t.Errorf("%q wraps at %d", got, step.width)
		}
	}
	if got := (&Progress{running: func() []string { return nil }}).line(80, 90*time.Second); got != "planning  1m30s" {
		t.Errorf("while planning: %s", got)
	}
}
