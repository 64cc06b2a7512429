package main

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// progressDelay is how long a run may take before it shows progress: nobody wants to see that of a short one.
const progressDelay = time.Second

// progress shows how many roots are done: on a terminal one line that is written over, elsewhere a line now and then.
type progress struct {
	a             *app
	total, failed int
	terminal      bool

	mu    sync.Mutex
	count int
	quit  chan struct{}
	ended sync.WaitGroup
}

func (a *app) progress(total, failed int) *progress {
	p := &progress{a: a, total: total, failed: failed, quit: make(chan struct{})}
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

func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
}

func (p *progress) show() {
	every, shown := 100*time.Millisecond, false
	if !p.terminal {
		every = 5 * time.Second
	}
	timer := time.NewTimer(progressDelay)
	defer timer.Stop()
	for {
		select {
		case <-p.quit:
			if shown && p.terminal {
				fmt.Fprint(os.Stderr, "\r\x1b[K")
			}
			return
		case <-timer.C:
			p.mu.Lock()
			text := fmt.Sprintf("%d of %d roots done, %d running, %d failed", p.count, p.total, p.total-p.count, p.failed)
			p.mu.Unlock()
			if p.terminal {
				fmt.Fprint(os.Stderr, "\r\x1b[K"+text)
			} else {
				fmt.Fprintln(p.a.stderr, text)
			}
			shown = true
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
