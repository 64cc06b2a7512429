package diff

import (
	_ "embed"
	"io"

	"github.com/krmflow/krmflow/diag"
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

// WriteHTML writes a self-contained page with foldable roots and resources. Search and filters
// need scripts; the rest does not.
func (r *Result) WriteHTML(w io.Writer) error {
	p := &diffPage{}
	resources := 0
	groups := r.groups(func(root *Root) string {
		t := &text{}
		t.root(root)
		return t.String()
	})
	for _, g := range groups {
		resources += len(g.roots[0].Changes.Resources)
	}
	p.open = resources <= opened
	head := page.Head{Begins: HTMLBegins, Title: "krmflow diff: " + page.Name(r.total()), Style: htmlStyle, Script: htmlScript}
	p.Begin(head)
	against := safe(r.Against)
	if r.Commit != "" {
		against += " (" + r.Commit[:min(12, len(r.Commit))] + ")"
	}
	p.F("<header><h1>%s</h1>\n<p>compared with <code>%s</code></p>\n", page.Text(r.total()), against)
	p.F(`<div id="tools"><input id="search" type="search" placeholder="search: names, fields, values, files  ( / )" aria-label="search names, fields, values and files" autocomplete="off" spellcheck="false">
<fieldset><legend>show</legend><label><input type="checkbox" value="added" checked> added</label><label><input type="checkbox" value="removed" checked> removed</label><label><input type="checkbox" value="changed" checked> changed</label></fieldset>
<button type="button" id="unfold">unfold all</button><button type="button" id="fold">fold all</button><span id="shown" role="status"></span></div></header>
<main>
`)
	for _, g := range groups {
		p.group(g)
	}
	if len(r.Failed) > 0 {
		p.F("<section><h2>Not compared</h2><ul>\n")
		for _, name := range r.Failed {
			p.F("<li>%s</li>\n", page.Name(diag.Redact(name)))
		}
		p.F("</ul></section>\n")
	}
	p.F("</main>\n")
	p.End(head)
	_, err := io.WriteString(w, p.String())
	return err
}

// group writes a group of roots with the same differences.
func (p *diffPage) group(g *group) {
	p.F("<section class=\"root\"><h2>%s%s <span class=\"soft\">%s</span></h2>\n", page.Name(g.name()), g.what(), g.counts().String())
	if len(g.roots) > 1 {
		p.F("<details><summary>%s alike</summary><ul>\n", diag.Count(len(g.roots), "root"))
		for _, root := range g.roots {
			p.F("<li>%s</li>\n", page.Name(diag.Redact(root.Name)))
		}
		p.F("</ul></details>\n")
	}
	root := g.roots[0]
	for i := range root.Changes.Resources {
		var causes []diag.Pos
		if i < len(root.Causes) {
			causes = root.Causes[i]
		}
		p.resource(&root.Changes.Resources[i], causes)
	}
	if n := len(root.Changes.Reordered); n > 0 {
		p.F("<p>%s in another order</p>\n", diag.Count(n, "resource"))
	}
	p.F("</section>\n")
}

func (p *diffPage) resource(r *diff.Resource, causes []diag.Pos) {
	open := ""
	if p.open {
		open = " open"
	}
	edits, follow := own(r, causes)
	p.F("<details class=\"resource\" data-what=\"%s\"%s><summary><b class=\"%s\">%s</b>", string(r.What), page.Raw(open), string(r.What), headline(r))
	at := r.New.Pos
	if r.What == diff.Removed {
		at = r.Old.Pos
	}
	if n := len(edits) + len(follow); n > 0 {
		p.F(" <span class=\"soft\">%s</span>", diag.Count(n, "change"))
	}
	p.F("</summary>\n")
	if at.File != "" {
		p.F("<p><code>%s</code></p>\n", safe(at.String()))
	}
	switch r.What {
	case diff.Added:
		p.F("<pre class=\"added\">%s</pre>\n", document(r.After))
	case diff.Removed:
		p.F("<pre class=\"removed\">%s</pre>\n", document(r.Before))
	}
	if len(edits) > 0 {
		p.F("<table><colgroup><col class=\"path\"><col><col><col class=\"cause\"></colgroup><thead><tr><th class=\"name\">field</th><th class=\"name\">old</th><th class=\"name\">new</th><th class=\"name\">caused by</th></tr></thead><tbody>\n")
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
	p.F("<tr><td class=\"path\">%s</td>", path)
	switch old, now := valuesAs(e.Edit, shown); {
	case len(e.Lines) > 0:
		p.F("<td colspan=\"2\">")
		p.lines(e.Lines)
		p.F("</td>")
	case e.Op == diff.Move:
		s := e.Path[len(e.Path)-1]
		p.F("<td>place %d</td><td>place %d</td>", s.From, s.To)
	default:
		p.value("removed", old)
		p.value("added", now)
	}
	p.F("<td class=\"cause\"><code>%s</code></td></tr>\n", cause)
}

// value writes a table cell with a value. Long values are folded.
func (p *diffPage) value(class, text string) {
	switch r := []rune(text); {
	case text == "":
		p.F("<td></td>")
	case len(r) > maxShown:
		p.F("<td class=\"%s\"><details><summary>%s… <span class=\"soft\">%s</span></summary>%s</details></td>", class, string(r[:80]), diag.Size(int64(len(text))), text)
	default:
		p.F("<td class=\"%s\">%s</td>", class, text)
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
			p.F("<tr>")
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
		p.F("<td></td><td></td>")
		return
	}
	p.F("<td class=\"number\">%d</td><td class=\"%s\">%s</td>", lines[i].n, class, lines[i].text)
}
