package diff

import (
	_ "embed"
	"io"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/command/diff/findings"
	"github.com/krmflow/krmflow/internal/planview/page"
	"github.com/krmflow/krmflow/krm/diff"
)

// HTMLBegins is the beginning of every HTML difference.
const HTMLBegins = "<!doctype html>\n<!-- krmflow diff -->\n"

//go:embed html.css
var htmlStyle string

//go:embed html.js
var htmlScript string

// opened is the maximum number of resources up to which all of them start unfolded.
const opened = 20

// A diffPage is a page under construction.
type diffPage struct {
	page.Page
	open bool // resources start unfolded
}

// WriteHTML writes a self-contained page with a table of the roots, and foldable resources. Search,
// filters and keys need scripts; the rest does not.
func (r *Result) WriteHTML(w io.Writer) error {
	p := &diffPage{}
	resources := 0
	groups := r.groups(Style{})
	for _, g := range groups {
		resources += len(g.roots[0].shown())
	}
	p.open = resources <= opened
	head := page.Head{Begins: HTMLBegins, Title: "krmflow diff: " + page.Name(r.total()), Style: htmlStyle, Script: htmlScript}
	p.Begin(head)
	p.head(r, groups)
	many := ""
	if !p.open {
		many = " class=\"many\""
	}
	p.F("<main%s>\n", page.Raw(many))
	p.dangers(r.dangers())
	p.table(r, groups)
	for i, g := range groups {
		p.group(i, g)
	}
	if len(r.Failed) > 0 {
		p.F("<section id=\"failed\"><h2>Not compared</h2><ul>\n")
		for _, name := range r.Failed {
			p.F("<li>%s</li>\n", page.Breakable(page.Name(diag.Redact(name))))
		}
		p.F("</ul></section>\n")
	}
	p.F("</main>\n")
	p.End(head)
	_, err := io.WriteString(w, p.String())
	return err
}

// head writes the title, the moves of all roots, and the controls.
func (p *diffPage) head(r *Result, groups []*group) {
	against := safe(r.Against)
	if r.Commit != "" {
		against += " (" + r.Commit[:min(12, len(r.Commit))] + ")"
	}
	p.F("<header><h1>%s</h1>\n<p>compared with <code>%s</code></p>\n", page.Text(r.total()), page.Breakable(against))
	for _, m := range r.commonMoves(groups).list {
		p.F("<p class=\"all\"><b class=\"moved\">&gt; %s</b></p>\n", m.String())
	}
	p.F(`<div id="tools"><input id="search" type="search" placeholder="search: names, fields, values, files" aria-label="search names, fields, values and files" autocomplete="off" spellcheck="false">
<fieldset><legend>show</legend>`)
	for _, what := range []diff.What{diff.Added, diff.Removed, diff.Changed, diff.Relocated} {
		p.F(`<label><input type="checkbox" value="%s" checked> %s</label>`, string(what), string(what))
	}
	p.F(`</fieldset>
<button type="button" id="unfold">unfold all</button><button type="button" id="fold">fold all</button><span id="shown" role="status"></span>
<details id="keys"><summary>keyboard shortcuts</summary><dl>`)
	for _, k := range []struct{ keys, does string }{
		{"/", "search"}, {"Esc", "clear the search"}, {"↓ ↑", "next and previous resource"}, {"→ ←", "unfold and fold it"},
		{"n p", "next and previous root"}, {"u f", "unfold and fold all"}, {"t", "table of roots"}, {"?", "this list"},
	} {
		p.F("<div><dt>")
		for key := range strings.FieldsSeq(k.keys) {
			p.F("<kbd>%s</kbd>", key)
		}
		p.F("</dt><dd>%s</dd></div>", k.does)
	}
	p.F("</dl></details></div></header>\n")
}

// dangers writes the findings of levels error and warning of all roots.
func (p *diffPage) dangers(s *findings.Summary) {
	worst := s.Worst()
	if len(worst) == 0 {
		return
	}
	p.F("<section id=\"findings\"><h2>Findings</h2>\n")
	for _, e := range worst {
		p.finding(&e.Finding, e.Where(func(name string) string { return name }))
	}
	p.F("</section>\n")
}

// finding writes a finding, preceded by its resource unless where is empty.
func (p *diffPage) finding(f *findings.Finding, where string) {
	if where != "" {
		where += ": "
	}
	p.F("<p class=\"finding %s\">%s<b>%s</b>", f.Level.String(), page.Breakable(where), page.Breakable(f.Title()))
	if f.Cause.File != "" {
		p.F(" <code>%s</code>", page.Breakable(f.At()))
	}
	for _, line := range f.Advice(nil) {
		p.F("<br><span class=\"soft\">%s</span>", page.Breakable(line))
	}
	p.F("</p>\n")
}

