package graph

import (
	"bytes"
	"slices"
	"strings"
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

func TestDOTEscapes(t *testing.T) {
	g := &Graph{}
	id := g.Add(&Node{ID: "f#x", Op: Merge{}, Layer: "f", Summary: `a"]; evil [label="<b>` + "\n\x1b[31m\u202e" + `\`})
	g.Roots = []Root{{"dir", id}}
	var one, two bytes.Buffer
	if err := g.WriteDOT(&one); err != nil {
		t.Fatal(err)
	}
	if err := g.WriteDOT(&two); err != nil || one.String() != two.String() {
		t.Error("two drawings of one graph differ")
	}
	want := `n0 [label="merge x\na\"]; evil [label=\"<b>\n\\u001b[31m\\u202e\\"];`
	if !strings.Contains(one.String(), want) {
		t.Errorf("got\n%s\nwant it to contain\n%s", one.String(), want)
	}
}
