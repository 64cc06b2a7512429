package watchdog

import (
	"errors"
	"slices"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/scheduler"
)

// Steps are what a run is doing, for the message when it is ended. The zero Steps is one that has done nothing. It is safe for
// concurrent use.
type Steps struct {
	mu      sync.Mutex
	last    graph.Origin // of the last step that was planned or begun, of those that have a place
	running []*graph.Node
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
	s.running = append(s.running, n)
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
	s.running = slices.DeleteFunc(s.running, func(r *graph.Node) bool { return r == n })
}

// Stopped returns why a run was ended, with what it was doing: at the place of one step if that took too much, else with an error for
// each.
func (s *Steps) Stopped(cause error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !errors.Is(cause, diag.ErrLimit) {
		errs := []error{cause}
		for _, n := range s.running {
			errs = append(errs, &scheduler.NodeError{Node: n, Err: cause})
		}
		return errors.Join(errs...)
	}
	for _, n := range s.running {
		if n.Origin.Source != nil {
			return stoppedAt(n.Origin, cause)
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
