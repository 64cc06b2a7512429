package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/krmflow/krmflow/graph"
)

// progressDelay is how long a run may take before it shows progress: nobody wants to see that of a short one.
const progressDelay = time.Second

// A statusWriter passes what is written to a terminal on, but first removes the status line that it shows: nothing else is
// ever behind it on its line.
type statusWriter struct {
	mu    sync.Mutex
	w     io.Writer
	shown bool
}

func (s *statusWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	return s.w.Write(p)
}

// show replaces the status line; empty text removes it.
func (s *statusWriter) show(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	if text != "" {
		fmt.Fprint(s.w, text)
		s.shown = true
	}
}

func (s *statusWriter) clear() {
	if s.shown {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.shown = false
	}
}

// progress shows how many roots are done: on a terminal one line that is written over, elsewhere a line now and then.
type progress struct {
	a        *app
	g        *graph.Graph
	unknown  int // roots that could not be planned: they have failed, and are not in g
	terminal bool

	mu     sync.Mutex
	count  int
	failed map[*graph.Node]bool
	quit   chan struct{}
	ended  sync.WaitGroup
}

// progress starts to show how g is run.
func (a *app) progress(g *graph.Graph, unknown int) *progress {
	p := &progress{a: a, g: g, unknown: unknown, failed: map[*graph.Node]bool{}, quit: make(chan struct{})}
	if a.quiet || a.log.json {
		close(p.quit)
		return p
	}
	if info, err := os.Stderr.Stat(); err == nil {
		p.terminal = info.Mode()&os.ModeCharDevice != 0
	}
	p.ended.Go(p.show)
	return p
}

// done says that a root has ended well.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
}

// fail says that a node has failed, and so the roots that need it.
func (p *progress) fail(n *graph.Node) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed[n] = true
}

func (p *progress) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	total, failed := len(p.g.Roots)+p.unknown, p.unknown
	if len(p.failed) > 0 {
		failed += len(p.g.RootsThatNeed(p.failed))
	}
	return fmt.Sprintf("%d of %d roots done, %d running, %d failed", p.count, total, total-p.count-failed, failed)
}

func (p *progress) show() {
	every := 100 * time.Millisecond
	if !p.terminal {
		every = 5 * time.Second
	}
	timer := time.NewTimer(progressDelay)
	defer timer.Stop()
	for {
		select {
		case <-p.quit:
			p.a.status.show("")
			return
		case <-timer.C:
			if p.terminal {
				p.a.status.show(p.String())
			} else {
				fmt.Fprintln(p.a.stderr, p)
			}
			timer.Reset(every)
		}
	}
}

// stop ends the display. It may be called more than once.
func (p *progress) stop() {
	select {
	case <-p.quit:
	default:
		close(p.quit)
	}
	p.ended.Wait()
}
