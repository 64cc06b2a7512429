package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
)

// A Screen is the terminal as the standard streams of one process share it: product on stdout,
// messages on stderr, a status line below them, and a pager for long output. Streams that are not
// terminals are passed through unchanged. It is safe for concurrent use.
//
// # Pager
//
// Whether output is long is known only at its end, and a pager process for a short text would
// be wasted. The Screen therefore holds output back while it fits the screen, at most one screen
// of it. If it grows longer, all of it goes to the pager; otherwise [Screen.Close] prints it.
// Messages that are written meanwhile are held as well, so that they keep their place in the
// text: a plan prints its mistakes between the roots and the totals. As in git, they go to the
// pager with the text.
type Screen struct {
	mu             sync.Mutex
	out, err       io.Writer
	outTTY, errTTY bool
	pagerOf        func() string // returns the pager's command
	width, height  int
	status         bool // a status line is shown
	state          screenState
	held           []heldText
	measure        measure
	pager          atomic.Pointer[pager]

	// outMu and errMu are held while writing to a stream that is not a terminal. A pipe can block
	// for any time, and must not block the other stream or the handling of signals.
	outMu, errMu sync.Mutex
}

// A heldText is held output for one stream.
type heldText struct {
	to   io.Writer
	text []byte
}

type screenState int

const (
	undecided screenState = iota // nothing has been written to stdout
	direct                       // output is written at once
	holding                      // output is held until it exceeds the screen
	paging                       // output goes to a pager
	ended
)

// NewScreen returns the Screen of two streams. The function pager returns the command of the
// pager, which is empty for none. It is called at the first output, and not at all if stdout is
// not a terminal.
func NewScreen(stdout, stderr io.Writer, pager func() string) *Screen {
	s := &Screen{out: stdout, err: stderr, pagerOf: pager}
	if f, ok := stdout.(*os.File); ok {
		s.outTTY = Is(f)
		s.width, s.height = size(f)
	}
	if f, ok := stderr.(*os.File); ok {
		s.errTTY = Is(f)
	}
	return s
}

// Stdout returns the writer for the product of the command.
func (s *Screen) Stdout() io.Writer { return screenWriter(s.writeOut) }

// Stderr returns the writer for messages. Their text must be safe for a terminal.
func (s *Screen) Stderr() io.Writer { return screenWriter(s.writeErr) }

type screenWriter func([]byte) (int, error)

func (w screenWriter) Write(p []byte) (int, error) { return w(p) }

func (s *Screen) writeOut(p []byte) (int, error) {
	s.mu.Lock()
	if s.state == undecided {
		s.state = direct
		if s.outTTY && s.height > 1 && !isDumb() && s.pagerOf() != "" {
			s.state = holding
		}
	}
	return s.write(s.out, p)
}

func (s *Screen) writeErr(p []byte) (int, error) {
	s.mu.Lock()
	if !s.errTTY || s.state == holding && len(s.held) == 0 {
		return s.direct(s.err, p)
	}
	return s.write(s.err, p)
}

// write writes p to a stream, holds it, or writes it to the pager. It unlocks s.
func (s *Screen) write(to io.Writer, p []byte) (int, error) {
	switch s.state {
	case paging:
		pager := s.pager.Load()
		s.mu.Unlock() // the pager may block until its user scrolls
		if pager.write(p) || to == s.out {
			return len(p), nil
		}
		return to.Write(p) // the user has left the pager
	case holding:
		s.clear()
		s.held = append(s.held, heldText{to, append([]byte(nil), p...)})
		if s.measure.add(p, s.width) < s.height {
			s.mu.Unlock()
			return len(p), nil
		}
		pager := startPager(s.pagerOf())
		if pager == nil {
			s.state = direct
			err := s.release()
			s.mu.Unlock()
			return len(p), err
		}
		s.pager.Store(pager)
		s.state = paging
		held := s.held
		s.held = nil
		pager.mu.Lock() // before other writers
		s.mu.Unlock()
		for _, h := range held {
			pager.send(h.text)
		}
		pager.mu.Unlock()
		return len(p), nil
	case ended:
		s.mu.Unlock()
		return len(p), nil
	}
	return s.direct(to, p)
}

// direct writes p to a stream at once. It unlocks s, before the write if the stream is not a
// terminal.
func (s *Screen) direct(to io.Writer, p []byte) (int, error) {
	s.clear()
	mu := &s.errMu
	tty := s.errTTY
	if to == s.out {
		mu, tty = &s.outMu, s.outTTY
	}
	if tty {
		defer s.mu.Unlock() // keeps the status line apart
		return to.Write(p)
	}
	s.mu.Unlock()
	mu.Lock()
	defer mu.Unlock()
	return to.Write(p)
}

// release prints the held output.
func (s *Screen) release() (err error) {
	for _, h := range s.held {
		if _, e := h.to.Write(h.text); e != nil && err == nil {
			err = e
		}
	}
	s.held = nil
	return err
}

// Unpaged prints output at once from now on. A command that waits for something needs it.
func (s *Screen) Unpaged() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == undecided || s.state == holding {
		s.state = direct
	}
	return s.release()
}

// Show replaces the status line on stderr. An empty text removes it. While output is held or
// paged, no status is shown.
func (s *Screen) Show(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	if text != "" && s.ShowsStatus() && len(s.held) == 0 && s.state != paging && s.state != ended {
		fmt.Fprint(s.err, text)
		s.status = true
	}
}

// ShowsStatus reports whether stderr is a terminal with a status line.
func (s *Screen) ShowsStatus() bool { return s.errTTY && !isDumb() }

// clear removes the status line.
func (s *Screen) clear() {
	if s.status {
		fmt.Fprint(s.err, "\r\x1b[K")
		s.status = false
	}
}

// Close prints output that fits the screen, or waits for the user to leave the pager. It returns
// the first error of writing the held output. Text that is written afterwards is discarded if
// there was a pager.
func (s *Screen) Close() error {
	s.mu.Lock()
	s.clear()
	err := s.release()
	pager := s.pager.Load()
	switch s.state {
	case holding:
		s.state = direct
	case paging:
		s.state = ended
	}
	s.mu.Unlock()
	if pager != nil {
		pager.close()
	}
	return err
}

// Paging reports whether a pager is running, which handles Ctrl-C itself.
func (s *Screen) Paging() bool {
	pager := s.pager.Load()
	return pager != nil && !pager.ended.Load()
}

// EndPager ends the pager, if there is one.
func (s *Screen) EndPager() {
	if pager := s.pager.Load(); pager != nil {
		pager.terminate()
	}
}

// A measure counts the lines that text takes on a screen.
type measure struct {
	rows, column int
	escape       bool // within an escape sequence
}

// add adds text and returns the number of lines that are needed, with one for the prompt of the
// shell.
func (m *measure) add(text []byte, width int) int {
	for _, r := range string(text) {
		switch {
		case m.escape:
			m.escape = r < '@' || r > '~' || r == '['
		case r == '\x1b':
			m.escape = true
		case r == '\n':
			m.rows, m.column = m.rows+1, 0
		case width > 0 && m.column >= width:
			m.rows, m.column = m.rows+1, 1
		case r == '\t':
			m.column += 8 - m.column%8
		default:
			m.column++
		}
	}
	return m.rows
}
