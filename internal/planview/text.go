package planview

import (
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/layers"
)

// Style says how a plan looks.
type Style struct {
	// Width is that of the terminal, 0 if the text is not for one. Lines are not cut without one.
	Width int
	// Color marks what counts by colour.
	Color bool
	// EachRoot writes a block for each root, however many there are, with all of its layers.
	EachRoot bool
	// LeftOut is how many roots were found and are not planned.
	LeftOut int
}

// blocks is how many roots have a block each. Of more there is a table.
const blocks = 3

// A Text is a plan for people: what each root is made of and yields, or a table of many, then functions and totals. No line depends on how
// long anything took: the same tree gives the same text.
type Text struct {
	b     strings.Builder
	p     *planner.Plan
	made  *Preview
	style Style
	roots []*root
}

// NewText returns the text of a plan. made is nil if nothing has run.
func NewText(p *planner.Plan, made *Preview, style Style) *Text {
	return &Text{p: p, made: made, style: style, roots: rootsOf(p, made)}
}

// WriteRoots writes what is to say of the roots.
func (t *Text) WriteRoots(w io.Writer) error {
	if t.style.EachRoot || len(t.roots) <= blocks {
		for _, r := range t.roots {
			t.block(r)
		}
	} else {
		t.table()
		t.functions()
	}
	return t.flush(w)
}

// WriteTotals writes what all roots come to. Its last line says how many of them can be rendered, and what keeps the others.
func (t *Text) WriteTotals(w io.Writer) error {
	t.totals()
	t.result()
	return t.flush(w)
}

func (t *Text) flush(w io.Writer) error {
	_, err := io.WriteString(w, t.b.String())
	t.b.Reset()
	return err
}

const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
	faint  = "2"
)

// clean returns text of others as it may be shown on a line of a terminal. All that is not krmflow's own goes through it.
func clean(s string) string { return diag.Sanitise(diag.OneLine(s)) }

// paint returns s in a colour.
func (t *Text) paint(color, s string) string {
	if !t.style.Color || s == "" {
		return s
	}
	return "\x1b[" + color + "m" + s + "\x1b[0m"
}

// block writes what is known of one root.
func (t *Text) block(r *root) {
	fmt.Fprintln(&t.b, t.paint(bold, clean(r.dir)))
	t.field("layers", t.layerLines(r)...)
	t.resources(r)
	t.wrapped("changes", counts(r.changes))
	t.wrapped("generates", counts(r.makes))
	var functions, charts []string
	for _, u := range uses(t.p, []*root{r}) {
		if u.chart {
			charts = append(charts, u.line(t))
		} else {
			functions = append(functions, u.line(t))
		}
	}
	t.field("functions", functions...)
	t.field("charts", charts...)
	if r.warnings > 0 {
		t.field("warnings", t.paint(yellow, fmt.Sprint(r.warnings)))
	}
	if r.out != nil && r.out.Changes != nil {
		t.field("folder", r.out.Changes.String())
	}
	t.b.WriteByte('\n')
}

// resources says what a root yields, or why that is not known.
func (t *Text) resources(r *root) {
	switch {
	case len(r.failed) > 0:
		t.field("resources", t.paint(red, "unknown because of "+diag.Plural(len(r.failed), "mistake")))
	case r.out != nil:
		n := r.out.resources()
		if n == 0 {
			t.field("resources", "none")
			return
		}
		t.wrapped("resources", fmt.Sprintf("%d: %s", n, counts(r.out.Kinds)))
	case t.made != nil:
		t.field("resources", "unknown until "+waitsFor(r))
	}
}

// waitsFor says what must run before the output of a root is known.
func waitsFor(r *root) string {
	var list []string
	charts := r.charts()
	if n := len(r.calls) - charts; n > 0 {
		list = append(list, diag.Plural(n, "function"))
	}
	if charts > 0 {
		list = append(list, diag.Plural(charts, "chart"))
	}
	has := " has run"
	if len(r.calls) > 1 {
		has = " have run"
	}
	return strings.Join(list, " and ") + has
}

// indent is where the values of a block start.
const indent = 13

// field writes a field of a block; one without values is left out.
func (t *Text) field(name string, values ...string) {
	for i, value := range values {
		if i > 0 {
			name = ""
		}
		fmt.Fprintf(&t.b, "  %s%s%s\n", t.paint(faint, name), pad(indent-2-len(name)), value)
	}
}

// wrapped writes a field whose value is a list that may need several lines.
func (t *Text) wrapped(name, value string) {
	if value != "" {
		t.field(name, wrap(value, t.width()-indent)...)
	}
}

// width is how long a line may be.
func (t *Text) width() int {
	if t.style.Width > 0 {
		return max(40, t.style.Width)
	}
	return 120
}

// wrap breaks a list between its items into lines of at most width characters, if it can.
func wrap(list string, width int) (lines []string) {
	line := ""
	for i, item := range strings.SplitAfter(list, ", ") {
		if i > 0 && runes(line)+runes(strings.TrimSuffix(item, " ")) > width {
			lines = append(lines, strings.TrimSuffix(line, " "))
			line = ""
		}
		line += item
	}
	return append(lines, line)
}

func runes(s string) int { return utf8.RuneCountInString(s) }

// times returns a number of things, which may be called by others: "patches ×6".
func times(thing string, n int) string {
	if n == 1 {
		return clean(thing)
	}
	return fmt.Sprintf("%s ×%d", clean(thing), n)
}

// maxLayerLines is how many layers of a root are shown if nobody asks for all.
const maxLayerLines = 12

// layerLines returns the layers of a root as a tree of who uses whom: each once, with the number of files that it reads itself.
func (t *Text) layerLines(r *root) (lines []string) {
	byFile := map[string]*layers.Layer{}
	for _, l := range r.layers {
		byFile[l.File] = l
	}
	seen, more := map[string]bool{}, 0
	var visit func(file string, depth int)
	visit = func(file string, depth int) {
		l := byFile[file]
		if l == nil || seen[file] {
			return
		}
		seen[file] = true
		if len(lines) < maxLayerLines || t.style.EachRoot {
			lines = append(lines, t.layerLine(l, depth))
		} else {
			more++
		}
		for _, u := range l.Uses {
			visit(u.Layer, depth+1)
		}
	}
	visit(r.file, 0)
	if more > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more, with --detail=roots", more))
	}
	return lines
}

func (t *Text) layerLine(l *layers.Layer, depth int) string {
	name, about := clean(path.Dir(l.File)), "  "+diag.Plural(len(l.Files), "file")
	if l.Kind != "Kustomization" {
		about += ", " + l.Kind
	}
	if t.style.Width > 0 {
		name = cutMiddle(name, max(20, t.width()-indent-2*depth-runes(about)))
	}
	return strings.Repeat("  ", depth) + name + about
}
