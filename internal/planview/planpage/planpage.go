// Package planpage shows a plan as a self-contained HTML page with a searchable graph and lists
// of the plan's content. It shows only the content of the plan's JSON form.
package planpage

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/planview"
	"github.com/krmflow/krmflow/internal/planview/page"
)

// Begins is the start of each page. It identifies a file as a page of this package.
const Begins = "<!doctype html>\n<!-- krmflow plan -->\n"

//go:embed planpage.css
var style string

//go:embed planpage.js
var script string

// Write writes the page of a plan.
func Write(w io.Writer, now *planview.Document) error { return write(w, now, nil, nil) }

// WriteDifference writes the page of the plan now, with the changes since the plan old marked. d
// is the difference between the two.
func WriteDifference(w io.Writer, now, old *planview.Document, d *planview.Difference) error {
	return write(w, now, old, d)
}

// A planPage is a page under construction.
type planPage struct {
	page.Page
	doc  *planview.Document
	diff *planview.Difference
	data *data
}

func write(w io.Writer, now, old *planview.Document, d *planview.Difference) error {
	p := &planPage{doc: now, diff: d, data: newData(now, old, d)}
	head := page.Head{Begins: Begins, Title: "krmflow plan: " + page.Name(p.title()), Style: style, Script: script}
	p.Begin(head)
	p.head()
	p.graph()
	p.F("<main>\n")
	p.changes()
	p.failed()
	p.functions()
	p.warnings()
	p.roots()
	p.catalogs()
	p.layers()
	p.files()
	p.F("</main>\n")
	if err := p.Data("plan", p.data); err != nil {
		return err
	}
	p.End(head)
	_, err := io.WriteString(w, p.String())
	return err
}

// title returns the names of the roots.
func (p *planPage) title() string {
	var dirs []string
	for _, r := range p.doc.Roots {
		dirs = append(dirs, r.Dir)
	}
	for _, f := range p.doc.Failed {
		dirs = append(dirs, f.Dir)
	}
	if len(dirs) > 3 {
		return fmt.Sprintf("%s and %d others", strings.Join(dirs[:2], ", "), len(dirs)-2)
	}
	return strings.Join(dirs, ", ")
}

// head writes the title and links to the sections of the page.
func (p *planPage) head() {
	denied, mistakes := 0, 0
	for _, f := range p.data.Functions {
		if !f.Allowed {
			denied++
		}
	}
	for _, f := range p.doc.Failed {
		mistakes += len(f.Errors)
	}
	p.F("<header><h1>%s</h1>\n", page.Name(p.title()))
	if p.diff != nil {
		p.F("<p id=\"difference\">This plan %s.</p>\n", p.diff.String())
	}
	p.F("<nav aria-label=\"parts of the page\">")
	link := func(id string, n int, one, class string) {
		if n > 0 {
			p.F("<a href=\"#%s\" class=\"%s\">%s</a> ", id, class, diag.Count(n, one))
		}
	}
	link("mistakes", mistakes, "mistake", "bad")
	link("functions", denied, "denied function", "bad")
	link("functions", len(p.data.Functions)-denied, "allowed function", "good")
	link("warnings", len(p.doc.Warnings), "warning", "warn")
	link("roots", len(p.doc.Roots), "root", "")
	link("catalogs", len(p.doc.Catalogs), "catalog", "")
	link("catalogs", len(p.doc.Fetched), "remote source", "")
	link("layers", len(p.doc.Layers), "layer", "")
	link("layers", len(p.doc.Nodes), "step", "")
	link("files", len(p.doc.Files), "file", "")
	p.F("</nav></header>\n")
}

// graph writes the elements for the graph, which the script draws.
func (p *planPage) graph() {
	p.F(`<section id="graph" aria-label="graph">
<div class="bar"><input id="search" type="search" placeholder="search: steps, files, resources, functions  ( / )" aria-label="search steps, files, resources and functions" aria-controls="results" autocomplete="off" spellcheck="false">
<button id="back" type="button" hidden>all layers</button><button id="close" type="button" hidden>fold all</button><button id="fit" type="button" title="0">show all</button><button id="in" type="button" title="+" aria-label="larger">+</button><button id="out" type="button" title="-" aria-label="smaller">−</button>
`)
	if p.diff != nil {
		p.F("<label><input id=\"only\" type=\"checkbox\"> only changes</label>\n")
	}
	p.F(`<span id="where" role="status"></span></div>
<ul id="results" aria-label="search results" aria-live="polite" hidden></ul>
<div class="view"><canvas id="canvas" tabindex="0" role="application" aria-label="graph of layers: arrow keys go from box to box, Enter opens a fold or a layer, Escape goes back" aria-describedby="keys"></canvas>
<aside id="panel" aria-label="selection" aria-live="polite" hidden></aside></div>
<p id="keys" class="layers"><span>Drag to move, turn the wheel to zoom after a click on the graph. Click on a stack of boxes to open it, and on its heading to fold it again.</span>
<span><kbd>/</kbd> search</span> <span><kbd>←</kbd><kbd>→</kbd><kbd>↑</kbd><kbd>↓</kbd> go from box to box</span> <span><kbd>Enter</kbd> open</span> <span><kbd>Esc</kbd> back</span> <span><kbd>+</kbd><kbd>−</kbd><kbd>0</kbd> zoom</span>
<span class="of layers"><span class="key kind1">Kustomization</span><span class="key kind2">Component</span><span class="key kind3">Composition</span><span class="key kind4">images and programs</span><span class="key root">root</span><span class="key no">denied</span></span>
<span class="of steps"><span class="key k1">load</span><span class="key k2">change</span><span class="key k3">function</span><span class="key no">denied</span><span class="key k4">output</span></span></p>
</section>
<p class="noscript">The graph and the steps of layers need JavaScript. Everything else is below.</p>
`)
}

