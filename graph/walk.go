package graph

import (
	"container/heap"
	"context"
	"errors"
	"sync"

	"github.com/krmflow/krmflow/diag"
)

// A Visit is what [Walk] calls for a node. Its ctx ends with the walk. It may call wait with a function that waits for something
// outside of this process: another visit takes its place until that function has returned.
type Visit func(ctx context.Context, id NodeID, n *Node, wait func(func())) error

// ErrStopped is the cause of the end of a visit's context if another node has failed.
var ErrStopped = errors.New("stopped, because another step failed")

// Walk calls visit once for each node, never before its inputs and what it comes after are done, at most jobs at a time, not
// counting those that wait. Nodes that are ready at the same time start in the order of the Graph, which keeps the number of
// lists alive small. The calling goroutine is one of those that visit; others are started only when there is something to do
// for them.
//
// After an error no further node is started, and the context of the visits ends, unless keepGoing is true: then only the nodes
// that need the failed one are left out. Walk returns the errors in the order of the Graph, without those that are
// [ErrStopped], a panic of visit as a [diag.PanicError]; if ctx ends it returns its error as well.
func Walk(ctx context.Context, g *Graph, jobs int, keepGoing bool, visit Visit) []error {
	w := newWalk(g)
	w.ctx, w.jobs, w.keepGoing, w.visit = ctx, max(1, jobs), keepGoing, visit
	w.slots, w.workers = w.jobs, 1
	w.visits, w.stop = context.WithCancelCause(ctx)
	defer w.stop(nil)
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
	keepGoing bool
	visit     Visit
	visits    context.Context
	stop      context.CancelCauseFunc // of visits
	users     [][]NodeID
	others    sync.WaitGroup // goroutines besides the calling one

	jobs      int
	mu        sync.Mutex
	changed   sync.Cond // of ready, running, slots or stopped, for idle goroutines
	missing   []int     // nodes that must be done before and are not
	ready     nodeHeap
	workers   int       // goroutines, without those that wait in a visit
	idle      int       // of them
	running   int       // visits
	slots     int       // how many more may run, besides those that wait
	returned  sync.Cond // of slots, for visits whose wait is over
	returning int       // such visits: they go before nodes that are ready
	stopped   bool
	errs      map[NodeID]error
}

func newWalk(g *Graph) *walk {
	w := &walk{g: g, users: make([][]NodeID, len(g.Nodes)), missing: make([]int, len(g.Nodes)), errs: map[NodeID]error{}}
	w.changed.L, w.returned.L = &w.mu, &w.mu
	for i, n := range g.Nodes {
		w.missing[i] = len(n.Inputs) + len(n.After)
		for in := range n.Before() {
			w.users[in] = append(w.users[in], NodeID(i))
		}
		if w.missing[i] == 0 {
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
		w.running++
		w.slots--
		w.share()
		w.mu.Unlock()
		err := w.call(id)
		w.mu.Lock()
		w.running--
		w.free()
		w.finish(id, err)
	}
	w.changed.Broadcast()
}

// await waits for a node that may be visited and reports false if there will be none.
func (w *walk) await() bool {
	for {
		w.stopped = w.stopped || w.ctx.Err() != nil
		switch {
		case w.stopped, len(w.ready) == 0 && w.running == 0:
			return false
		case w.more():
			return true
		}
		w.idle++
		w.changed.Wait()
		w.idle--
	}
}

// more reports whether a node is ready and may be visited now.
func (w *walk) more() bool { return len(w.ready) > 0 && w.slots > w.returning }

// share finds somebody else for a node that is ready.
func (w *walk) share() {
	switch {
	case w.stopped || !w.more():
	case w.idle > 0:
		w.changed.Signal()
	case w.workers < w.jobs:
		w.workers++
		w.others.Go(w.work)
	}
}

// free gives back the slot of a visit.
func (w *walk) free() {
	w.slots++
	if w.returning > 0 {
		w.returned.Signal()
	}
}

// wait calls f without the slot of the visit that calls it.
func (w *walk) wait(f func()) {
	w.mu.Lock()
	w.workers--
	w.free()
	w.share()
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.workers++
		w.returning++
		for w.slots == 0 {
			w.returned.Wait()
		}
		w.returning--
		w.slots--
		w.share()
	}()
	f()
}

func (w *walk) call(id NodeID) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = diag.Panicked(w.g.Nodes[id].ID, p)
		}
	}()
	return w.visit(w.visits, id, w.g.Nodes[id], w.wait)
}

// finish makes the users of id ready whose inputs are all done.
func (w *walk) finish(id NodeID, err error) {
	if err != nil {
		if !errors.Is(err, ErrStopped) {
			w.errs[id] = err
		}
		if !w.keepGoing {
			w.stopped = true
			w.stop(ErrStopped)
		}
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
