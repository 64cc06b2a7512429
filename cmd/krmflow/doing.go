package main

import (
	"errors"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/scheduler"
)

// doing is what a command is doing, for the message when it is ended. It is safe for concurrent use.
type doing struct {
	mu      sync.Mutex
	last    graph.Origin // of the last step that was planned or begun, of those that have a place
	running []*graph.Node
}

func (d *doing) plan(at graph.Origin) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reach(at)
}

func (d *doing) begin(n *graph.Node) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reach(n.Origin)
	d.running = append(d.running, n)
}

func (d *doing) reach(at graph.Origin) {
	if at.Source != nil {
		d.last = at
	}
}

func (d *doing) end(n *graph.Node) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, r := range d.running {
		if r == n {
			d.running = append(d.running[:i], d.running[i+1:]...)
			break
		}
	}
}

// stopped returns why a command was ended, with what it was doing.
func (d *doing) stopped(cause error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !errors.Is(cause, diag.ErrLimit) {
		for _, n := range d.running {
			cause = errors.Join(cause, &scheduler.NodeError{Node: n, Err: cause})
		}
		return cause
	}
	for _, n := range d.running {
		if n.Origin.Source != nil {
			return stoppedAt(n.Origin, cause)
		}
	}
	return stoppedAt(d.last, cause) // between two steps nothing is running
}

// stoppedAt returns the error cause at a place.
func stoppedAt(at graph.Origin, cause error) error {
	if at.Source == nil {
		return cause
	}
	e := *diag.AsError(cause)
	e.Field = at.Field()
	if len(at.Source.Data) < 64<<10 {
		e.Pos = at.Pos()
	} else {
		e.Pos = at.Source.LocateQuickly(at.Path...) // to locate a place in this may be what takes so much
	}
	return &e
}
