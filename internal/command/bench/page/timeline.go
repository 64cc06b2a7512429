package page

import (
	"fmt"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/engine/profile"
	"github.com/krmflow/krmflow/internal/planview/page"
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
var kinds = map[string]string{"load": "k1", "fetch": "k1", "merge": "k2", "generate": "k2", "transform": "k2", "validate": "k2", "pass": "k2", "absorb": "k2", "call": "k3", "finish": "k4", profile.Output: "k5"}

// A timeline is one that is being drawn.
type timeline struct {
	*report
	all   time.Duration // from the left to the right
	least time.Duration // spans that are shorter are joined
	y     float64       // the top of the lane
}

// x returns where a moment is.
func (t *timeline) x(at time.Duration) float64 {
	return gutter + (width-gutter)*float64(at)/float64(t.all)
}

// lane draws one lane.
func (t *timeline) lane(label string, draw func()) {
	t.F("<text class=\"lane\" x=\"0\" y=\"%.0f\">%s</text>\n", t.y+12, label)
	draw()
	t.y += lane
}

// rect draws a bar, which says what it is to who points at it.
func (t *timeline) rect(start, end time.Duration, class, title string) {
	t.F("<rect class=\"%s\" x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%.0f\"><title>%s</title></rect>\n", class, t.x(start), t.y, max(0.8, t.x(end)-t.x(start)-0.4), bar, title)
}

// label writes into a bar, if it is long enough.
func (t *timeline) label(start, end time.Duration, text string) {
	if t.x(end)-t.x(start) > 9*float64(len(text)) {
		t.F("<text class=\"in\" x=\"%.1f\" y=\"%.0f\">%s</text>\n", t.x(start)+4, t.y+12, text)
	}
}

// blocks draws a lane of spans. of says what a span is, and its class.
func (t *timeline) blocks(label string, spans []profile.Span, of func(i int) (what, class string)) {
	t.lane(label, func() {
		for _, b := range blocks(spans, t.least) {
			what, class := of(b.Index)
			t.rect(b.Start, b.End, class, b.title(page.Name(what)))
		}
	})
}

// timeline draws what ran when: stages, planning, a lane for each step that ran at the same time as others, and functions.
func (p *report) timeline() {
	steps, calls := p.p.Spans()
	work, functions := profile.Lanes(steps), profile.Lanes(calls)
	left := max(0, len(work)-maxLanes) + max(0, len(functions)-maxLanes)
	work, functions = work[:min(len(work), maxLanes)], functions[:min(len(functions), maxLanes)]
	lanes := float64(2 + len(work) + len(functions))
	t := &timeline{report: p, all: p.p.Wall(), y: 22}
	if t.all <= 0 {
		return
	}
	t.least = time.Duration(float64(t.all) / (width - gutter) * max(1.5, lanes*(width-gutter)/maxBars))
	height := lane*lanes + 30
	p.F("<section id=\"timeline\"><h2>Timeline</h2><p>The cold run in the middle of %s. <span class=\"key on\">longest chain</span><span class=\"key k1\">load</span>"+
		"<span class=\"key k2\">change</span><span class=\"key k3\">function</span><span class=\"key k4\">finish</span><span class=\"key k5\">output</span></p>\n", diag.Count(p.r.Cold.Runs, "run"))
	p.F("<svg class=\"time\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"timeline\">\n", width, height)
	for at, step := time.Duration(0), tick(t.all); at <= t.all; at += step {
		p.F("<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"18\" y2=\"%.0f\"/><text class=\"axis\" x=\"%.1f\" y=\"12\">%s</text>\n", t.x(at), t.x(at), height, t.x(at), profile.Brief(at))
	}
	t.lane("stages", t.drawStages)
	var planned []profile.Span
	for i, f := range p.p.Planned {
		planned = append(planned, profile.Span{Start: f.Start, End: f.Start + f.Wall, Index: i})
	}
	t.blocks("planning", planned, func(i int) (string, string) { return p.p.Planned[i].File, "k0" })
	for k, spans := range work {
		t.blocks(fmt.Sprintf("steps %d", k+1), spans, func(i int) (string, string) {
			s := &p.p.Steps[i]
			return s.Verb + " " + s.ID, p.colour(i, kinds[s.Verb])
		})
	}
	for k, spans := range functions {
		t.blocks(fmt.Sprintf("functions %d", k+1), spans, func(i int) (string, string) { return p.p.Steps[i].Function, p.colour(i, "k3") })
	}
	p.F("</svg>\n")
	if left > 0 {
		p.F("<p>%s are not shown.</p>\n", diag.Count(left, "more lane"))
	}
	p.F("</section>\n")
}

// colour returns the class of a step, which is class unless it is on the longest chain.
func (p *report) colour(step int, class string) string {
	if p.critical[step] {
		return "on"
	}
	return class
}

// drawStages draws the stages, and what of the run was there before the first step.
func (t *timeline) drawStages() {
	for _, s := range t.p.Stages {
		end := s.Start + s.Wall
		t.rect(s.Start, end, "stage", s.Name+", "+profile.Brief(s.Wall))
		if s.Name != profile.Running || len(t.a.Functions) == 0 || t.a.Prepared < t.all/100 {
			t.label(s.Start, end, s.Name)
			continue
		}
		first := s.Start + t.a.Prepared
		t.rect(s.Start, first, "stage", "functions are prepared, "+profile.Brief(t.a.Prepared))
		t.label(s.Start, first, "run: preparing")
	}
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
