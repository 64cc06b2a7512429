package graph

import (
	"container/heap"
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// A PanicError is a panic in a visit: a bug of krmflow, reported as an error so that one node cannot take the process
// down. Its text holds no input data.
type PanicError struct {
	Node  string
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("internal error in %s", e.Node) }

// Walk calls visit once for each node, never before its inputs are done, at most jobs at a time. Nodes that are ready at
// the same time start in the order of the Graph, which keeps the number of lists alive small. All work is started by the
// calling goroutine.
//
// After an error no further node is started, unless keepGoing is true: then only the nodes that need the failed one are
// left out. Walk returns the errors in the order of the Graph; if ctx ends it returns its error as well.
func Walk(ctx context.Context, g *Graph, jobs int, keepGoing bool, visit func(NodeID, *Node) error) []error {
	w := newWalk(g)
	done := make(chan NodeID)
	running, stopped := 0, false
	for {
		for !stopped && running < jobs && w.ready.Len() > 0 && ctx.Err() == nil {
			id := heap.Pop(&w.ready).(NodeID)
			if jobs == 1 {
				w.visit(id, visit)
				stopped = w.finish(id) && !keepGoing
				continue
			}
			running++
			go func() {
				w.visit(id, visit)
				done <- id
			}()
		}
		if running == 0 {
			break
		}
		id := <-done
		running--
		if w.finish(id) && !keepGoing {
			stopped = true
		}
	}
	errs := w.errors()
	if ctx.Err() != nil {
		errs = append(errs, context.Cause(ctx))
	}
	return errs
}

type walk struct {
	g       *Graph
	users   [][]NodeID
	missing []int // inputs that are not done
	ready   nodeHeap
	mu      sync.Mutex
	errs    map[NodeID]error
}

func newWalk(g *Graph) *walk {
	w := &walk{g: g, users: make([][]NodeID, len(g.Nodes)), missing: make([]int, len(g.Nodes)), errs: map[NodeID]error{}}
	for i, n := range g.Nodes {
		w.missing[i] = len(n.Inputs)
		for _, in := range n.Inputs {
			w.users[in] = append(w.users[in], NodeID(i))
		}
		if len(n.Inputs) == 0 {
			w.ready = append(w.ready, NodeID(i))
		}
	}
	return w
}

func (w *walk) visit(id NodeID, visit func(NodeID, *Node) error) {
	defer func() {
		if p := recover(); p != nil {
			w.fail(id, &PanicError{w.g.Nodes[id].ID, p, debug.Stack()})
		}
	}()
	if err := visit(id, w.g.Nodes[id]); err != nil {
		w.fail(id, err)
	}
}

func (w *walk) fail(id NodeID, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errs[id] = err
}

// finish makes the users of id ready whose inputs are all done and reports whether id failed.
func (w *walk) finish(id NodeID) bool {
	w.mu.Lock()
	failed := w.errs[id] != nil
	w.mu.Unlock()
	if failed {
		return true
	}
	for _, u := range w.users[id] {
		if w.missing[u]--; w.missing[u] == 0 {
			heap.Push(&w.ready, u)
		}
	}
	return false
}

func (w *walk) errors() []error {
	var errs []error
	for i := range w.g.Nodes {
		if err := w.errs[NodeID(i)]; err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

type nodeHeap []NodeID

func (h nodeHeap) Len() int           { return len(h) }
func (h nodeHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h nodeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *nodeHeap) Push(x any)        { *h = append(*h, x.(NodeID)) }
func (h *nodeHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
