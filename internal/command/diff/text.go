package diff

import (
	"fmt"
	"io"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/terminal"
	"github.com/krmflow/krmflow/internal/command/diff/findings"
	"github.com/krmflow/krmflow/krm/diff"
)

// Style is the style of the text form.
type Style struct {
	// Color enables colors.
	Color terminal.Palette
	// Stat omits the changes within resources.
	Stat bool
}

// WriteText writes the form for people at a terminal.
func (r *Result) WriteText(w io.Writer, style Style) error {
	var b strings.Builder
	groups := r.groups(style)
	for _, g := range groups {
		t := &text{style: style}
		t.moves("  ", g.moves)
		fmt.Fprintf(&b, "%s%s: %s\n%s%s\n", style.Color.Paint(terminal.Bold, g.name()), g.what(), g.counts(), t, g.body)
	}
	t := &text{style: style}
	t.moves("", r.commonMoves(groups))
	b.WriteString(t.String())
	fmt.Fprintln(&b, r.total())
	_, err := io.WriteString(w, b.String())
	return err
}

// text is the output for one root, without moves.
type text struct {
	strings.Builder
	style Style
}

func (t *text) root(root *Root) {
	c := root.Changes
	for _, i := range root.shown() {
		t.resource(&c.Resources[i], root.causesOf(i), root.findingsOf(i))
	}
	if len(c.Reordered) > 0 && !root.onlyMoved() && !t.style.Stat {
		t.line("  ", terminal.Dim, "%s in another order", diag.Count(len(c.Reordered), "resource"))
	}
}

// moves writes one line for each move, and one for the fields that follow.
func (t *text) moves(indent string, m moves) {
	for _, x := range m.list {
		t.line(indent, "", "%s%s", t.style.Color.Paint(terminal.Magenta, "> "+x.String()), t.at(x.cause))
	}
	if line := m.follow(); line != "" && !t.style.Stat {
		t.line(indent+"    ", terminal.Dim, "%s", line)
	}
}

// line writes a line. Its content must be safe for a terminal.
func (t *text) line(indent string, color terminal.Color, format string, args ...any) {
	t.WriteString(indent)
	line := fmt.Sprintf(format, args...)
	if color != "" {
		line = t.style.Color.Paint(color, line)
	}
	t.WriteString(line + "\n")
}

func (t *text) resource(r *diff.Resource, causes []diag.Pos, found []findings.Finding) {
	color := map[diff.What]terminal.Color{diff.Added: terminal.Green, diff.Removed: terminal.Red, diff.Changed: terminal.Cyan,
		diff.Relocated: terminal.Magenta}[r.What]
	at := ""
	switch {
	case r.What == diff.Added:
		at = t.at(r.New.Pos)
	case r.What == diff.Removed:
		at = t.at(r.Old.Pos)
	}
	edits, follow := own(r, causes)
	if t.style.Stat {
		if n := len(edits) + len(follow); n > 0 {
			at = t.style.Color.Paint(terminal.Dim, "  "+diag.Count(n, "change"))
		}
		t.line("  ", "", "%s%s", t.style.Color.Paint(color, headline(r)), at)
		return
	}
	t.line("  ", "", "%s%s", t.style.Color.Paint(color, headline(r)), at)
	for _, e := range edits {
		t.edit("      ", e)
	}
	for _, line := range follow {
		t.line("      ", terminal.Dim, "%s", line)
	}
	var before *findings.Finding
	for k := range found {
		t.finding("      ", &found[k], before)
		before = &found[k]
	}
}

// finding writes a finding, and its hints unless the finding before has the same.
func (t *text) finding(indent string, f, before *findings.Finding) {
	color := map[diag.Level]terminal.Color{diag.LevelError: terminal.BoldRed, diag.LevelWarning: terminal.BoldYellow}[f.Level]
	at := ""
	if f.Cause.File != "" {
		at = t.style.Color.Paint(terminal.Dim, "  "+f.At())
	}
	t.line(indent, "", "%s%s", t.style.Color.Paint(color, f.Title()), at)
	for _, line := range f.Advice(before) {
		t.line(indent+"  ", terminal.Dim, "%s", line)
	}
}

// at returns a position as a trailing comment.
func (t *text) at(pos diag.Pos) string {
	if pos.File == "" {
		return ""
	}
	return t.style.Color.Paint(terminal.Dim, "  # "+safe(pos.String()))
}

func (t *text) edit(indent string, e shownEdit) {
	path, at := safe(e.Path.String()), t.at(e.cause)
	if path == "" {
		path = "all of it"
	}
	old, now := values(e.Edit)
	switch {
	case len(e.Inside) > 0:
		t.line(indent, "", "%s: in the %s%s", path, strings.ToUpper(e.Format), at)
		for k := range e.Inside {
			t.edit(indent+"  ", shownEdit{Edit: &e.Inside[k]})
		}
	case len(e.Lines) > 0:
		t.line(indent, "", "%s:%s", path, at)
		t.lines(indent+"  ", e.Lines)
	case e.Op == diff.Add:
		t.line(indent, "", "%s%s", t.style.Color.Paint(terminal.Green, "+ "+path+": "+now), at)
	case e.Op == diff.Remove:
		t.line(indent, "", "%s%s", t.style.Color.Paint(terminal.Red, "- "+path+": "+old), at)
	case e.Op == diff.Move:
		s := e.Path[len(e.Path)-1]
		t.line(indent, "", "%s: moved from place %d to %d%s", path, s.From, s.To, at)
	default:
		t.line(indent, "", "%s: %s -> %s%s", path, t.style.Color.Paint(terminal.Red, old), t.style.Color.Paint(terminal.Green, now), at)
	}
}

func (t *text) lines(indent string, lines []diff.Line) {
	for _, line := range lines {
		if line.Old > 0 {
			t.line(indent, terminal.Dim, "@@ line %d -> %d", line.Old, line.New)
		}
		color := map[byte]terminal.Color{'-': terminal.Red, '+': terminal.Green}[line.Op]
		t.line(indent, color, "%c%s", line.Op, oneLine(line.Text))
	}
}
