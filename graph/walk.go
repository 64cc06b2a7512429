package graph

import (
	"container/heap"
	"context"
	"sync"

	"github.com/krmflow/krmflow/diag"
)

// Walk calls visit once for each node, never before its inputs are done, at most jobs at a time. Nodes that are ready at
// the same time start in the order of the Graph, which keeps the number of lists alive small. The calling goroutine is one
// of those that visit; others are started only when there is something to do for them.
//
// After an error no further node is started, unless keepGoing is true: then only the nodes that need the failed one are
// left out. Walk returns the errors in the order of the Graph, a panic of visit as a [diag.PanicError]; if ctx ends it returns
// its error as well.
func Walk(ctx context.Context, g *Graph, jobs int, keepGoing bool, visit func(NodeID, *Node) error) []error {
	w := newWalk(g)
	w.ctx, w.jobs, w.keepGoing, w.visit = ctx, max(1, jobs), keepGoing, visit
	w.work()
	w.others.Wait()
	errs := w.errors()
	if ctx.Err() != nil {
		errs = append(errs, context.Cause(ctx))
	}
	return errs
}

type walk struct {
	ctx       context.Context
	g         *Graph
	jobs      int
	keepGoing bool
	visit     func(NodeID, *Node) error
	users     [][]NodeID
	others    sync.WaitGroup // goroutines besides the calling one

	mu      sync.Mutex
	changed sync.Cond // of ready, running or stopped
	missing []int     // inputs that are not done
	ready   nodeHeap
	started int // goroutines, without the calling one
	idle    int // of them or it
	running int // visits
	stopped bool
	errs    map[NodeID]error
}

func newWalk(g *Graph) *walk {
	w := &walk{g: g, users: make([][]NodeID, len(g.Nodes)), missing: make([]int, len(g.Nodes)), errs: map[NodeID]error{}}
	w.changed.L = &w.mu
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

// work visits nodes until there are none left. A goroutine goes on with what it has made ready: handing each node to
// another one would cost more than most visits.
func (w *walk) work() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.await() {
		id := heap.Pop(&w.ready).(NodeID)
		if len(w.ready) > 0 {
			w.share()
		}
		w.running++
		w.mu.Unlock()
		err := w.call(id)
		w.mu.Lock()
		w.running--
		w.finish(id, err)
	}
	w.changed.Broadcast()
}

// await waits for a node to be ready and reports false if there will be none.
func (w *walk) await() bool {
	for {
		w.stopped = w.stopped || w.ctx.Err() != nil
		switch {
		case w.stopped, len(w.ready) == 0 && w.running == 0:
			return false
		case len(w.ready) > 0:
			return true
		}
		w.idle++
		w.changed.Wait()
		w.idle--
	}
}

// share finds somebody else for a node that is ready.
func (w *walk) share() {
	switch {
	case w.idle > 0:
		w.changed.Signal()
	case w.started+1 < w.jobs:
		w.started++
		w.others.Go(w.work)
	}
}

func (w *walk) call(id NodeID) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = diag.Panicked(w.g.Nodes[id].ID, p)
		}
	}()
	return w.visit(id, w.g.Nodes[id])
}

// finish makes the users of id ready whose inputs are all done.
func (w *walk) finish(id NodeID, err error) {
	if err != nil {
		w.errs[id] = err
		w.stopped = w.stopped || !w.keepGoing
		return
	}
	for _, u := range w.users[id] {
		if w.missing[u]--; w.missing[u] == 0 {
			heap.Push(&w.ready, u)
		}
	}
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
