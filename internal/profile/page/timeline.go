package page

import (
	"cmp"
	"fmt"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/profile"
)

// The measures of the timeline, in pixels.
const (
	width    = 1160.0
	gutter   = 96.0 // for the names of lanes
	lane     = 22.0
	bar      = 16.0
	maxLanes = 32   // of one kind
	maxBars  = 6000 // of all lanes, about
)

// A block is a bar of the timeline: a span, or several that are too short to be seen one by one.
type block struct {
	profile.Span
	n      int           // spans
	filled time.Duration // by them
}

// blocks joins the spans of a lane that are shorter than least and begin within least of the block before, to which they go. In lanes of so
// many pixels there are never more blocks than pixels by those of least.
func blocks(lane []profile.Span, least time.Duration) []block {
	var out []block
	for _, s := range lane {
		d := s.End - s.Start
		if n := len(out); n > 0 {
			last := &out[n-1]
			if last.End-last.Start < least && d < least && s.Start-last.Start < least {
				if d > last.longest() {
					last.Index = s.Index
				}
				last.End, last.n, last.filled = max(last.End, s.End), last.n+1, last.filled+d
				continue
			}
		}
		out = append(out, block{s, 1, d})
	}
	return out
}

// longest returns what the spans of a block took on average: one that took longer stands for all.
func (b *block) longest() time.Duration { return b.filled / time.Duration(b.n) }

// kinds are the colours of verbs.
var kinds = map[string]string{"load": "k1", "fetch": "k1", "merge": "k2", "generate": "k2", "transform": "k2", "validate": "k2", "pass": "k2", "call": "k3", "finish": "k4", profile.Output: "k5"}

// timeline draws what ran when: stages, planning, a lane for each step that ran at the same time as others, and functions.
func (p *page) timeline() {
	all := p.p.Wall()
	if all <= 0 {
		return
	}
	steps, calls := p.p.Spans()
	work, functions := profile.Lanes(steps), profile.Lanes(calls)
	left := max(0, len(work)-maxLanes) + max(0, len(functions)-maxLanes)
	work, functions = work[:min(len(work), maxLanes)], functions[:min(len(functions), maxLanes)]
	height := lane*float64(2+len(work)+len(functions)) + 30
	x := func(d time.Duration) float64 { return gutter + (width-gutter)*float64(d)/float64(all) }
	least := time.Duration(float64(all) / (width - gutter) * max(1.5, float64(len(work)+len(functions)+2)*(width-gutter)/maxBars))
	p.f("<section id=\"timeline\"><h2>Timeline</h2><p>The cold run in the middle of %s. <span class=\"key on\">longest chain</span><span class=\"key k1\">load</span>"+
		"<span class=\"key k2\">change</span><span class=\"key k3\">function</span><span class=\"key k4\">finish</span><span class=\"key k5\">output</span></p>\n", diag.Count(p.r.Cold.Runs, "run"))
	p.f("<svg class=\"time\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"timeline\">\n", width, height)
	for at, step := time.Duration(0), tick(all); at <= all; at += step {
		p.f("<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"18\" y2=\"%.0f\"/><text class=\"axis\" x=\"%.1f\" y=\"12\">%s</text>\n", x(at), x(at), height, x(at), cmp.Or(profile.Brief(at), "0"))
	}
	y := 22.0
	rect := func(start, end time.Duration, class, title string) {
		p.f("<rect class=\"%s\" x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%.0f\"><title>%s</title></rect>\n", class, x(start), y, max(0.8, x(end)-x(start)-0.4), bar, title)
	}
	next := func(label string) func() {
		p.f("<text class=\"lane\" x=\"0\" y=\"%.0f\">%s</text>\n", y+12, label)
		return func() { y += lane }
	}
	end := next("stages")
	for _, s := range p.p.Stages {
		rect(s.Start, s.Start+s.Wall, "stage", s.Name+", "+profile.Brief(s.Wall))
		if w := x(s.Start+s.Wall) - x(s.Start); w > 9*float64(len(s.Name)) {
			p.f("<text class=\"in\" x=\"%.1f\" y=\"%.0f\">%s</text>\n", x(s.Start)+4, y+12, s.Name)
		}
	}
	if a := p.a; len(a.Functions) > 0 && a.Prepared > all/100 {
		start := p.p.Run().Start
		rect(start, start+a.Prepared, "stage", "functions are prepared, "+profile.Brief(a.Prepared))
		if x(a.Prepared)-gutter > 110 {
			p.f("<text class=\"in\" x=\"%.1f\" y=\"%.0f\">run: preparing</text>\n", x(start)+4, y+12)
		}
	}
	end()
	end = next("planning")
	var planned []profile.Span
	for i, f := range p.p.Planned {
		planned = append(planned, profile.Span{Start: f.Start, End: f.Start + f.Wall, Index: i})
	}
	for _, b := range blocks(planned, least) {
		rect(b.Start, b.End, "k0", b.title(name(p.p.Planned[b.Index].File)))
	}
	end()
	for k, spans := range work {
		end = next(fmt.Sprintf("steps %d", k+1))
		for _, b := range blocks(spans, least) {
			s := &p.p.Steps[b.Index]
			class := kinds[s.Verb]
			if p.critical[b.Index] {
				class = "on"
			}
			rect(b.Start, b.End, class, b.title(name(s.Verb+" "+s.ID)))
		}
		end()
	}
	for k, spans := range functions {
		end = next(fmt.Sprintf("functions %d", k+1))
		for _, b := range blocks(spans, least) {
			class := "k3"
			if p.critical[b.Index] {
				class = "on"
			}
			rect(b.Start, b.End, class, b.title(name(p.p.Steps[b.Index].Function)))
		}
		end()
	}
	p.f("</svg>\n")
	if left > 0 {
		p.f("<p>%s are not shown.</p>\n", diag.Count(left, "more lane"))
	}
	p.f("</section>\n")
}

// title says what a block is.
func (b *block) title(what string) string {
	if b.n > 1 {
		return fmt.Sprintf("%d together %s, among them %s", b.n, profile.Brief(b.filled), what)
	}
	return what + ", " + profile.Brief(b.filled)
}

// tick returns the distance of the marks on an axis that ends with all: 1, 2 or 5 of something, about ten of them.
func tick(all time.Duration) time.Duration {
	for step := time.Duration(1000); ; step *= 10 {
		for _, m := range []time.Duration{1, 2, 5} {
			if all/(m*step) <= 10 {
				return m * step
			}
		}
	}
}
