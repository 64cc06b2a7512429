package graph

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/krmflow/krmflow/diag"
)

// randomGraph returns a graph in which each node takes up to three earlier ones.
func randomGraph(r *rand.Rand, n int) *Graph {
	g := &Graph{}
	for i := range n {
		node := &Node{ID: fmt.Sprintf("f.yaml#n[%d]", i), Op: Merge{}, Layer: fmt.Sprintf("l%d", i%3)}
		for range r.IntN(4) {
			if i > 0 {
				node.Inputs = append(node.Inputs, NodeID(r.IntN(i)))
			}
		}
		if i > 0 && r.IntN(4) == 0 {
			node.After = append(node.After, NodeID(r.IntN(i)))
		}
		g.Add(node)
	}
	return g
}

func TestWalkOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		g := randomGraph(r, 1+r.IntN(40))
		jobs := 1 + r.IntN(8)
		var mu sync.Mutex
		var running atomic.Int32
		done := map[NodeID]bool{}
		errs := Walk(context.Background(), g, jobs, false, func(_ context.Context, id NodeID, n *Node, _ func(func())) error {
			if k := running.Add(1); int(k) > jobs {
				t.Errorf("%d nodes at a time, want at most %d", k, jobs)
			}
			defer running.Add(-1)
			mu.Lock()
			defer mu.Unlock()
			for in := range n.Before() {
				if !done[in] {
					t.Errorf("node %d started before its input %d was done", id, in)
				}
			}
			if done[id] {
				t.Errorf("node %d visited twice", id)
			}
			done[id] = true
			return nil
		})
		if len(errs) > 0 || len(done) != len(g.Nodes) {
			t.Fatalf("%d of %d nodes visited, errors %v", len(done), len(g.Nodes), errs)
		}
	}
}

// Visits that wait leave their slots to others, and take them again: at most so many run at a time, and all end.
func TestWalkWait(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		g := randomGraph(r, 40)
		jobs := 1 + r.IntN(3)
		var running, visits atomic.Int32
		check := func() {
			if k := running.Add(1); int(k) > jobs {
				t.Errorf("%d nodes at a time, want at most %d", k, jobs)
			}
		}
		errs := Walk(t.Context(), g, jobs, false, func(_ context.Context, id NodeID, _ *Node, wait func(func())) error {
			visits.Add(1)
			for range int(id) % 3 {
				check()
				running.Add(-1)
				wait(func() { time.Sleep(time.Duration(id%5) * 10 * time.Microsecond) })
			}
			check()
			running.Add(-1)
			return nil
		})
		if len(errs) > 0 || int(visits.Load()) != len(g.Nodes) {
			t.Fatalf("%d of %d nodes visited, errors %v", visits.Load(), len(g.Nodes), errs)
		}
	}
}

// With one job all that is ready runs while a visit waits.
func TestWalkBesideWait(t *testing.T) {
	g := &Graph{}
	for i := range 5 {
		g.Add(&Node{ID: fmt.Sprint(i), Op: Merge{}})
	}
	var others sync.WaitGroup
	others.Add(4)
	Walk(t.Context(), g, 1, false, func(_ context.Context, id NodeID, _ *Node, wait func(func())) error {
		if id == 0 {
			wait(others.Wait) // for ever, if it kept its slot
		} else {
			others.Done()
		}
		return nil
	})
}

// The first error ends the context of the other visits, unless the walk keeps going; what they say then is no error of the walk.
func TestWalkStops(t *testing.T) {
	g := &Graph{}
	for i := range 3 {
		g.Add(&Node{ID: fmt.Sprint(i), Op: Merge{}})
	}
	bad := errors.New("bad")
	errs := Walk(t.Context(), g, 3, false, func(ctx context.Context, id NodeID, _ *Node, wait func(func())) error {
		if id == 1 {
			return bad
		}
		wait(func() { <-ctx.Done() })
		return fmt.Errorf("node %d: %w", id, context.Cause(ctx))
	})
	if len(errs) != 1 || errs[0] != bad {
		t.Errorf("errors %v", errs)
	}
	errs = Walk(t.Context(), g, 1, true, func(ctx context.Context, id NodeID, _ *Node, wait func(func())) error {
		if id == 0 {
			return bad
		}
		return ctx.Err()
	})
	if len(errs) != 1 || errs[0] != bad {
		t.Errorf("errors %v", errs)
	}
}

