package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/krmflow/krmflow/graph"
)

// delay is the time after which a run shows progress. Short runs do not need it.
const delay = time.Second

// A StatusWriter writes to a terminal that may show a status line. Each write removes the
// status line first, so that other text never follows it on the same line. It is safe for
// concurrent use.
type StatusWriter struct {
	mu    sync.Mutex
	w     io.Writer
	shown bool
}

// NewStatusWriter returns a writer to w that shows no status.
func NewStatusWriter(w io.Writer) *StatusWriter { return &StatusWriter{w: w} }

func (s *StatusWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	return s.w.Write(p)
}

// show replaces the status line. An empty text removes it.
func (s *StatusWriter) show(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	if text != "" {
		fmt.Fprint(s.w, text)
		s.shown = true
	}
}

func (s *StatusWriter) clear() {
	if s.shown {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.shown = false
	}
}

// Progress shows how many roots are done. On a terminal it updates a single line; otherwise it
// prints a line every few seconds. It is safe for concurrent use.
type Progress struct {
	status *StatusWriter
	out    io.Writer
	g      *graph.Graph
	// Number of roots that could not be planned; they have failed and are not in g.
	unknown  int
	slow     func() string // names the steps that have been running for long
	terminal bool

	mu     sync.Mutex
	count  int
	failed map[string]bool
	quit   chan struct{}
	ended  sync.WaitGroup
}

// NewProgress returns the progress of a run of g. Nothing is shown before [Progress.Start].
// unknown is the number of roots that could not be planned, and slow names the steps that have
// been running for long.
func NewProgress(g *graph.Graph, unknown int, slow func() string) *Progress {
	return &Progress{g: g, unknown: unknown, slow: slow, failed: map[string]bool{}, quit: make(chan struct{})}
}

// Start starts showing the progress, in the status line of status if stderr is a terminal,
// otherwise as lines in out.
func (p *Progress) Start(status *StatusWriter, out io.Writer) {
	p.status, p.out = status, out
	if info, err := os.Stderr.Stat(); err == nil {
		p.terminal = info.Mode()&os.ModeCharDevice != 0
	}
	p.ended.Go(p.show)
}

// Done records that a root has finished successfully.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
}

// Fail records that a node has failed, and with it the roots that depend on it.
func (p *Progress) Fail(n *graph.Node) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed[n.ID] = true
}

func (p *Progress) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	total, failed := len(p.g.Roots)+p.unknown, p.unknown
	if len(p.failed) > 0 {
		failed += len(p.g.RootsThatNeed(p.failed))
	}
	text := fmt.Sprintf("%d of %d roots done, %d running, %d failed", p.count, total, total-p.count-failed, failed)
	if slow := p.slow(); slow != "" {
		text += ": " + slow
	}
	return text
}

// statusWidth is the maximum width of a status line. A line that wraps could not be removed.
const statusWidth = 79

// cut shortens text to the width of a status line.
func cut(text string) string {
	if r := []rune(text); len(r) > statusWidth {
		return string(r[:statusWidth-1]) + "…"
	}
	return text
}

func (p *Progress) show() {
	every := 100 * time.Millisecond
	if !p.terminal {
		every = 5 * time.Second
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	for {
		select {
		case <-p.quit:
			p.status.show("")
			return
		case <-timer.C:
			if p.terminal {
				p.status.show(cut(p.String()))
			} else {
				fmt.Fprintln(p.out, p)
			}
			timer.Reset(every)
		}
	}
}

// Stop removes the status line and ends the display. It may be called more than once, but not
// concurrently.
func (p *Progress) Stop() {
	select {
	case <-p.quit:
	default:
		close(p.quit)
	}
	p.ended.Wait()
}
