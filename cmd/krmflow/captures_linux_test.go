package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/krmflow/krmflow/executors/executortest"
	"golang.org/x/sys/unix"
)

// captures are the terminal captures of docs/terminal.md, in the tree of [changedShop]. The last
// one runs after [breakShop].
var captures = []struct {
	name, command string
	code          int
}{
	{"help", "krmflow --help", 0},
	{"help-build", "krmflow build -h", 0},
	{"help-plan", "krmflow plan -h", 0},
	{"help-apply-render", "krmflow apply-render -h", 0},
	{"help-diff", "krmflow diff -h", 0},
	{"help-explain", "krmflow explain -h", 0},
	{"plan", "krmflow plan overlays/prod", 0},
	{"plan-roots", "krmflow plan -R .", 0},
	{"diff", "krmflow diff -R overlays", 0},
	{"error", "krmflow build overlays/dev", 1},
}

// TestCapturesAreUpToDate runs krmflow on a terminal of 80 columns and compares the screens with
// the images of docs/terminal.md. With -update it writes the images.
func TestCapturesAreUpToDate(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		executortest.Missing(t, "no git")
	}
	page, err := os.ReadFile("../../docs/terminal.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Parallel()
	shop, home := changedShop(t), t.TempDir()
	type screen struct {
		shown []byte
		err   error
	}
	screens := make([]screen, len(captures))
	show := func(i int) {
		words := strings.Fields(captures[i].command)
		cmd := exec.Command(words[0], words[1:]...)
		// Nothing else of the environment may change the output.
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + os.TempDir(), "TERM=xterm-256color", "PAGER=cat"}
		cmd.Dir = shop
		shown, err := runOnScreen(cmd, &unix.Winsize{Col: 80, Row: 24}, nil, patience)
		if err == nil && cmd.ProcessState.ExitCode() != captures[i].code {
			err = errors.New(cmd.ProcessState.String())
		}
		screens[i] = screen{shown, err}
	}
	last := len(captures) - 1
	var running sync.WaitGroup
	for i := range last {
		running.Go(func() { show(i) })
	}
	running.Wait()
	breakShop(t, shop)
	show(last)

	var images []string
	for i, c := range captures {
		shown, err := screens[i].shown, screens[i].err
		if none := (noTerminal{}); errors.As(err, &none) {
			executortest.Missing(t, fmt.Sprintf("no pseudo terminal: %v", err))
		}
		if err != nil {
			t.Fatalf("%s: %v\n%s", c.command, err, shown)
		}
		s := terminalScreen{columns: 80}
		if err := s.write("\x1b[2m$ \x1b[0m" + c.command + "\n" + string(shown)); err != nil {
			t.Fatalf("%s: %v", c.command, err)
		}
		image := filepath.Join(picturesDir, "terminal-"+c.name+".svg")
		images = append(images, image)
		want := s.svg(c.command)
		if len(want) > 16<<10 {
			t.Errorf("%s: %d bytes", image, len(want))
		}
		if *update {
			if err := os.WriteFile(image, want, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(image); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is out of date (%v): update it with go test ./cmd/krmflow -run TestCapturesAreUpToDate -update, and look at it\nthe screen is now:\n%s",
				image, err, shown)
		}
		if !strings.Contains(string(page), "](pictures/"+filepath.Base(image)+")") {
			t.Errorf("docs/terminal.md does not show %s", image)
		}
	}
	all, err := filepath.Glob(filepath.Join(picturesDir, "terminal-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, image := range all {
		if !slices.Contains(images, image) {
			t.Errorf("%s is not a capture of this test", image)
		}
	}
}

