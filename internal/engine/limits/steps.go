package limits

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/scheduler"
)

// Steps are what a run is doing, for the message when it is ended. The zero Steps is one that has done nothing. It is safe for
// concurrent use.
type Steps struct {
	mu      sync.Mutex
	last    graph.Origin // of the last step that was planned or begun, of those that have a place
	running []step
}

// A step is a node that runs.
type step struct {
	node  *graph.Node
	since time.Time
}

// Plan says that a step is planned.
func (s *Steps) Plan(at graph.Origin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reach(at)
}

// Begin says that a node is run.
func (s *Steps) Begin(n *graph.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reach(n.Origin)
	s.running = append(s.running, step{n, time.Now()})
}

func (s *Steps) reach(at graph.Origin) {
	if at.Source != nil {
		s.last = at
	}
}

// End says that it is done.
func (s *Steps) End(n *graph.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = slices.DeleteFunc(s.running, func(r step) bool { return r.node == n })
}

// Slow returns the steps that have run for more than a second, with that time, the longest first: "a (12s), b (3s)".
func (s *Steps) Slow() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, r := range s.running { // in the order in which they began
		if took := time.Since(r.since); took > time.Second {
			list = append(list, fmt.Sprintf("%s (%s)", diag.OneLine(r.node.ID), took.Truncate(time.Second)))
		}
	}
	return strings.Join(list, ", ")
}

// Stopped returns why a run was ended, with what it was doing: at the place of one step if that took too much, else with an error for
// each.
func (s *Steps) Stopped(cause error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !errors.Is(cause, diag.ErrLimit) {
		errs := []error{cause}
		for _, r := range s.running {
			errs = append(errs, &scheduler.NodeError{Node: r.node, Err: cause})
		}
		return errors.Join(errs...)
	}
	for _, r := range s.running {
		if r.node.Origin.Source != nil {
			return stoppedAt(r.node.Origin, cause)
		}
	}
	return stoppedAt(s.last, cause) // between two steps nothing is running
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