func (p *planPage) section(id, title string, n int) {
	p.F("<section id=\"%s\"><h2>%s</h2>\n", id, title)
	if n == 0 {
		p.F("<p>none</p>\n")
	}
}

// table writes a table. A table with very many rows is collapsed.
func (p *planPage) table(n int, head []string, row func(i int)) {
	const many = 200
	if n == 0 {
		return
	}
	if n > many {
		p.F("<details><summary>%s</summary>\n", diag.Count(n, "row"))
	}
	p.F("<table><thead><tr>")
	for _, h := range head {
		p.F("<th class=\"name\">%s</th>", h)
	}
	p.F("</tr></thead><tbody>\n")
	for i := range n {
		p.F("<tr>")
		row(i)
		p.F("</tr>\n")
	}
	p.F("</tbody></table>\n")
	if n > many {
		p.F("</details>\n")
	}
}

func (p *planPage) cell(text string) { p.F("<td>%s</td>", page.Name(text)) }

// step writes a cell that links to a step in the graph.
func (p *planPage) step(i int) {
	p.F("<td><button type=\"button\" class=\"go\" data-step=\"%d\">%s</button></td>", i, page.Name(p.data.Steps[i].ID))
}

// changes writes the section about the changes since the other plan.
func (p *planPage) changes() {
	if p.diff == nil {
		return
	}
	p.section("changes", "Changes", 1)
	if !p.diff.Any() {
		p.F("<p>nothing</p>\n")
	}
	at := map[string]int{}
	for i := range p.data.Steps {
		at[p.data.Steps[i].ID] = i
	}
	for _, kind := range p.diff.Kinds() {
		if len(kind.Changes) == 0 {
			continue
		}
		p.F("<h3>%s</h3>\n", diag.Count(len(kind.Changes), kind.One))
		p.table(len(kind.Changes), []string{"", "name", "fields"}, func(i int) {
			c := kind.Changes[i]
			p.F("<td class=\"mark %s\">%s</td>", c.What, c.What)
			if s, ok := at[page.Text(c.Name)]; ok && kind.One == "step" {
				p.step(s)
			} else {
				p.cell(c.Name)
			}
			p.F("<td>")
			for _, f := range c.Fields {
				p.F("<div>%s</div>", page.Name(f.String()))
			}
			p.F("</td>")
		})
	}
	if line := p.diff.AboutSecrets(); line != "" {
		p.F("<p>%s</p>\n", line)
	}
	p.F("</section>\n")
}

// failed writes the errors of the failed roots.
func (p *planPage) failed() {
	p.section("mistakes", "Mistakes", len(p.doc.Failed))
	for _, f := range p.doc.Failed {
		p.F("<h3>%s</h3>\n<ul>\n", page.Name(f.Dir))
		for _, m := range f.Errors {
			p.message(m)
		}
		p.F("</ul>\n")
	}
	p.F("</section>\n")
}

func (p *planPage) message(m planview.Message) {
	at := place(m.File, m.Line)
	if m.Field != "" {
		at = strings.TrimPrefix(at+": "+page.Text(m.Field), ": ")
	}
	p.F("<li><code>%s</code> %s", at, m.Message)
	for _, hint := range m.Hints {
		p.F("<div class=\"hint\">%s</div>", hint)
	}
	p.F("</li>\n")
}

// functions writes the trust decisions about functions and charts.
func (p *planPage) functions() {
	p.section("functions", "Trust decisions", len(p.data.Functions))
	var calls []int
	for i := range p.data.Steps {
		if p.data.Steps[i].Call > 0 {
			calls = append(calls, i)
		}
	}
	p.table(len(calls), []string{"decision", "step", "runs", "listed and trusted by", "may use", "isolated by", "answer", "why not"},
		func(k int) {
			f := p.data.Functions[p.data.Steps[calls[k]].Call-1]
			class, decision := "allowed", "allowed"
			if !f.Allowed {
				class, decision = "denied", strings.TrimSuffix("denied: "+f.Reason, ": ")
			}
			p.F("<td class=\"%s\">%s</td>", class, decision)
			p.step(calls[k])
			p.cell(runs(f))
			listed := "no catalog"
			if f.Catalog != "" {
				listed = fmt.Sprintf("%s entry %d, by %s", f.Catalog, f.Entry, f.TrustedBy)
			}
			p.cell(listed)
			var grants []string
			for _, g := range f.Grants {
				grants = append(grants, g.Capability+" by "+g.By)
			}
			p.cell(cmp.Or(strings.Join(grants, ", "), "nothing"))
			p.cell(f.Isolation)
			p.cell(f.Cache)
			p.cell(strings.Join(f.Denials, "; "))
		})
	p.F("</section>\n")
}

