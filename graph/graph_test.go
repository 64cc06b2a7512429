package graph

import (
	"slices"
	"testing"
)

func TestWithout(t *testing.T) {
	g := &Graph{}
	a := g.Add(&Node{ID: "a", Op: Merge{}})
	b := g.Add(&Node{ID: "b", Op: Merge{}, Inputs: []NodeID{a}})
	c := g.Add(&Node{ID: "c", Op: Merge{}, Inputs: []NodeID{b, a}})
	g.Roots = []Root{{"r", c}}
	h, ok := g.Without("b")
	if !ok || len(h.Nodes) != 2 || !slices.Equal(h.Nodes[1].Inputs, []NodeID{0, 0}) || h.Roots[0].Node != 1 {
		t.Errorf("without b: %v %v", h, ok)
	}
	d := g.Add(&Node{ID: "d", Op: Merge{}, Inputs: []NodeID{c}, After: []NodeID{a}})
	g.Roots[0].Node = d
	if h, ok = g.Without("b"); !ok || !slices.Equal(h.Nodes[2].After, []NodeID{0}) {
		t.Errorf("without b: %v", h)
	}
	if h = g.Only(func(Root) bool { return true }); len(h.Nodes) != 4 || !slices.Equal(h.Nodes[3].After, []NodeID{a}) {
		t.Errorf("only what is needed: %v", h)
	}
	g.Roots[0].Node = c
	if h, ok = g.Without("a"); !ok || len(h.Nodes[0].Inputs) != 0 || !slices.Equal(h.Nodes[1].Inputs, []NodeID{0}) {
		t.Errorf("without a: %v %v", h, ok)
	}
	if _, ok := g.Without("c"); ok {
		t.Error("the node of a root was left out")
	}
	if _, ok := g.Without("z"); ok {
		t.Error("a node that does not exist was left out")
	}
}
