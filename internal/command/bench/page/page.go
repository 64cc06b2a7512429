// Package page writes a profile as a single self-contained HTML page. It needs no network and
// no tools, and its content does not depend on scripts.
package page

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/engine/profile"
	"github.com/krmflow/krmflow/internal/planview/page"
)

// Begins is the beginning of every page.
const Begins = "<!doctype html>\n<!-- krmflow bench -->\n"

//go:embed page.css
var style string

//go:embed page.js
var script string

// Write writes the page for a report. The size of the page is bounded regardless of the size of
// the tree.
func Write(w io.Writer, r *profile.Report) error {
	p := &report{r: r, p: r.Profile, a: r.Analysis, critical: map[int]bool{}}
	for _, i := range p.a.Critical {
		p.critical[i] = true
	}
	head := page.Head{Begins: Begins, Title: page.Name(profile.Some(r.Dirs)) + ": krmflow bench", Style: style, Script: script,
		StyleAttributes: true}
	p.Begin(head)
	p.F("<main>\n")
	p.head()
	p.stages()
	p.timeline()
	p.graph()
	p.chain()
	p.gains()
	p.slowest()
	p.sums("layers", "Layers", "A layer is a Kustomization, Component or Composition.", p.a.Layers)
	p.sums("files", "Files", "Steps count for the file that they load or that configures them; a step is planned when its file is read.",
		p.a.Files)
	p.sums("functions", "Functions", "Functions and charts, with the steps that call them.", p.a.Functions)
	p.memory()
	p.changes()
	p.F("</main>")
	p.End(head)
	_, err := io.WriteString(w, p.String())
	return err
}

// A report is a page under construction.
type report struct {
	page.Page
	r        *profile.Report
	p        *profile.Profile
	a        *profile.Analysis
	critical map[int]bool // steps on the critical path
}

func of(n int64) string { return profile.Brief(time.Duration(n)) }

// head writes the title and the most important figures.
func (p *report) head() {
	r, a := p.r, p.a
	p.F(
		"<h1>%s</h1>\n<p class=\"sub\">%s, %s. krmflow %s, %s/%s, %s, <code>-j %d</code>; medians of %s, ± half of how far they were apart.</p>\n", page.Name(profile.Some(r.Dirs)),
		diag.Count(len(p.p.Roots), "root"), diag.Count(len(p.p.Steps), "step"), page.Name(p.p.Version), p.p.OS, p.p.Arch,
		diag.Count(p.p.CPUs, "CPU"), p.p.Jobs, diag.Count(r.Cold.Runs, "run"))
	tile := func(id, value, what string) {
		p.F("<div class=\"tile\" id=%q><b>%s</b><span>%s</span></div>\n", id, value, what)
	}
	p.F("<div class=\"tiles\">\n")
	tile("cold", of(r.Cold.Wall.Median), "cold, with an empty cache (±"+of((r.Cold.Wall.Max-r.Cold.Wall.Min)/2)+")")
	tile("warm", of(r.Warm.Wall.Median), "warm, once more (±"+of((r.Warm.Wall.Max-r.Warm.Wall.Min)/2)+")")
	tile("parallel", fmt.Sprintf("%.1f", a.Parallelism), fmt.Sprintf("steps and functions at the same time, with -j %d", p.p.Jobs))
	tile("length", profile.Brief(a.Length), "longest chain of steps")
	tile("peak", profile.MB(r.Cold.Peak.Median), "peak memory")
	if cpu, wall := r.Ratio(r.Cold); cpu > 0 {
		warm, _ := r.Ratio(r.Warm)
		tile("ratio", fmt.Sprintf("%.1f×", cpu),
			fmt.Sprintf("CPU time of %s to the cold run (wall %.1f×, warm CPU %.1f×)", page.Name(r.Against), wall, warm))
	}
	p.F("</div>\n")
}

// stages writes the duration of each stage.
func (p *report) stages() {
	p.F("<section id=\"stages\"><h2>Stages</h2>\n")
	p.table([]string{"stage", "cold", "", "CPU", "warm", "CPU"})
	for i, s := range p.r.Cold.Stages {
		warm := p.r.Warm.Stages[i]
		p.row(cell{text: s.Name}, span(s.Wall.Median), share(s.Wall.Median, p.r.Cold.Wall.Median), span(s.CPU.Median),
			span(warm.Wall.Median), span(warm.CPU.Median))
	}
	p.F("</tbody></table></section>\n")
}

// A cell is one cell of a table. Figures are sorted by value.
type cell struct {
	text   string
	figure bool
	value  int64
	bar    float64 // from 0 to 1
	mark   bool    // on the critical path
}

func span(n int64) cell { return cell{text: of(n), figure: true, value: n} }

func took(d time.Duration) cell { return span(int64(d)) }

func count(n int) cell { return cell{text: fmt.Sprint(n), figure: true, value: int64(n)} }

func bytes(n int) cell { return cell{text: profile.Bytes(n), figure: true, value: int64(n)} }

// share returns a bar whose length is the share of n in all.
func share(n, all int64) cell {
	return cell{bar: min(1, float64(n)/float64(max(1, all)))}
}

// table starts a table with the given column heads.
func (p *report) table(head []string) {
	p.F("<table><thead><tr>")
	for _, h := range head {
		if h == "" {
			p.F("<td></td>")
		} else {
			class := ""
			if slices.Contains([]string{"stage", "step", "name", "what", "says"}, h) {
				class = " class=\"name\""
			}
			p.F("<th%s>%s</th>", page.Raw(class), h)
		}
	}
	p.F("</tr></thead><tbody>\n")
}

