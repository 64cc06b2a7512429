package graph

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

func TestWithoutReconnectsNodes(t *testing.T) {
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

// TestWithoutGenerator checks that without the call of a generator the absorb node is removed too,
// and the list before it is used.
func TestWithoutGenerator(t *testing.T) {
	for _, before := range []bool{true, false} {
		g := &Graph{}
		var inputs []NodeID
		if before {
			inputs = append(inputs, g.Add(&Node{ID: "base", Op: Merge{}}))
		}
		call := g.Add(&Node{ID: "call", Op: Call{}})
		absorb := g.Add(&Node{ID: "absorb", Op: Absorb{}, Inputs: append(inputs, call)})
		end := g.Add(&Node{ID: "end", Op: Pass{}, Inputs: []NodeID{absorb}, After: []NodeID{absorb}})
		g.Roots = []Root{{"r", end}}
		h, ok := g.Without("call")
		if !ok || slices.ContainsFunc(h.Nodes, func(n *Node) bool { return n.ID == "absorb" }) {
			t.Fatalf("%v %v", h, ok)
		}
		if last := h.Nodes[h.Roots[0].Node]; last.ID != "end" || !slices.Equal(last.Inputs, inputs) {
			t.Errorf("%+v", last)
		}
		if h, ok = g.Without("absorb"); before && (!ok || !slices.Equal(h.Nodes[2].Inputs, inputs)) {
			t.Errorf("without absorb: %v", h)
		}
		if h, ok = g.Without("base"); before && (!ok || len(h.Nodes[1].Inputs) != 1) {
			t.Errorf("without the base: %v", h)
		}
	}
}

// TestRootsOf checks that RootsOf returns the marked nodes that each root needs, the same result as
// one query per node.
func TestRootsOf(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		g := &Graph{}
		for i := range 1 + rnd.IntN(12) {
			n := &Node{ID: fmt.Sprint(i)}
			for in := range i {
				switch rnd.IntN(5) {
				case 0:
					n.Inputs = append(n.Inputs, NodeID(in))
				case 1:
					n.After = append(n.After, NodeID(in))
				}
			}
			id := g.Add(n)
			if rnd.IntN(3) == 0 {
				g.Roots = append(g.Roots, Root{Dir: n.ID, Node: id})
			}
		}
		marked := map[string]bool{}
		for _, n := range g.Nodes {
			marked[n.ID] = rnd.IntN(3) == 0
		}
		want, got := map[string][]string{}, map[string][]string{}
		for _, n := range g.Nodes {
			if marked[n.ID] {
				for _, r := range g.RootsThatNeed(map[string]bool{n.ID: true}) {
					want[r.Dir] = append(want[r.Dir], n.ID)
				}
			}
		}
		for r, nodes := range g.RootsOf(func(n *Node) bool { return marked[n.ID] }) {
			for _, n := range nodes {
				got[r.Dir] = append(got[r.Dir], n.ID)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%v instead of %v", got, want)
		}
	}
}