// breakShop puts two mistakes into a root of the shop.
func breakShop(t *testing.T, shop string) {
	t.Helper()
	file := filepath.Join(shop, "overlays/dev/kustomization.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("behavior:"), []byte("behaviour:"), 1)
	text = bytes.Replace(text, []byte("newTag:"), []byte("newTga:"), 1)
	if err := os.WriteFile(file, text, 0o666); err != nil {
		t.Fatal(err)
	}
}

// A terminalScreen is the text that a terminal shows, with all lines that have scrolled out of
// view. It knows the control sequences that krmflow writes.
type terminalScreen struct {
	columns int
	rows    [][]cell
	column  int
	classes string // of the text that is written
}

// A cell is a character on a terminal. Its classes are the keys of terminalClasses.
type cell struct {
	char    rune
	classes string
}

// terminalClasses are the CSS classes in images, by the parameter of the escape sequence. The
// colors have a contrast of at least 4.5 to the background.
var terminalClasses = map[string]struct{ name, style string }{
	"1":  {"b", "font-weight:bold"},
	"2":  {"d", "fill:#959da5"},
	"31": {"r", "fill:#ff7b72"},
	"32": {"g", "fill:#56d364"},
	"33": {"y", "fill:#e3b341"},
	"35": {"m", "fill:#d2a8ff"},
	"36": {"c", "fill:#56d4dd"},
}

// write writes text to the terminal, as a process does. Lines longer than the terminal are
// continued in the next row.
func (s *terminalScreen) write(text string) error {
	if s.rows == nil {
		s.rows = [][]cell{nil}
	}
	for text != "" {
		if rest, ok := strings.CutPrefix(text, "\x1b["); ok {
			end := strings.IndexFunc(rest, func(r rune) bool { return r >= '@' })
			if end < 0 {
				return fmt.Errorf("unfinished escape sequence %q", text)
			}
			if err := s.control(rest[:end], rest[end]); err != nil {
				return err
			}
			text = rest[end+1:]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		s.put(r)
		text = text[size:]
	}
	return nil
}

// control executes an escape sequence.
func (s *terminalScreen) control(parameters string, command byte) error {
	switch command {
	case 'K': // to the end of the line
		row := &s.rows[len(s.rows)-1]
		*row = (*row)[:min(s.column, len(*row))]
		return nil
	case 'm':
		for p := range strings.SplitSeq(parameters, ";") {
			class, ok := terminalClasses[p]
			switch {
			case p == "0" || p == "":
				s.classes = ""
			case ok:
				s.classes = strings.TrimSpace(s.classes + " " + class.name)
			default:
				return fmt.Errorf("unknown color %q", p)
			}
		}
		return nil
	}
	return fmt.Errorf("unknown escape sequence %q%c", parameters, command)
}

// put writes a character or a line break.
func (s *terminalScreen) put(r rune) {
	switch r {
	case '\n':
		s.rows, s.column = append(s.rows, nil), 0
		return
	case '\r':
		s.column = 0
		return
	}
	if s.column == s.columns {
		s.put('\n')
	}
	row := &s.rows[len(s.rows)-1]
	for len(*row) <= s.column {
		*row = append(*row, cell{' ', ""})
	}
	(*row)[s.column] = cell{r, s.classes}
	s.column++
}

// svg returns an image of the screen. Each run of characters is a text element with a fixed length,
// so that columns are aligned in every font.
func (s *terminalScreen) svg(title string) []byte {
	const width, height, border = 8, 18, 14 // of a character, and around the text
	rows := s.rows
	for len(rows) > 0 && len(rows[len(rows)-1]) == 0 {
		rows = rows[:len(rows)-1]
	}
	var b bytes.Buffer
	w, h := s.columns*width+2*border, len(rows)*height+2*border
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`, w, h, w, h)
	fmt.Fprintf(&b, "\n<title>%s</title>\n<style>text{font:13px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#e1e4e8}", escapeXML(title))
	for _, p := range slices.Sorted(maps.Keys(terminalClasses)) {
		fmt.Fprintf(&b, " .%s{%s}", terminalClasses[p].name, terminalClasses[p].style)
	}
	fmt.Fprintf(&b, "</style>\n<rect width=\"%d\" height=\"%d\" rx=\"6\" fill=\"#1b1f23\"/>\n", w, h)
	for y, row := range rows {
		for x := 0; x < len(row); {
			text := firstRun(row[x:])
			if text != " " {
				length := utf8.RuneCountInString(text) * width
				fmt.Fprintf(&b, `<text x="%d" y="%d" textLength="%d"`, border+x*width, border+y*height+13, length)
				if row[x].classes != "" {
					fmt.Fprintf(&b, ` class="%s"`, row[x].classes)
				}
				fmt.Fprintf(&b, ">%s</text>\n", escapeXML(text))
			}
			x += utf8.RuneCountInString(text)
		}
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// firstRun returns the first characters of a row that have the same color, up to a space at the end
// or before a space. SVG would merge such spaces.
func firstRun(row []cell) string {
	end := 1
	for row[0].char != ' ' && end < len(row) && row[end].classes == row[0].classes {
		if row[end].char == ' ' && (end+1 == len(row) || row[end+1].char == ' ' || row[end+1].classes != row[0].classes) {
			break
		}
		end++
	}
	text := ""
	for _, c := range row[:end] {
		text += string(c.char)
	}
	return text
}

func escapeXML(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder does not fail
	return b.String()
}