func (p *report) row(cells ...cell) {
	p.F("<tr>")
	for _, c := range cells {
		switch {
		case c.figure:
			p.F("<td class=\"n\" data-v=\"%d\">%s</td>", c.value, c.text)
		case c.text == "":
			p.F("<td class=\"bar\"><i style=\"width:%.1f%%\"></i></td>", 100*c.bar)
		case c.mark:
			p.F("<td class=\"name\"><span class=\"on\" title=\"on the longest chain\"></span>%s</td>", page.Name(c.text))
		default:
			p.F("<td class=\"name\">%s</td>", page.Name(c.text))
		}
	}
	p.F("</tr>\n")
}

// chain writes the steps of the critical path.
func (p *report) chain() {
	p.F(
		"<section id=\"chain\"><h2>Longest chain</h2><p>Each of these steps needs the one before it. However many cores there are, the steps take no less than %s.</p>\n", profile.Brief(p.a.Length))
	p.table([]string{"took", "", "waited", "resources", "step"})
	shown, rest := p.r.Chain(100)
	for _, i := range shown {
		s := &p.p.Steps[i]
		p.row(took(s.Self), share(int64(s.Self), int64(p.a.Length)), took(s.Waited), count(s.Resources), cell{text: s.Verb + " " + s.ID})
	}
	p.F("</tbody></table>\n")
	if rest > 0 {
		p.F("<p>And %s, each shorter than these.</p>\n", diag.Count(rest, "step"))
	}
	p.F("</section>\n")
}

func (p *report) gains() {
	p.F(
		"<section id=\"gains\"><h2>What would be gained</h2><p>If a step took no time, the steps would need at least this much less: now %s with %s. "+
			"<em>On the chain</em> is by how much the longest chain would be shorter, which is the gain where there are cores enough.</p>\n",
		profile.Brief(p.a.Least), diag.Count(p.p.Jobs, "job"))
	p.table([]string{"gain", "", "on the chain", "took", "step"})
	for _, g := range p.a.Gains[:min(len(p.a.Gains), 25)] {
		if max(g.Gain, g.Path) < p.a.Least/1000 {
			continue
		}
		s := &p.p.Steps[g.Step]
		p.row(took(g.Gain), share(int64(g.Gain), int64(p.a.Least)), took(g.Path), took(s.Self),
			cell{text: s.Verb + " " + s.ID, mark: p.critical[g.Step]})
	}
	p.F("</tbody></table></section>\n")
}

func (p *report) slowest() {
	p.F("<section id=\"steps\"><h2>Slowest steps</h2>\n")
	p.table([]string{"took", "", "±", "waited", "in", "out", "resources", "step"})
	for _, i := range p.a.Slowest[:min(len(p.a.Slowest), 50)] {
		s := &p.p.Steps[i]
		var apart int64
		if s.Runs != nil {
			apart = (s.Runs.Max - s.Runs.Min) / 2
		}
		p.row(took(s.Self), share(int64(s.Self), int64(p.a.Work)), span(apart), took(s.Waited), bytes(s.Taken), bytes(s.Made),
			count(s.Resources), cell{text: s.Verb + " " + s.ID, mark: p.critical[i]})
	}
	p.F("</tbody></table></section>\n")
}

func (p *report) sums(id, title, says string, list []profile.Sum) {
	if len(list) == 0 {
		return
	}
	p.F("<section id=%q><h2>%s</h2><p>%s</p>\n", id, title, says)
	p.table([]string{"run", "", "plan", "on the chain", "gain", "size", "steps", "name"})
	for _, s := range list[:min(len(list), 50)] {
		p.row(took(s.Took), share(int64(s.Took), int64(p.a.Work)), took(s.Planned), took(s.Critical), took(s.Gain), bytes(s.Bytes),
			count(s.Steps), cell{text: s.Name, mark: s.Critical > 0})
	}
	p.F("</tbody></table></section>\n")
}

func (p *report) memory() {
	m := p.p.Memory
	p.F("<section id=\"memory\"><h2>Memory</h2><p>Peak of the process %s, most in use after a collection %s, allocated altogether %s, %s.",
		profile.MB(m.Peak), profile.MB(int64(m.Live)), profile.MB(int64(m.Allocated)), diag.Count(int(m.Collections), "garbage collection"))
	if p.p.MemoryLimit > 0 {
		p.F(" With <code>--memory-limit</code> of %s, no fewer than %s could run at a time.", diag.Size(p.p.MemoryLimit),
			diag.Count(m.Least, "step"))
	}
	p.F("</p></section>\n")
}

func (p *report) changes() {
	c := p.r.Changes
	if c == nil {
		return
	}
	p.F(
		"<section id=\"changes\"><h2>Against the baseline</h2><p>A change that is not larger than the noise, how far the runs were apart, says nothing.</p>\n")
	p.table([]string{"old", "new", "change", "noise", "says", "what"})
	for _, t := range []struct {
		before string
		list   []profile.Change
	}{{"cold ", c.Cold}, {"warm ", c.Warm}, {"", c.Steps}} {
		for _, x := range t.list {
			p.row(span(x.Old), span(x.New), cell{text: x.Percent(), figure: true, value: x.New - x.Old}, span(x.Noise),
				cell{text: x.Meaning()}, cell{text: t.before + x.Name})
		}
	}
	p.F("</tbody></table></section>\n")
}