// table writes a table with a row for each root that differs, if there are several. Its buttons
// lead to the groups.
func (p *diffPage) table(r *Result, groups []*group) {
	if len(r.Roots) < 2 {
		return
	}
	group := map[*Root]int{}
	for i, g := range groups {
		for _, root := range g.roots {
			group[root] = i
		}
	}
	all := r.counts().kinds()
	p.F(
		"<section id=\"table\" tabindex=\"-1\"><h2>Roots</h2><div class=\"scroll\"><table class=\"roots\"><thead><tr><th class=\"name\">root</th>")
	for _, c := range all {
		if c.n > 0 {
			p.F("<th>%s</th>", c.what)
		}
	}
	p.F("</tr></thead><tbody>\n")
	for i := range r.Roots {
		root := &r.Roots[i]
		g := groups[group[root]]
		p.F("<tr data-group=\"%d\"><td><button type=\"button\" class=\"go\">%s</button>%s", group[root],
			page.Breakable(page.Name(rootName(root.Name))), g.what())
		if g.roots[0] != root {
			p.F(" <span class=\"soft\">like %s</span>", page.Breakable(page.Name(rootName(g.roots[0].Name))))
		}
		p.F("</td>")
		var n Counts
		n.add(root.Changes)
		for k, c := range n.kinds() {
			switch {
			case all[k].n == 0:
			case c.n == 0:
				p.F("<td></td>")
			default:
				p.F("<td><b class=\"%s\">%d</b></td>", c.what, c.n)
			}
		}
		p.F("</tr>\n")
	}
	p.F("</tbody></table></div>\n")
	if r.Same > 0 {
		p.F("<p>%s without a difference</p>\n", diag.Count(r.Same, "root"))
	}
	p.F("</section>\n")
}

// group writes a group of roots with the same differences.
func (p *diffPage) group(i int, g *group) {
	p.F("<section class=\"root\" id=\"root%d\" tabindex=\"-1\"><h2>%s%s <span class=\"soft\">%s</span></h2>\n",
		i, page.Breakable(page.Name(g.name())), g.what(), g.counts().String())
	if len(g.roots) > 1 {
		p.F("<details class=\"alike\"><summary>%s alike</summary><ul>\n", diag.Count(len(g.roots), "root"))
		for _, root := range g.roots {
			p.F("<li>%s</li>\n", page.Breakable(page.Name(rootName(root.Name))))
		}
		p.F("</ul></details>\n")
	}
	p.moves(g)
	root := g.roots[0]
	for _, i := range root.shown() {
		p.resource(&root.Changes.Resources[i], root.causesOf(i), root.findingsOf(i))
	}
	if n := len(root.Changes.Reordered); n > 0 && !root.onlyMoved() {
		p.F("<p>%s in another order</p>\n", diag.Count(n, "resource"))
	}
	p.F("</section>\n")
}

// moves writes a foldable line for each move, with the names of the resources that have no further
// changes.
func (p *diffPage) moves(g *group) {
	for _, x := range g.moves.list {
		p.F("<details class=\"resource\" data-what=\"moved\" data-n=\"%d\"><summary><b class=\"moved\">&gt; %s</b></summary>\n",
			x.resources-x.further, x.String())
		if x.cause.File != "" {
			p.F("<p>caused by <code>%s</code></p>\n", page.Breakable(safe(x.cause.String())))
		}
		p.F("<ul>\n")
		for _, root := range g.roots {
			for i := range root.Changes.Resources {
				r := &root.Changes.Resources[i]
				if r.What != diff.Relocated || root.Changes.Relocations[r.Relocation] != x.Relocation || r.Remains() {
					continue
				}
				p.F("<li>%s <span class=\"soft\">was %s", page.Breakable(name(r.New.ID)), page.Breakable(where(r.Old.ID)))
				if len(g.roots) > 1 {
					p.F(", in %s", page.Breakable(page.Name(rootName(root.Name))))
				}
				p.F("</span></li>\n")
			}
		}
		p.F("</ul></details>\n")
	}
	if line := g.moves.follow(); line != "" {
		p.F("<p class=\"follow\">%s</p>\n", line)
	}
}

