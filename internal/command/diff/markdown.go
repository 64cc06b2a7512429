package diff

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/command/diff/findings"
	"github.com/krmflow/krmflow/krm/diff"
)

// WriteMarkdown writes the form for the comment on a pull request, with a foldable block for
// each root and resource. The output is at most max bytes. If it would be longer, equal changes
// are summarised over all roots: see [summary].
func (r *Result) WriteMarkdown(w io.Writer, max int) error {
	m := &markdown{max: max}
	m.head(r)
	if m.body(r); m.unnamed {
		m = &markdown{max: max}
		m.head(r)
		m.summary(r)
	}
	_, err := io.WriteString(w, m.String())
	return err
}

// markdown is a text of limited size.
type markdown struct {
	strings.Builder
	max       int
	failed    string // text about roots that could not be compared
	resources int    // number of resources whose changes are omitted
	roots     int    // number of roots with omitted changes
	unnamed   bool   // a resource could not even be named
}

// reserve is the number of bytes kept free for the note about omitted changes.
const reserve = 300

func (m *markdown) head(r *Result) {
	against := code(safe(r.Against))
	if r.Commit != "" {
		against += " (" + r.Commit[:min(12, len(r.Commit))] + ")"
	}
	fmt.Fprintf(m, "**%s**, compared with %s\n", html.EscapeString(r.total()), against)
	m.dangers(r.dangers())
}

// dangers writes the findings of levels error and warning, outside of all blocks. They take at most
// a third of the space.
func (m *markdown) dangers(s *findings.Summary) {
	worst := s.Worst()
	end := m.Len() + (m.max-m.Len())/3
	for i, e := range worst {
		var b strings.Builder
		fmt.Fprintf(&b, "\n- **%s**, %s", e.Where(code), escape(cut(e.Title(), maxShown)))
		if at := e.At(); at != "" {
			b.WriteString(" " + code(at))
		}
		for _, line := range e.Advice(nil) {
			b.WriteString("\n  - " + escape(cut(line, maxShown)))
		}
		if m.Len()+b.Len() > end {
			fmt.Fprintf(m, "\n- and %s", diag.Count(len(worst)-i, "more finding"))
			break
		}
		m.WriteString(b.String())
	}
	if len(worst) > 0 {
		m.WriteByte('\n')
	}
}

// notCompared returns the names of the failed roots, or only their number if the names would
// take most of the space.
func (m *markdown) notCompared(r *Result) string {
	if len(r.Failed) == 0 {
		return ""
	}
	var names []string
	for _, name := range r.Failed {
		names = append(names, code(safe(diag.Redact(name))))
	}
	text := "\nNot compared: " + diag.Some(names) + "\n"
	if len(text) > (m.max-m.Len()-reserve)/2 {
		text = "\nNot compared: " + diag.Count(len(names), "root") + "\n"
	}
	return text
}

// body writes the roots and the note about omitted changes. It stops at the first resource that
// cannot be named.
func (m *markdown) body(r *Result) {
	m.failed = m.notCompared(r)
	groups := r.groups(Style{})
	common := movesText(r.commonMoves(groups))
	if m.unnamed = !m.fits(common); m.unnamed {
		return
	}
	m.WriteString(common)
	for _, g := range groups {
		if m.group(g); m.unnamed {
			return
		}
	}
	m.WriteString(m.failed)
	if m.resources > 0 {
		const note = "\n_Left out, to stay below %d bytes: the changes of %s of %s. `krmflow diff` shows all._\n"
		fmt.Fprintf(m, note, m.max, diag.Count(m.resources, "resource"), diag.Count(m.roots, "root"))
	}
}

// fits reports whether text fits, together with the text that must follow.
func (m *markdown) fits(text string) bool { return m.Len()+len(text)+len(m.failed)+reserve <= m.max }

// group writes a block for a group of roots. A resource whose changes do not fit is listed by
// name only.
func (m *markdown) group(g *group) {
	const foot = "\n</details>\n"
	root := g.roots[0]
	begin := fmt.Sprintf("\n<details><summary><b>%s</b>%s: %s</summary>\n", inSummary(g.name()), g.what(), g.counts())
	begin += movesText(g.moves)
	if m.unnamed = !m.fits(begin + foot); m.unnamed {
		return
	}
	m.WriteString(begin)
	left := 0
	for _, i := range root.shown() {
		block := resourceBlock(&root.Changes.Resources[i], root.causesOf(i), root.findingsOf(i))
		if !m.fits(block + foot) {
			left++
			if block = tooLarge(&root.Changes.Resources[i], len(block)); !m.fits(block + foot) {
				m.unnamed = true
				return
			}
		}
		m.WriteString(block)
	}
	if left > 0 {
		m.resources += left * len(g.roots)
		m.roots += len(g.roots)
	}
	m.WriteString(foot)
}

