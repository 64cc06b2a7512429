package limits

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/scheduler"
)

// Steps tracks the current steps of a run, for the message when the run is ended. The zero
// Steps is ready to use. It is safe for concurrent use.
type Steps struct {
	mu      sync.Mutex
	last    graph.Origin // origin of the last step planned or started, of those with a position
	running []step
}

// A step is a running node.
type step struct {
	node  *graph.Node
	since time.Time
}

// Plan records that a step is being planned.
func (s *Steps) Plan(at graph.Origin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reach(at)
}

// Begin records that a node has started.
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

// End records that a node has ended.
func (s *Steps) End(n *graph.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = slices.DeleteFunc(s.running, func(r step) bool { return r.node == n })
}

// Running returns the names of the running steps, the longest first. Steps that have been running
// for more than a second have their times: "a (12s)".
func (s *Steps) Running() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.running { // in the order in which they started
		name := diag.OneLine(r.node.ID)
		if took := time.Since(r.since); took > time.Second {
			name += fmt.Sprintf(" (%s)", took.Truncate(time.Second))
		}
		names = append(names, name)
	}
	return names
}

// Stopped returns the error for a run that was ended because of cause. If a limit was exceeded,
// the error has the position of one current step. Otherwise it joins cause with an error for
// each running step.
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
	return stoppedAt(s.last, cause) // between two steps, no step is running
}

// stoppedAt returns cause as an error with a position.
func stoppedAt(at graph.Origin, cause error) error {
	if at.Source == nil {
		return cause
	}
	e := *diag.AsError(cause)
	e.Field = at.Field()
	if len(at.Source.Data) < 64<<10 {
		e.Pos = at.Pos()
	} else {
		// Locating a position exactly in a large file may be the expensive step itself.
		e.Pos = at.Source.LocateQuickly(at.Path...)
	}
	return &e
}