// runs describes the function or chart of a call.
func runs(f *planview.Function) string {
	if c := f.Chart; c != nil {
		return strings.Join(strings.Fields("chart "+c.Name+" "+c.Version+" "+c.Source+" "+c.Digest), " ")
	}
	return strings.Join(strings.Fields(f.Runtime+" "+f.Source+" "+f.Digest), " ")
}

func (p *planPage) warnings() {
	p.section("warnings", "Warnings", len(p.doc.Warnings))
	p.F("<ul>\n")
	for _, m := range p.doc.Warnings {
		p.message(m)
	}
	p.F("</ul></section>\n")
}

func (p *planPage) roots() {
	p.section("roots", "Roots", len(p.doc.Roots))
	head := []string{"directory", "resources", "steps", "layers"}
	if p.doc.Against != nil {
		head = append(head, "changes in "+page.Name(p.doc.Against.Folder))
	}
	p.table(len(p.doc.Roots), head, func(i int) {
		r := &p.doc.Roots[i]
		if s := p.data.Roots[i].Step; s >= 0 {
			p.F("<td><button type=\"button\" class=\"go\" data-step=\"%d\">%s</button></td>", s, page.Name(r.Dir))
		} else {
			p.cell(r.Dir)
		}
		switch {
		case r.Known:
			p.cell(cmp.Or(counts(r.Resources), "none"))
		case len(r.Waits) > 0:
			p.cell(fmt.Sprintf("known when %s run", diag.Count(len(r.Waits), "step")))
		default:
			p.cell("not known")
		}
		p.cell(counts(r.Steps))
		p.cell(fmt.Sprint(len(r.Layers)))
		if p.doc.Against != nil && r.Changes != nil {
			p.cell(r.Changes.String())
		} else if p.doc.Against != nil {
			p.cell("not compared")
		}
	})
	p.F("</section>\n")
}

func counts(list []planview.Count) string {
	var all []string
	for _, c := range list {
		all = append(all, fmt.Sprintf("%s ×%d", c.Name, c.Count))
	}
	return strings.Join(all, ", ")
}

func (p *planPage) catalogs() {
	if len(p.doc.Catalogs)+len(p.doc.Fetched) == 0 {
		return
	}
	p.section("catalogs", "Catalogs and remote content", 1)
	p.table(len(p.doc.Catalogs), []string{"catalog", "digest", "trusted by", "signed by"}, func(i int) {
		c := p.doc.Catalogs[i]
		p.cell(c.Ref)
		p.cell(c.Digest)
		p.cell(c.TrustedBy)
		p.cell(c.SignedBy)
	})
	p.table(len(p.doc.Fetched), []string{"remote", "version"}, func(i int) {
		p.cell(p.doc.Fetched[i].Ref)
		p.cell(p.doc.Fetched[i].Version)
	})
	p.F("</section>\n")
}

// layers writes the graph as a list of layers. The script inserts the steps of a layer when the
// user opens it.
func (p *planPage) layers() {
	p.section("layers", "Layers and steps", len(p.data.Layers))
	for i := range p.data.Layers {
		l := &p.data.Layers[i]
		about := diag.Count(len(l.Steps), "step")
		if l.Kind != "" {
			about = l.Kind + ", " + about
		}
		p.F("<details class=\"layer\" data-layer=\"%d\"><summary>", i)
		if l.Mark != "" {
			p.F("<b class=\"mark\">%s</b> ", l.Mark)
		}
		p.F("%s <span class=\"soft\">%s</span></summary>", page.Name(l.File), about)
		for _, u := range l.Uses {
			p.F("<div class=\"soft\">%s: %s</div>", page.Name(u.Field), page.Name(p.data.Layers[u.Layer].File))
		}
		p.F("</details>\n")
	}
	p.F("</section>\n")
}

func (p *planPage) files() {
	p.section("files", "Files", len(p.doc.Files))
	what := map[string]string{}
	if p.diff != nil {
		for _, c := range p.diff.Files {
			what[c.Name] = c.What
		}
	}
	p.table(len(p.doc.Files), []string{"file", "digest"}, func(i int) {
		f := p.doc.Files[i]
		p.F("<td>")
		if w := what[f.Path]; w != "" {
			p.F("<b class=\"mark %s\">%s</b> ", w, planview.Mark(w))
		}
		p.F("%s</td>", page.Name(f.Path))
		p.cell(cmp.Or(f.Digest, "may hold values of Secrets"))
	})
	p.F("</section>\n")
}
