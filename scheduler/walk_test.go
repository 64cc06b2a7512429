package scheduler

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/krmflow/krmflow/graph"
)

// walkAll walks a graph to its end.
func walkAll(ctx context.Context, g *graph.Graph, jobs int, keepGoing bool, visit visit) []error {
	w := newWalk(ctx, g, jobs, jobs, keepGoing, visit)
	w.work()
	return w.end()
}

// randomGraph returns a graph in which each node has up to three earlier nodes as inputs.
func randomGraph(r *rand.Rand, n int) *graph.Graph {
	g := &graph.Graph{}
	for i := range n {
		node := &graph.Node{ID: fmt.Sprintf("f.yaml#n[%d]", i), Op: graph.Merge{}, Layer: fmt.Sprintf("l%d", i%3)}
		for range r.IntN(4) {
			if i > 0 {
				node.Inputs = append(node.Inputs, graph.NodeID(r.IntN(i)))
			}
		}
		if i > 0 && r.IntN(4) == 0 {
			node.After = append(node.After, graph.NodeID(r.IntN(i)))
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
		done := map[graph.NodeID]bool{}
		errs := walkAll(context.Background(), g, jobs, false,
			func(_ context.Context, id graph.NodeID, n *graph.Node, _ func(func())) error {
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

// TestWalkLimit checks that the limit bounds the number of running visits that do not wait, and
// that all nodes are visited.
func TestWalkLimit(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		g := randomGraph(r, 1+r.IntN(40))
		limit := 1 + r.IntN(3)
		var running, visited atomic.Int32
		w := newWalk(context.Background(), g, 8,
			8, false, func(_ context.Context, id graph.NodeID, _ *graph.Node, wait func(func())) error {
				if k := running.Add(1); int(k) > limit {
					t.Errorf("%d nodes at a time, want at most %d", k, limit)
				}
				time.Sleep(time.Microsecond)
				running.Add(-1)
				if id%3 == 0 {
					wait(func() { time.Sleep(time.Microsecond) })
				}
				visited.Add(1)
				return nil
			})
		w.limit = func(int) int { return limit }
		w.work()
		if errs := w.end(); len(errs) > 0 || int(visited.Load()) != len(g.Nodes) {
			t.Fatalf("%d of %d nodes visited, errors %v", visited.Load(), len(g.Nodes), errs)
		}
	}
}

// TestWalkCalls checks that waiting calls use no slot of other nodes, and that at most the allowed
// number of calls is visited at a time. That number is reached.
func TestWalkCalls(t *testing.T) {
	g := &graph.Graph{}
	for i := range 60 {
		n := &graph.Node{ID: fmt.Sprint(i), Op: graph.Merge{}}
		if i%2 == 0 {
			n.Op = graph.Call{}
		} else {
			n.Inputs = []graph.NodeID{graph.NodeID(i - 1)}
		}
		g.Add(n)
	}
	for calls := 1; calls <= 8; calls++ {
		var calling atomic.Int32
		var full sync.Once
		reached := make(chan struct{})
		w := newWalk(t.Context(), g, 1, calls, false, func(_ context.Context, _ graph.NodeID, n *graph.Node, wait func(func())) error {
			if _, ok := n.Op.(graph.Call); !ok {
				return nil
			}
			k := int(calling.Add(1))
			defer calling.Add(-1)
			if k > calls {
				t.Errorf("%d calls at a time, want at most %d", k, calls)
			}
			if k == calls {
				full.Do(func() { close(reached) })
			}
			wait(func() { <-reached })
			return nil
		})
		w.work()
		if errs := w.end(); len(errs) > 0 {
			t.Fatal(errs)
		}
	}
}

// TestWalkTakesAnswers checks that calls run ahead of other nodes only while few answers are
// waiting for a consumer. Of 100 answers, most never exist at the same time.
func TestWalkTakesAnswers(t *testing.T) {
	g := &graph.Graph{}
	for i := range 100 {
		call := g.Add(&graph.Node{ID: fmt.Sprint("call", i), Op: graph.Call{}})
		g.Add(&graph.Node{ID: fmt.Sprint("absorb", i), Op: graph.Absorb{}, Inputs: []graph.NodeID{call}})
	}
	answers, most := 0, 0
	w := newWalk(t.Context(), g, 1, 3, false, func(_ context.Context, _ graph.NodeID, n *graph.Node, _ func(func())) error {
		if _, ok := n.Op.(graph.Call); ok {
			answers++
		} else {
			answers--
		}
		most = max(most, answers)
		return nil
	})
	w.work()
	if errs := w.end(); len(errs) > 0 || most != 6 {
		t.Errorf("%d answers at a time, want 6; errors %v", most, errs)
	}
}

// TestWalkWait checks that a waiting visit releases its slot and takes it again: the limit of
// running visits is kept, and all visits end.
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
		errs := walkAll(t.Context(), g, jobs, false, func(_ context.Context, id graph.NodeID, _ *graph.Node, wait func(func())) error {
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

// TestWalkBesideWait checks that with one job all ready nodes run while a visit waits.
func TestWalkBesideWait(t *testing.T) {
	g := &graph.Graph{}
	for i := range 5 {
		g.Add(&graph.Node{ID: fmt.Sprint(i), Op: graph.Merge{}})
	}
	var others sync.WaitGroup
	others.Add(4)
	walkAll(t.Context(), g, 1, false, func(_ context.Context, id graph.NodeID, _ *graph.Node, wait func(func())) error {
		if id == 0 {
			wait(others.Wait) // blocks forever if it kept its slot
		} else {
			others.Done()
		}
		return nil
	})
}

// TestWalkStops checks that the first error ends the context of the other visits, unless the walk
// keeps going. Errors of visits after that are not reported.
func TestWalkStops(t *testing.T) {
	g := &graph.Graph{}
	for i := range 3 {
		g.Add(&graph.Node{ID: fmt.Sprint(i), Op: graph.Merge{}})
	}
	bad := errors.New("bad")
	errs := walkAll(t.Context(), g, 3, false, func(ctx context.Context, id graph.NodeID, _ *graph.Node, wait func(func())) error {
		if id == 1 {
			return bad
		}
		wait(func() { <-ctx.Done() })
		return fmt.Errorf("node %d: %w", id, context.Cause(ctx))
	})
	if len(errs) != 1 || errs[0] != bad {
		t.Errorf("errors %v", errs)
	}
	errs = walkAll(t.Context(), g, 1, true, func(ctx context.Context, id graph.NodeID, _ *graph.Node, wait func(func())) error {
		if id == 0 {
			return bad
		}
		return ctx.Err()
	})
	if len(errs) != 1 || errs[0] != bad {
		t.Errorf("errors %v", errs)
	}
}

// TestWalkAtTheSameTime checks that a long visit does not block other ready nodes, regardless of
// their position in the Graph.
func TestWalkAtTheSameTime(t *testing.T) {
	for i, ops := range [][]graph.Op{{graph.Call{}, graph.Call{}}, {graph.Call{}, graph.Load{}, graph.Call{}},
		{graph.Load{}, graph.Call{}, graph.Load{}, graph.Load{}, graph.Call{}}} {
		g := &graph.Graph{}
		var calls sync.WaitGroup
		for _, op := range ops {
			g.Add(&graph.Node{ID: fmt.Sprint(len(g.Nodes)), Op: op})
			if _, ok := op.(graph.Call); ok {
				calls.Add(1)
			}
		}
		walkAll(t.Context(), g, 2, false, func(_ context.Context, _ graph.NodeID, n *graph.Node, _ func(func())) error {
			if _, ok := n.Op.(graph.Call); !ok {
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
		bad := graph.NodeID(r.IntN(30))
		keepGoing := i%2 == 0
		fail := errors.New("bad")
		var mu sync.Mutex
		visited := map[graph.NodeID]bool{}
		errs := walkAll(context.Background(), g, 4, keepGoing,
			func(_ context.Context, id graph.NodeID, _ *graph.Node, _ func(func())) error {
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
			if needsBad[id] && visited[graph.NodeID(id)] && graph.NodeID(id) != bad {
				t.Errorf("node %d was visited though it needs %d", id, bad)
			}
			if keepGoing && !needsBad[id] && !visited[graph.NodeID(id)] {
				t.Errorf("node %d was left out though it does not need %d", id, bad)
			}
		}
	}
}

// TestWalkCancel checks that a walk ends with its context, and reports the cause.
func TestWalkCancel(t *testing.T) {
	g := randomGraph(rand.New(rand.NewPCG(5, 6)), 10)
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("stop")
	visits := 0
	errs := walkAll(ctx, g, 1, false, func(context.Context, graph.NodeID, *graph.Node, func(func())) error {
		visits++
		cancel(why)
		return nil
	})
	if visits != 1 || !slices.Contains(errs, why) {
		t.Errorf("%d visits and errors %v after a cancel in the first visit", visits, errs)
	}
}
