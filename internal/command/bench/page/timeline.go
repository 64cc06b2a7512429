package page

import (
	"fmt"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/engine/profile"
	"github.com/krmflow/krmflow/internal/planview/page"
)

// Dimensions of the timeline, in pixels.
const (
	width    = 1160.0
	gutter   = 96.0 // for the names of lanes
	lane     = 22.0
	bar      = 16.0
	maxLanes = 32   // of one kind
	maxBars  = 6000 // over all lanes, approximately
)

// A block is one bar of the timeline: a single span, or several that are too short to be
// visible.
type block struct {
	profile.Span
	n      int           // number of spans
	filled time.Duration // their total duration
}

// blocks merges a span that is shorter than least into the preceding block, if that is also
// shorter and starts less than least earlier. This bounds the number of blocks by the width of
// the lane in units of least.
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

// longest returns the average duration of the spans of a block. A longer span becomes the
// representative of the block.
func (b *block) longest() time.Duration { return b.filled / time.Duration(b.n) }

// kinds maps verbs to the CSS classes of their colors.
var kinds = map[string]string{"load": "k1", "fetch": "k1", "merge": "k2", "generate": "k2", "transform": "k2", "validate": "k2",
	"pass": "k2", "absorb": "k2", "call": "k3", "finish": "k4", profile.Output: "k5"}

// A timeline is the state of the drawing.
type timeline struct {
	*report
	all   time.Duration // duration of the whole axis
	least time.Duration // shorter spans are merged
	y     float64       // top of the current lane
}

// x returns the horizontal position of a point in time.
func (t *timeline) x(at time.Duration) float64 {
	return gutter + (width-gutter)*float64(at)/float64(t.all)
}

// lane draws one lane and moves to the next.
func (t *timeline) lane(label string, draw func()) {
	t.F("<text class=\"lane\" x=\"0\" y=\"%.0f\">%s</text>\n", t.y+12, label)
	draw()
	t.y += lane
}

// rect draws a bar with title as its tooltip.
func (t *timeline) rect(start, end time.Duration, class, title string) {
	t.F("<rect class=\"%s\" x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%.0f\"><title>%s</title></rect>\n", class, t.x(start), t.y,
		max(0.8, t.x(end)-t.x(start)-0.4), bar, title)
}

// label writes text into a bar if it fits.
func (t *timeline) label(start, end time.Duration, text string) {
	if t.x(end)-t.x(start) > 9*float64(len(text)) {
		t.F("<text class=\"in\" x=\"%.1f\" y=\"%.0f\">%s</text>\n", t.x(start)+4, t.y+12, text)
	}
}

// blocks draws a lane of spans. of returns the description and the CSS class for the index of a
// span.
func (t *timeline) blocks(label string, spans []profile.Span, of func(i int) (what, class string)) {
	t.lane(label, func() {
		for _, b := range blocks(spans, t.least) {
			what, class := of(b.Index)
			t.rect(b.Start, b.End, class, b.title(page.Name(what)))
		}
	})
}

// timeline draws the run over time: stages, planning, one lane for each step that ran in
// parallel with others, and functions.
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
	p.F(
		"<section id=\"timeline\"><h2>Timeline</h2><p>The cold run in the middle of %s. <span class=\"key on\">longest chain</span><span class=\"key k1\">load</span>"+
			"<span class=\"key k2\">change</span><span class=\"key k3\">function</span><span class=\"key k4\">finish</span><span class=\"key k5\">output</span></p>\n", diag.Count(p.r.Cold.Runs, "run"))
	p.F("<svg class=\"time\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"timeline\">\n", width, height)
	for at, step := time.Duration(0), tick(t.all); at <= t.all; at += step {
		p.F("<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"18\" y2=\"%.0f\"/><text class=\"axis\" x=\"%.1f\" y=\"12\">%s</text>\n",
			t.x(at), t.x(at), height, t.x(at), profile.Brief(at))
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

// colour returns the CSS class of a step: "on" on the longest chain, else class.
func (p *report) colour(step int, class string) string {
	if p.critical[step] {
		return "on"
	}
	return class
}

// drawStages draws the stages. It splits the run stage at the first step if preparing functions
// took a visible share.
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

// title returns the tooltip of a block.
func (b *block) title(what string) string {
	if b.n > 1 {
		return fmt.Sprintf("%d together %s, among them %s", b.n, profile.Brief(b.filled), what)
	}
	return what + ", " + profile.Brief(b.filled)
}

// tick returns the distance of the marks on an axis of length all: 1, 2 or 5 times a power of
// ten, for at most about ten marks.
func tick(all time.Duration) time.Duration {
	for step := time.Duration(1000); ; step *= 10 {
		for _, m := range []time.Duration{1, 2, 5} {
			if all/(m*step) <= 10 {
				return m * step
			}
		}
	}
}