func (p *diffPage) resource(r *diff.Resource, causes []diag.Pos, found []findings.Finding) {
	open := ""
	if p.open {
		open = " open"
	}
	edits, follow := own(r, causes)
	p.F("<details class=\"resource\" data-what=\"%s\"%s><summary><b class=\"%s\">%s</b>", string(r.What), page.Raw(open), string(r.What),
		page.Breakable(headline(r)))
	at := r.New.Pos
	if r.What == diff.Removed {
		at = r.Old.Pos
	}
	if n := len(edits) + len(follow); n > 0 {
		p.F(" <span class=\"soft\">%s</span>", diag.Count(n, "change"))
	}
	p.F("</summary>\n")
	if at.File != "" {
		p.F("<p><code>%s</code></p>\n", page.Breakable(safe(at.String())))
	}
	for k := range found {
		p.finding(&found[k], "")
	}
	switch r.What {
	case diff.Added:
		p.F("<pre class=\"added\">%s</pre>\n", document(r.After))
	case diff.Removed:
		p.F("<pre class=\"removed\">%s</pre>\n", document(r.Before))
	}
	if len(edits) > 0 {
		p.F(
			"<table class=\"edits\"><colgroup><col class=\"path\"><col><col><col class=\"cause\"></colgroup><thead><tr><th class=\"name\">field</th><th class=\"name\">old</th><th class=\"name\">new</th><th class=\"name\">caused by</th></tr></thead><tbody>\n")
		for _, e := range edits {
			p.edit("", e)
		}
		p.F("</tbody></table>\n")
	}
	for _, line := range follow {
		p.F("<p>%s</p>\n", line)
	}
	p.F("</details>\n")
}

// edit writes the table row of an edit, or the rows of the edits inside an embedded document.
func (p *diffPage) edit(in string, e shownEdit) {
	path, cause := in+safe(e.Path.String()), ""
	if path == in {
		path = in + "all of it"
	}
	if e.cause.File != "" {
		cause = safe(e.cause.String())
	}
	if len(e.Inside) > 0 {
		for k := range e.Inside {
			p.edit(path+" › ", shownEdit{Edit: &e.Inside[k], cause: e.cause})
		}
		return
	}
	p.F("<tr><td class=\"path\">%s</td>", page.Breakable(path))
	switch old, now := valuesAs(e.Edit, shown); {
	case len(e.Lines) > 0:
		p.F("<td colspan=\"2\" class=\"both\">")
		p.lines(e.Lines)
		p.F("</td>")
	case e.Op == diff.Move:
		s := e.Path[len(e.Path)-1]
		p.F("<td>place %d</td><td>place %d</td>", s.From, s.To)
	default:
		p.value("removed", old)
		p.value("added", now)
	}
	p.F("<td class=\"cause\"><code>%s</code></td></tr>\n", page.Breakable(cause))
}

// value writes a table cell with a value. Long values are folded.
func (p *diffPage) value(class, text string) {
	switch r := []rune(text); {
	case text == "":
		p.F("<td class=\"none\"></td>")
	case len(r) > maxShown:
		p.F("<td class=\"%s\"><details><summary>%s… <span class=\"soft\">%s</span></summary>%s</details></td>", class, string(r[:80]),
			diag.Size(int64(len(text))), text)
	default:
		p.F("<td class=\"%s\">%s</td>", class, page.Breakable(text))
	}
}

// manyLines is the maximum number of lines shown unfolded.
const manyLines = 60

// lines writes a line diff side by side, with removed lines next to their replacements.
func (p *diffPage) lines(lines []diff.Line) {
	if len(lines) > manyLines {
		p.F("<details><summary>%s</summary>", diag.Count(len(lines), "line"))
		defer p.F("</details>")
	}
	p.F("<table class=\"lines\"><tbody>\n")
	var old, now int          // numbers of the next lines
	var gone, came []numbered // lines waiting for their other side
	flush := func() {
		for i := range max(len(gone), len(came)) {
			p.F("<tr>")
			p.side("removed", gone, i)
			p.side("added", came, i)
			p.F("</tr>\n")
		}
		gone, came = nil, nil
	}
	for k, line := range lines {
		if line.Old > 0 {
			flush()
			if k > 0 {
				p.F("<tr><td colspan=\"4\" class=\"soft\">…</td></tr>\n")
			}
			old, now = line.Old, line.New
		}
		switch line.Op {
		case '-':
			gone, old = append(gone, numbered{old, line.Text}), old+1
		case '+':
			came, now = append(came, numbered{now, line.Text}), now+1
		case ' ':
			flush()
			p.F("<tr class=\"same\">")
			p.side("", []numbered{{old, line.Text}}, 0)
			p.side("", []numbered{{now, line.Text}}, 0)
			p.F("</tr>\n")
			old, now = old+1, now+1
		default: // note that the previous line has no line feed
			flush()
			p.F("<tr><td colspan=\"4\" class=\"soft\">%s</td></tr>\n", line.Text)
		}
	}
	flush()
	p.F("</tbody></table>\n")
}

// numbered is a line with its number.
type numbered struct {
	n    int
	text string
}

// side writes one half of a row: line i, or nothing beyond the last line.
func (p *diffPage) side(class string, lines []numbered, i int) {
	if i >= len(lines) {
		p.F("<td class=\"none\"></td><td class=\"none\"></td>")
		return
	}
	p.F("<td class=\"number\">%d</td><td class=\"%s\">%s</td>", lines[i].n, class, lines[i].text)
}
