package terminal

import (
	"bytes"
	"testing"

	"github.com/krmflow/krmflow/graph"
)

// A root has failed as soon as a node that it depends on fails. A root that could not be planned
// has failed from the start.
func TestProgressCountsFailedRoots(t *testing.T) {
	g := &graph.Graph{}
	base := g.Add(&graph.Node{ID: "base"})
	for _, dir := range []string{"a", "b", "c"} {
		inputs := []graph.NodeID{base}
		if dir == "c" {
			inputs = nil
		}
		g.Roots = append(g.Roots, graph.Root{Dir: dir, Node: g.Add(&graph.Node{ID: dir, Inputs: inputs})})
	}
	slow := ""
	p := NewProgress(g, 1, func() string { return slow })
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() {}, "0 of 4 roots done, 3 running, 1 failed"},
		{p.Done, "1 of 4 roots done, 2 running, 1 failed"},
		{func() { p.Fail(g.Nodes[base]) }, "1 of 4 roots done, 0 running, 3 failed"},
		{func() { p.Fail(g.Nodes[1]) }, "1 of 4 roots done, 0 running, 3 failed"},
		{func() { slow = "x#transformers[0] (3s)" }, "1 of 4 roots done, 0 running, 3 failed: x#transformers[0] (3s)"},
	} {
		if step.do(); p.String() != step.want {
			t.Errorf("%s, want %s", p, step.want)
		}
	}
}

// Messages never appear on the same line after the status line.
func TestStatusWriter(t *testing.T) {
	var b bytes.Buffer
	s := NewStatusWriter(&b)
	s.show("1 done")
	s.show("2 done")
	s.Write([]byte("Warning: x\n"))
	s.Write([]byte("Warning: y\n"))
	s.show("")
	s.show("3 done")
	s.show("")
	want := "1 done\r\x1b[K2 done\r\x1b[KWarning: x\nWarning: y\n3 done\r\x1b[K"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
