package terminal

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
)

// delay is the time after which a command shows progress. Short runs do not need it.
const delay = time.Second

// Progress shows the progress of a run in the status line of a terminal: the roots that are done,
// the time, and the running steps. It is safe for concurrent use.
type Progress struct {
	screen *Screen
	began  time.Time
	g      *graph.Graph // nil while the command plans
	// Number of roots that could not be planned; they have failed and are not in g.
	unknown int
	running func() []string // names the running steps

	mu     sync.Mutex
	count  int
	failed map[string]bool
	quit   chan struct{}
	ended  sync.WaitGroup
}

// StartProgress shows the progress of a run of g, or of planning if g is nil, until
// [Progress.Stop]. The command began at began. unknown is the number of roots that could not be
// planned, and running names the running steps, the longest first.
func StartProgress(screen *Screen, began time.Time, g *graph.Graph, unknown int, running func() []string) *Progress {
	p := &Progress{screen: screen, began: began, g: g, unknown: unknown, running: running, failed: map[string]bool{},
		quit: make(chan struct{})}
	if screen.ShowsStatus() {
		p.ended.Go(p.show)
	}
	return p
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

// roots returns the number of finished, failed and all roots.
func (p *Progress) roots() (done, failed, all int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	done, failed, all = p.count, p.unknown, len(p.g.Roots)+p.unknown
	if len(p.failed) > 0 {
		failed += len(p.g.RootsThatNeed(p.failed))
	}
	return done, failed, all
}

// line returns the status line for a terminal of a width. It is shorter than that, because a line
// that wraps could not be removed.
func (p *Progress) line(width int, took time.Duration) string {
	var line string
	if p.g == nil {
		line = "planning"
	} else {
		done, failed, all := p.roots()
		line = bar(done, failed, all, min(24, width/4)) + fmt.Sprintf(" %d/%d roots", done, all)
		if failed > 0 {
			line += fmt.Sprintf(", %d failed", failed)
		}
	}
	line += "  " + took.Truncate(time.Second).String()
	line += list(p.running(), width-1-utf8.RuneCountInString(line))
	return string([]rune(line)[:min(max(0, width-1), utf8.RuneCountInString(line))])
}

// list returns the names that fit into width characters, and the number of the others.
func list(names []string, width int) string {
	text := ""
	for i, name := range names {
		between := ", "
		if i == 0 {
			between = "  "
		}
		more := ""
		if rest := len(names) - i; rest > 1 {
			more = fmt.Sprintf(" and %d more", rest-1)
		}
		room := width - utf8.RuneCountInString(text+between+more)
		switch {
		case i == 0 && room < 12:
			return ""
		case i > 0 && utf8.RuneCountInString(name) > room:
			return text + fmt.Sprintf(" and %d more", len(names)-i)
		}
		text += between + Shorten([]string{diag.Sanitise(name)}, room)[0]
	}
	return text
}

// bar draws the share of roots that are done, as in [=====>    ], with x for failed ones.
func bar(done, failed, all, width int) string {
	full := width * done / max(1, all)
	bad := (width*failed + all - 1) / max(1, all)
	full = min(full, width-bad)
	rest := width - full - bad
	head := ""
	if rest > 0 {
		head, rest = ">", rest-1
	}
	return "[" + strings.Repeat("=", full) + head + strings.Repeat(" ", rest) + strings.Repeat("x", bad) + "]"
}

func (p *Progress) show() {
	timer := time.NewTimer(max(0, delay-time.Since(p.began)))
	defer timer.Stop()
	for {
		select {
		case <-p.quit:
			p.screen.Show("")
			return
		case <-timer.C:
			width := Width(os.Stderr)
			if width == 0 {
				width = 80
			}
			p.screen.Show(p.line(width, time.Since(p.began)))
			timer.Reset(100 * time.Millisecond)
		}
	}
}

// Stop removes the status line. It may be called more than once, but not concurrently.
func (p *Progress) Stop() {
	select {
	case <-p.quit:
	default:
		close(p.quit)
	}
	p.ended.Wait()
}
