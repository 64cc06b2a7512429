package scheduler

import (
	"container/heap"
	"context"
	"errors"
	"sync"

	"github.com/krmflow/krmflow/graph"
)

// A visit runs a node. Its ctx ends with the walk. It may call wait with a function that waits for something outside of this
// process: another visit takes its place until that function has returned. It must not panic.
type visit func(ctx context.Context, id graph.NodeID, n *graph.Node, wait func(func())) error

// errStopped is the cause of the end of a visit's context if another node has failed.
var errStopped = errors.New("stopped, because another step failed")

// A walk calls visit once for each node, never before its inputs and what it comes after are done, at most jobs at a time, not
// counting those that wait. Nodes that are ready at the same time start in the order of the graph, which keeps the number of
// lists alive small. The goroutine that calls work is one of those that visit; others are started only when there is something
// to do for them.
//
// After an error no further node is started, and the context of the visits ends, unless keepGoing is true: then only the nodes
// that need the failed one are left out.
type walk struct {
	ctx       context.Context
	g         *graph.Graph
	keepGoing bool
	visit     visit
	visits    context.Context
	stop      context.CancelCauseFunc // of visits
	users     [][]graph.NodeID
	others    sync.WaitGroup // goroutines besides the calling one

	jobs      int
	limit     func() int // how many may run at the moment; nil for all of jobs
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
	errs      map[graph.NodeID]error
}

// newWalk returns a walk of g that has not begun. Its caller calls work, then end.
func newWalk(ctx context.Context, g *graph.Graph, jobs int, keepGoing bool, visit visit) *walk {
	jobs = max(1, jobs)
	w := &walk{ctx: ctx, g: g, jobs: jobs, slots: jobs, workers: 1, keepGoing: keepGoing, visit: visit,
		users: make([][]graph.NodeID, len(g.Nodes)), missing: make([]int, len(g.Nodes)), errs: map[graph.NodeID]error{}}
	w.visits, w.stop = context.WithCancelCause(ctx)
	w.changed.L, w.returned.L = &w.mu, &w.mu
	for i, n := range g.Nodes {
		w.missing[i] = len(n.Inputs) + len(n.After)
		for in := range n.Before() {
			w.users[in] = append(w.users[in], graph.NodeID(i))
		}
		if w.missing[i] == 0 {
			w.ready = append(w.ready, graph.NodeID(i))
		}
	}
	return w
}

// end waits for the visits and returns their errors in the order of the graph, without those that are [errStopped], and, if the
// context of the walk has ended, why.
func (w *walk) end() []error {
	w.others.Wait()
	w.stop(nil)
	var errs []error
	for i := range w.g.Nodes {
		if err := w.errs[graph.NodeID(i)]; err != nil {
			errs = append(errs, err)
		}
	}
	if w.ctx.Err() != nil {
		errs = append(errs, context.Cause(w.ctx))
	}
	return errs
}

// work visits nodes until there are none left. A goroutine goes on with what it has made ready: handing each node to
// another one would cost more than most visits.
func (w *walk) work() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.await() {
		id := heap.Pop(&w.ready).(graph.NodeID)
		w.running++
		w.slots--
		w.share()
		w.mu.Unlock()
		err := w.visit(w.visits, id, w.g.Nodes[id], w.wait)
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
func (w *walk) more() bool { return len(w.ready) > 0 && w.slots > w.returning && w.allowed() }

// allowed reports whether one more may run by the limit. While it refuses somebody runs, who asks again when that is done.
func (w *walk) allowed() bool {
	return w.limit == nil || w.slots == w.jobs || w.jobs-w.slots < w.limit()
}

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

// finish makes the users of id ready whose inputs are all done.
func (w *walk) finish(id graph.NodeID, err error) {
	if err != nil {
		if !errors.Is(err, errStopped) {
			w.errs[id] = err
		}
		if !w.keepGoing {
			w.stopped = true
			w.stop(errStopped)
		}
		return
	}
	for _, u := range w.users[id] {
		if w.missing[u]--; w.missing[u] == 0 {
			heap.Push(&w.ready, u)
		}
	}
}

type nodeHeap []graph.NodeID

func (h nodeHeap) Len() int           { return len(h) }
func (h nodeHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h nodeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *nodeHeap) Push(x any)        { *h = append(*h, x.(graph.NodeID)) }
func (h *nodeHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
