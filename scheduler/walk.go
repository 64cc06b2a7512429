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

// A walk calls visit once for each node, never before its inputs and what it comes after are done. At
// most jobs visits run at a time, without those that wait, and at most calls visits of calls, with
// those that wait. The goroutine that calls work is one of those that visit; others are started only
// when there is something to do for them.
//
// Nodes that are ready at the same time start in the order of the graph, which keeps the number of
// lists alive small. Calls start before other nodes, because their functions run in other processes,
// unless there are many answers already that no node has taken: answers need memory.
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
	calls     int               // how many calls may be visited at a time
	limit     func(all int) int // how many of all visits or calls may run at the moment; nil for all
	mu        sync.Mutex
	changed   sync.Cond // of ready, running, slots or stopped, for idle goroutines
	missing   []int     // nodes that must be done before and are not
	ready     nodeHeap  // nodes that are not calls
	callable  nodeHeap  // calls that are ready
	calling   int       // visits of calls
	untaken   []bool    // calls that have begun, and whose answer no visit takes yet
	answers   int       // of them
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
func newWalk(ctx context.Context, g *graph.Graph, jobs, calls int, keepGoing bool, visit visit) *walk {
	jobs = max(1, jobs)
	w := &walk{ctx: ctx, g: g, jobs: jobs, calls: max(1, calls), slots: jobs, workers: 1, keepGoing: keepGoing, visit: visit,
		users: make([][]graph.NodeID, len(g.Nodes)), missing: make([]int, len(g.Nodes)), untaken: make([]bool, len(g.Nodes)),
		errs: map[graph.NodeID]error{}}
	w.visits, w.stop = context.WithCancelCause(ctx)
	w.changed.L, w.returned.L = &w.mu, &w.mu
	for i, n := range g.Nodes {
		w.missing[i] = len(n.Inputs) + len(n.After)
		for in := range n.Before() {
			w.users[in] = append(w.users[in], graph.NodeID(i))
		}
		if w.missing[i] == 0 {
			w.push(graph.NodeID(i))
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
		id := w.pop()
		w.share()
		w.mu.Unlock()
		err := w.visit(w.visits, id, w.g.Nodes[id], w.wait)
		w.mu.Lock()
		w.running--
		if w.isCall(id) {
			w.calling--
		}
		w.free()
		w.finish(id, err)
	}
	w.changed.Broadcast()
}

func (w *walk) isCall(id graph.NodeID) bool {
	_, ok := w.g.Nodes[id].Op.(graph.Call)
	return ok
}

// push adds a node that is ready.
func (w *walk) push(id graph.NodeID) {
	if w.isCall(id) {
		heap.Push(&w.callable, id)
	} else {
		heap.Push(&w.ready, id)
	}
}

// pop removes the node that is visited next and takes its slot. There is one: see more.
func (w *walk) pop() graph.NodeID {
	id := heap.Pop(w.next()).(graph.NodeID)
	w.running++
	w.slots--
	if w.isCall(id) {
		w.calling++
		w.answers++
		w.untaken[id] = true
	}
	for in := range w.g.Nodes[id].Before() {
		if w.untaken[in] {
			w.answers--
			w.untaken[in] = false
		}
	}
	return id
}

// await waits for a node that may be visited and reports false if there will be none.
func (w *walk) await() bool {
	for {
		w.stopped = w.stopped || w.ctx.Err() != nil
		switch {
		case w.stopped, len(w.ready)+len(w.callable) == 0 && w.running == 0:
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
func (w *walk) more() bool { return w.slots > w.returning && w.next() != nil }

// next returns the nodes of which the first one is visited next, nil if none may begin by the limits.
func (w *walk) next() *nodeHeap {
	if !w.allowed(w.jobs-w.slots, w.jobs) {
		return nil
	}
	step, call := len(w.ready) > 0, len(w.callable) > 0 && w.allowed(w.calling, w.calls)
	switch {
	case call && (!step || w.allowed(w.answers, 2*w.calls) || w.callable[0] < w.ready[0]):
		return &w.callable
	case step:
		return &w.ready
	}
	return nil
}

// allowed reports whether one more than running, of at most so many, may run. While it refuses another visit runs, which asks again
// when it is done.
func (w *walk) allowed(running, most int) bool {
	return running == 0 || running < most && (w.limit == nil || running < w.limit(most))
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
			w.push(u)
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