// movesText returns moves as a list.
func movesText(m moves) string {
	var b strings.Builder
	for _, x := range m.list {
		at := ""
		if x.cause.File != "" {
			at = " " + code("# "+safe(x.cause.String()))
		}
		fmt.Fprintf(&b, "\n- %s%s", escape(x.String()), at)
	}
	if line := m.follow(); line != "" {
		fmt.Fprintf(&b, "\n- %s", line)
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

// escape returns text for a line of Markdown, in which no character has a meaning.
func escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < 0x80 && strings.ContainsRune("\\`*_[]#|~<>&", r):
			fmt.Fprintf(&b, "&#%d;", r)
		case r == '@': // would notify a user
			b.WriteString("&#64;")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// inSummary returns text for the summary of a block, which is HTML, not Markdown.
func inSummary(text string) string {
	return strings.ReplaceAll(html.EscapeString(text), "@", "&#64;") // a plain @ would notify a user
}

// tooLarge returns the placeholder for a resource block that is too large.
func tooLarge(r *diff.Resource, size int) string {
	const form = "\n<details><summary>%s</summary>\n\n_Left out: its changes take %d bytes, for which there is no place._\n\n</details>\n"
	return fmt.Sprintf(form, inSummary(headline(r)), size)
}

// resourceBlock returns the block of one resource.
func resourceBlock(r *diff.Resource, causes []diag.Pos, found []findings.Finding) string {
	return fmt.Sprintf("\n<details><summary>%s</summary>\n\n%s\n</details>\n", inSummary(headline(r)), fenced(r, causes, found))
}

// fenced returns the changes of a resource as a code block.
func fenced(r *diff.Resource, causes []diag.Pos, found []findings.Finding) string {
	t := &marks{}
	edits, follow := own(r, causes)
	switch r.What {
	case diff.Added:
		t.object('+', document(r.After))
	case diff.Removed:
		t.object('-', document(r.Before))
	}
	for _, e := range edits {
		t.edit("", e)
	}
	for _, line := range follow {
		t.line(' ', line)
	}
	for k := range found {
		t.line('!', strings.TrimSpace(cut(found[k].Title(), maxLine)+"  "+found[k].At()))
	}
	fence := fenceFor(t.String())
	return fence + "diff\n" + t.String() + fence + "\n"
}

// marks collects diff lines, whose first character is the type of change.
type marks struct{ strings.Builder }

func (t *marks) line(mark byte, text string) { fmt.Fprintf(t, "%c %s\n", mark, text) }

func (t *marks) object(mark byte, text string) {
	for line := range strings.Lines(text) {
		t.line(mark, oneLine(strings.TrimSuffix(line, "\n")))
	}
}

func (t *marks) edit(in string, e shownEdit) {
	path := in + safe(e.Path.String())
	at := ""
	if e.cause.File != "" {
		at = "  # " + safe(e.cause.String())
	}
	old, now := values(e.Edit)
	switch {
	case len(e.Inside) > 0:
		for k := range e.Inside {
			t.edit(path+" > ", shownEdit{Edit: &e.Inside[k], cause: e.cause})
		}
	case len(e.Lines) > 0:
		t.line('@', path+at)
		for _, line := range e.Lines {
			t.line(line.Op, oneLine(line.Text))
		}
	case e.Op == diff.Move:
		s := e.Path[len(e.Path)-1]
		t.line('!', fmt.Sprintf("%s: moved from place %d to %d%s", path, s.From, s.To, at))
	case e.Op == diff.Add:
		t.line('+', path+": "+now+at)
	case e.Op == diff.Remove:
		t.line('-', path+": "+old+at)
	default:
		t.line('-', path+": "+old)
		t.line('+', path+": "+now+at)
	}
}

// fenceFor returns a fence longer than any run of backticks in text.
func fenceFor(text string) string { return strings.Repeat("`", max(3, longest(text)+1)) }

// code returns text as inline code.
func code(text string) string {
	n := longest(text)
	if n > 0 {
		text = " " + text + " "
	}
	fence := strings.Repeat("`", n+1)
	return fence + text + fence
}

// longest returns the length of the longest run of backticks in text.
func longest(text string) (n int) {
	run := 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		n = max(n, run)
	}
	return n
}
