package scheduler

import (
	"container/heap"
	"context"
	"errors"
	"sync"

	"github.com/krmflow/krmflow/graph"
)

// A visit runs a node. Its ctx ends with the walk. While the visit waits for something outside
// this process it should do so in a function passed to wait, which lets a different visit use
// its slot until that function returns. A visit must not panic.
type visit func(ctx context.Context, id graph.NodeID, n *graph.Node, wait func(func())) error

// errStopped is the cancellation cause of a visit's context if a different node has failed.
var errStopped = errors.New("stopped, because another step failed")

// A walk calls visit once for each node, after its inputs and its other predecessors are done.
// At most jobs visits run at a time, excluding visits in wait, and at most calls visits of
// calls, including those in wait. The goroutine that calls work also visits nodes. More
// goroutines are started only when a node is ready for them.
//
// Nodes that are ready at the same time start in the order of the graph, which keeps the number
// of lists in memory small. Calls start before other nodes, because their functions run in other
// processes and the walk can do its own work meanwhile. The exception is a backlog of answers:
// if many calls have started whose answer no node has taken yet, other nodes go first, because
// each answer occupies memory.
//
// After an error no further node starts and the context of the visits is cancelled. With
// keepGoing, only the nodes that depend on the failed one are skipped.
//
// All fields after mu are protected by it. Slots are counted instead of held in a channel
// because a visit returning from wait takes precedence over nodes that are ready; a channel
// would serve them in any order.
type walk struct {
	ctx       context.Context
	g         *graph.Graph
	keepGoing bool
	visit     visit
	visits    context.Context
	stop      context.CancelCauseFunc // cancels visits
	users     [][]graph.NodeID
	others    sync.WaitGroup // goroutines except the calling one

	jobs  int
	calls int // maximum number of visits of calls
	// limit returns the current limit for visits or calls, given their maximum; nil for none.
	limit func(all int) int
	mu    sync.Mutex
	// changed signals changes of ready, running, slots or stopped to idle goroutines.
	changed   sync.Cond
	missing   []int     // number of unfinished predecessors of each node
	ready     nodeHeap  // nodes that are ready, except calls
	callable  nodeHeap  // calls that are ready
	calling   int       // running visits of calls
	untaken   []bool    // started calls whose answer no visit has taken
	answers   int       // number of untaken calls
	workers   int       // goroutines, excluding those in wait
	idle      int       // workers waiting for a node
	running   int       // visits, including those in wait
	slots     int       // free slots: visits that may start now
	returned  sync.Cond // signals a free slot to visits returning from wait
	returning int       // visits returning from wait; they precede nodes that are ready
	stopped   bool
	errs      map[graph.NodeID]error
}

// newWalk returns a walk of g. The caller calls work, then end.
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

// end waits for the visits and returns their errors in the order of the graph, without
// [errStopped]. If the context of the walk has ended, the cause is the last error.
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

// work visits nodes until none is left. A goroutine continues with the nodes that it has made
// ready: most visits are cheaper than handing the node to a different goroutine.
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

// pop removes the next node and takes its slot. The caller must know that there is one: see
// more.
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

// await waits for a node that may be visited. It returns false if there will be none.
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

// next returns the heap whose first node is next, or nil if the limits allow no node to start.
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

// allowed reports whether one more may start if running of at most most are running. It never
// refuses the first, so when it refuses, a visit is running that will check again at its end.
func (w *walk) allowed(running, most int) bool {
	return running == 0 || running < most && (w.limit == nil || running < w.limit(most))
}

// share wakes or starts a worker if another node is ready.
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

// free returns the slot of a visit.
func (w *walk) free() {
	w.slots++
	if w.returning > 0 {
		w.returned.Signal()
	}
}

// wait calls f without occupying the slot of the calling visit.
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

// finish records the result of id and makes its users ready if their predecessors are all done.
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
