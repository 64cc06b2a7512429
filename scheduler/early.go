package scheduler

import (
	"context"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/function"
)

// early begins calls before the lists are there that they add to, in the order of the graph. Their answers wait for the visits of their
// nodes.
type early struct {
	calls   map[graph.NodeID]*earlyCall
	room    chan struct{} // holds an item for each call that has begun early and whose node was not visited: answers take memory
	running sync.WaitGroup
}

type earlyCall struct {
	get func() *answer // calls the function, once

	mu             sync.Mutex
	begun, visited bool
}

// needsNoList reports whether a call makes the same at any time: it gets no list, and neither gets nor leaves anything else.
func needsNoList(op graph.Call) bool {
	f := op.Function
	return op.Chart != nil || op.Role == function.GeneratorRole && f.Network == "" && len(f.Mounts) == 0 && !f.Unsandboxed
}

// callEarly begins to call functions, unless the run is without them; ctx is that of the visits.
func (r *run) callEarly(ctx context.Context) *early {
	e := &early{calls: map[graph.NodeID]*earlyCall{}, room: make(chan struct{}, 2*cap(r.calls))}
	var order []*earlyCall
	for i, n := range r.g.Nodes {
		if op, ok := n.Op.(graph.Call); ok && !r.o.Pure && needsNoList(op) {
			c := &earlyCall{get: sync.OnceValue(func() (a *answer) {
				defer func() {
					if p := recover(); p != nil {
						a = &answer{err: diag.Panicked(n.ID, p)}
					}
				}()
				return r.answer(ctx, graph.NodeID(i), op, nil, func(f func()) { f() })
			})}
			e.calls[graph.NodeID(i)] = c
			order = append(order, c)
		}
	}
	if len(order) > 0 {
		e.running.Go(func() { e.begin(ctx, r.o, order) })
	}
	return e
}

func (e *early) begin(ctx context.Context, o Options, order []*earlyCall) {
	for _, c := range order {
		select {
		case e.room <- struct{}{}:
		case <-ctx.Done():
			return
		}
		if o.Limit != nil && o.Limit() < o.Jobs {
			return // there is no room for answers that wait
		}
		c.mu.Lock()
		if c.begun = !c.visited; c.begun {
			e.running.Go(func() { c.get() })
		} else {
			<-e.room
		}
		c.mu.Unlock()
	}
}

// take returns what waits for the answer of a node's call, or calls its function now; nil for a call that is never early.
func (e *early) take(id graph.NodeID) func() *answer {
	c := e.calls[id]
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.visited = true
	if c.begun {
		<-e.room
	}
	return c.get
}

// wait waits for the end of the calls. The context of the visits has ended.
func (e *early) wait() { e.running.Wait() }