// A visit that takes long keeps nobody from what is ready beside it, wherever that stands in the Graph.
func TestWalkAtTheSameTime(t *testing.T) {
	for i, ops := range [][]Op{{Call{}, Call{}}, {Call{}, Load{}, Call{}}, {Load{}, Call{}, Load{}, Load{}, Call{}}} {
		g := &Graph{}
		var calls sync.WaitGroup
		for _, op := range ops {
			g.Add(&Node{ID: fmt.Sprint(len(g.Nodes)), Op: op})
			if _, ok := op.(Call); ok {
				calls.Add(1)
			}
		}
		Walk(t.Context(), g, 2, false, func(_ context.Context, _ NodeID, n *Node, _ func(func())) error {
			if _, ok := n.Op.(Call); !ok {
				return nil
			}
			calls.Done()
			all := make(chan struct{})
			go func() { calls.Wait(); close(all) }()
			select {
			case <-all:
			case <-time.After(10 * time.Second):
				t.Errorf("case %d: one call waits for the other", i)
			}
			return nil
		})
	}
}

func TestWalkFailure(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 200 {
		g := randomGraph(r, 30)
		bad := NodeID(r.IntN(30))
		keepGoing := i%2 == 0
		fail := errors.New("bad")
		var mu sync.Mutex
		visited := map[NodeID]bool{}
		errs := Walk(context.Background(), g, 4, keepGoing, func(_ context.Context, id NodeID, _ *Node, _ func(func())) error {
			mu.Lock()
			defer mu.Unlock()
			visited[id] = true
			if id == bad {
				return fail
			}
			return nil
		})
		if len(errs) != 1 || errs[0] != fail {
			t.Fatalf("errors %v, want the one of node %d", errs, bad)
		}
		needsBad := make([]bool, len(g.Nodes))
		needsBad[bad] = true
		for id, n := range g.Nodes {
			for in := range n.Before() {
				needsBad[id] = needsBad[id] || needsBad[in]
			}
			if needsBad[id] && visited[NodeID(id)] && NodeID(id) != bad {
				t.Errorf("node %d was visited though it needs %d", id, bad)
			}
			if keepGoing && !needsBad[id] && !visited[NodeID(id)] {
				t.Errorf("node %d was left out though it does not need %d", id, bad)
			}
		}
	}
}

func TestWalkPanicAndCancel(t *testing.T) {
	g := randomGraph(rand.New(rand.NewPCG(5, 6)), 10)
	for _, jobs := range []int{1, 4} {
		errs := Walk(context.Background(), g, jobs, false, func(_ context.Context, id NodeID, _ *Node, _ func(func())) error {
			if id == 0 {
				panic("secret value")
			}
			return nil
		})
		var p *diag.PanicError
		if len(errs) == 0 || !errors.As(errs[0], &p) || p.Where != g.Nodes[0].ID || strings.Contains(p.Error(), "secret") {
			t.Errorf("jobs %d: errors %v, want a PanicError of the first node without the value", jobs, errs)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		why := errors.New("stop")
		visits := 0
		errs = Walk(ctx, g, 1, false, func(context.Context, NodeID, *Node, func(func())) error { visits++; cancel(why); return nil })
		if visits != 1 || !slices.Contains(errs, why) {
			t.Errorf("%d visits and errors %v after a cancel in the first visit", visits, errs)
		}
	}
}

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
