package planview

import (
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/terminal"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/layers"
)

// Style selects the appearance of a plan's text.
type Style struct {
	// Width is the width of the terminal in columns. If it is 0, the text is not for a terminal
	// and lines are not shortened.
	Width int
	// Color highlights important parts in color.
	Color terminal.Palette
	// EachRoot writes a block with all layers for each root, regardless of the number of roots.
	EachRoot bool
	// LeftOut is the number of roots that were found but not planned.
	LeftOut int
	// Kinds are the kinds of roots if some are not directories.
	Kinds string
}

// blocks is the maximum number of roots shown as blocks. More roots are shown as a table.
const blocks = 3

// A Text is the text form of a plan: the layers and resources of each root, or a table for many
// roots, then functions and totals. It contains no durations, so it is deterministic.
type Text struct {
	b     strings.Builder
	p     *planner.Plan
	made  *Preview
	style Style
	roots []*root
	files map[string]bool // all files of the roots, by name
	wrong map[string]bool // see HasMistakes
}

// NewText returns the text of a plan. made is nil if nothing has run.
func NewText(p *planner.Plan, made *Preview, style Style) *Text {
	t := &Text{p: p, made: made, style: style, roots: rootsOf(p, made), files: map[string]bool{}}
	for _, src := range p.Files() {
		t.files[src.File] = true
	}
	return t
}

// WriteRoots writes the blocks or the table of the roots.
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

// WriteTotals writes the totals of all roots. The last line reports how many roots can be
// rendered and why others cannot.
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

// clean makes foreign text safe for one line of a terminal. All text that does not originate in
// krmflow must pass through it.
func clean(s string) string { return diag.Sanitise(diag.OneLine(s)) }

// paint returns s in a color, or unchanged if colors are off.
func (t *Text) paint(c terminal.Color, s string) string { return t.style.Color.Paint(c, s) }

// block writes the block of one root.
func (t *Text) block(r *root) {
	fmt.Fprintln(&t.b, t.paint(terminal.Bold, clean(r.dir)))
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
		t.field("warnings", t.paint(terminal.Yellow, fmt.Sprint(r.warnings)))
	}
	if r.out != nil && r.out.Changes != nil {
		t.field("folder", r.out.Changes.String())
	}
	t.b.WriteByte('\n')
}

// resources writes the resources of a root, or the reason they are unknown.
func (t *Text) resources(r *root) {
	switch {
	case len(r.failed) > 0:
		t.field("resources", t.paint(terminal.Red, "unknown because of "+diag.Plural(len(r.failed), "mistake")))
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

// waitsFor describes the calls that must run before the output of a root is known.
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

// indent is the column of the values in a block.
const indent = 13

// field writes a field of a block, one line per value. It writes nothing if there are no values.
func (t *Text) field(name string, values ...string) {
	for i, value := range values {
		if i > 0 {
			name = ""
		}
		fmt.Fprintf(&t.b, "  %s%s%s\n", t.paint(terminal.Dim, name), pad(indent-2-len(name)), value)
	}
}

// wrapped writes a field whose value is a comma-separated list, over several lines if necessary.
func (t *Text) wrapped(name, value string) {
	if value != "" {
		t.field(name, wrap(value, t.width()-indent)...)
	}
}

// width returns the maximum length of a line.
func (t *Text) width() int {
	if t.style.Width > 0 {
		return max(40, t.style.Width)
	}
	return 120
}

// wrap breaks a list after commas into lines of at most width characters. An item longer than
// width gets a longer line.
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

// times returns the sanitized name of an item and its number, as in "patches ×6".
func times(thing string, n int) string {
	if n == 1 {
		return clean(thing)
	}
	return fmt.Sprintf("%s ×%d", clean(thing), n)
}

// maxLayerLines is the maximum number of layers shown for a root unless [Style.EachRoot] is set.
const maxLayerLines = 12

// layerLines returns the layers of a root as a tree of references. Each layer appears once, with
// the number of files it reads itself.
func (t *Text) layerLines(r *root) (lines []string) {
	byFile := map[string]*layers.Layer{}
	for _, l := range r.layers {
		byFile[l.File] = l
	}
	var list []layerLine
	seen, more := map[string]bool{}, 0
	var visit func(file string, depth int)
	visit = func(file string, depth int) {
		l := byFile[file]
		if l == nil || seen[file] {
			return
		}
		seen[file] = true
		if len(list) < maxLayerLines || t.style.EachRoot {
			list = append(list, lineOf(l, depth))
		} else {
			more++
		}
		for _, u := range l.Uses {
			visit(u.Layer, depth+1)
		}
	}
	visit(r.file, 0)
	if t.style.Width > 0 {
		shortenLayers(list, t.width()-indent)
	}
	for _, l := range list {
		lines = append(lines, l.indent+l.name+l.about)
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more, with --detail=roots", more))
	}
	return lines
}

// A layerLine is the line of a layer in the tree of a root.
type layerLine struct{ indent, name, about string }

func lineOf(l *layers.Layer, depth int) layerLine {
	about := "  " + diag.Plural(len(l.Files), "file")
	if l.Kind != "Kustomization" {
		about += ", " + l.Kind
	}
	return layerLine{strings.Repeat("  ", depth), clean(path.Dir(l.File)), about}
}

// shortenLayers shortens the names of the lines that are longer than width.
func shortenLayers(list []layerLine, width int) {
	var long []int
	var names []string
	room := width
	for i, l := range list {
		if here := max(20, width-runes(l.indent+l.about)); runes(l.name) > here {
			long, names, room = append(long, i), append(names, l.name), min(room, here)
		}
	}
	for k, name := range terminal.Shorten(names, room) {
		list[long[k]].name = name
	}
}
