package page

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/engine/profile"
	"github.com/krmflow/krmflow/internal/planview/page"
)

// Dimensions of the graph, in pixels.
const (
	boxWidth, boxHeight = 204.0, 42.0
	column, line        = 236.0, 54.0
	maxBoxes            = 26
	maxCritical         = 16 // boxes of the longest chain
)

// A box is one layer in the graph.
type box struct {
	profile.Sum
	first, last int // indexes of its first and last step
	rank, place int
}

func (b *box) x() float64 { return float64(b.rank) * column }
func (b *box) y() float64 { return float64(b.place) * line }

// graph draws the slowest layers and the longest chain through them.
func (p *report) graph() {
	boxes := p.boxes()
	if len(boxes) == 0 {
		return
	}
	edges, chain := p.edges(boxes)
	places := place(boxes, edges)
	var ranks int
	for _, b := range boxes {
		ranks = max(ranks, b.rank+1)
	}
	p.F("<section id=\"graph\"><h2>Longest chain on the graph</h2><p>Layers from left to right in the order in which they need each other.")
	if rest := len(p.layers()) - len(boxes); rest > 0 {
		p.F(" %s that take less are left out.", diag.Count(rest, "layer"))
	}
	w, h := float64(ranks-1)*column+boxWidth+4, float64(places-1)*line+boxHeight+4
	p.F(
		"</p><div class=\"scroll\"><svg class=\"graph\" width=\"%.0f\" height=\"%.0f\" viewBox=\"-2 -2 %.0f %.0f\" role=\"img\" aria-label=\"layers\">\n", w, h, w, h)
	for _, critical := range []bool{false, true} { // draw the chain last, on top
		for _, e := range edges {
			if chain[e] != critical {
				continue
			}
			a, b, class := boxes[e[0]], boxes[e[1]], "edge"
			if critical {
				class = "edge on"
			}
			x1, y1, x2, y2 := a.x()+boxWidth, a.y()+boxHeight/2, b.x(), b.y()+boxHeight/2
			p.F("<path class=\"%s\" d=\"M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f\"/>\n", class, x1, y1, x1+24, y1, x2-24, y2, x2, y2)
		}
	}
	for _, b := range boxes {
		class := "box"
		if b.Critical > 0 {
			class = "box on"
		}
		p.F(
			"<g class=\"%s\"><title>%s: %s, took %s, on the longest chain %s</title><rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" rx=\"4\"/>",
			class, page.Name(b.Name), diag.Count(b.Steps, "step"), profile.Brief(b.Took), profile.Brief(b.Critical), b.x(), b.y(), boxWidth,
			boxHeight)
		says := diag.Count(b.Steps, "step")
		if b.Critical > 0 {
			says = "on the chain " + profile.Brief(b.Critical)
		}
		p.F("<text x=\"%.0f\" y=\"%.0f\">%s</text><text class=\"small\" x=\"%.0f\" y=\"%.0f\">%s, %s</text></g>\n", b.x()+8, b.y()+17,
			short(b.Name, 28), b.x()+8, b.y()+33, profile.Brief(b.Took), says)
	}
	p.F("</svg></div></section>\n")
}

// layers returns all layers by name, with the totals of their steps.
func (p *report) layers() map[string]*box {
	all := map[string]*box{}
	for i := range p.p.Steps {
		s := &p.p.Steps[i]
		b := all[s.Layer]
		if b == nil {
			b = &box{first: i}
			b.Name = cmp.Or(s.Layer, "(no layer)")
			all[s.Layer] = b
		}
		b.last = i
		b.Steps++
		b.Took += s.Self
		if p.critical[i] {
			b.Critical += s.Self
		}
	}
	return all
}

// boxes returns the layers to draw, in the order in which they end.
func (p *report) boxes() []*box {
	var chain, others []*box
	for _, b := range p.layers() {
		if b.Critical > 0 {
			chain = append(chain, b)
		} else {
			others = append(others, b)
		}
	}
	slices.SortFunc(chain, func(x, y *box) int { return cmp.Or(cmp.Compare(y.Critical, x.Critical), cmp.Compare(x.first, y.first)) })
	slices.SortFunc(others, func(x, y *box) int { return cmp.Or(cmp.Compare(y.Took, x.Took), cmp.Compare(x.first, y.first)) })
	boxes := chain[:min(len(chain), maxCritical)]
	boxes = append(slices.Clip(boxes), others[:min(len(others), maxBoxes-len(boxes))]...)
	slices.SortFunc(boxes, func(x, y *box) int { return cmp.Compare(x.last, y.last) })
	return boxes
}

// edges returns the dependencies between boxes and the edges on the longest chain. Each pair
// appears once, the dependency first. An edge to a box that ends earlier, as a layer has to its
// component, is omitted.
func (p *report) edges(boxes []*box) (edges [][2]int, chain map[[2]int]bool) {
	at := map[string]int{}
	for i, b := range boxes {
		at[b.Name] = i
	}
	seen := map[[2]int]bool{}
	chain = map[[2]int]bool{}
	look := func(from, to int, critical bool) {
		a, known := at[cmp.Or(p.p.Steps[from].Layer, "(no layer)")]
		b, both := at[cmp.Or(p.p.Steps[to].Layer, "(no layer)")]
		if !known || !both || a >= b {
			return
		}
		e := [2]int{a, b}
		if !seen[e] {
			seen[e] = true
			edges = append(edges, e)
		}
		chain[e] = chain[e] || critical
	}
	for i := range p.p.Steps {
		for _, b := range p.p.Steps[i].Before {
			look(b, i, false)
		}
	}
	chained := slices.DeleteFunc(slices.Clone(p.a.Critical),
		func(i int) bool { _, drawn := at[cmp.Or(p.p.Steps[i].Layer, "(no layer)")]; return !drawn })
	for i := 1; i < len(chained); i++ {
		look(chained[i-1], chained[i], true)
	}
	return edges, chain
}

// place assigns each box a rank and a position within the rank, with the longest chain at the
// top. It returns the number of boxes in the largest rank.
func place(boxes []*box, edges [][2]int) (places int) {
	slices.SortFunc(edges, func(x, y [2]int) int { return cmp.Or(cmp.Compare(x[1], y[1]), cmp.Compare(x[0], y[0])) })
	for _, e := range edges { // boxes are sorted: each comes after its dependencies
		boxes[e[1]].rank = max(boxes[e[1]].rank, boxes[e[0]].rank+1)
	}
	order := slices.Clone(boxes)
	slices.SortStableFunc(order, func(x, y *box) int { return cmp.Or(cmp.Compare(y.Critical, x.Critical), cmp.Compare(y.Took, x.Took)) })
	used := map[int]int{}
	for _, b := range order {
		b.place = used[b.rank]
		used[b.rank]++
		places = max(places, used[b.rank])
	}
	return places
}

// short shortens the name of a layer to n letters. It keeps the end of its directory, the most
// specific part.
func short(s string, n int) string {
	if i := strings.LastIndex(s, " > "); i >= 0 { // a component, named after the layer that uses it
		s = s[i+3:]
	}
	if dir := path.Dir(s); dir != "." && path.Base(s) != s {
		s = dir
	}
	r := []rune(page.Name(s))
	if len(r) <= n {
		return string(r)
	}
	return "…" + string(r[len(r)-n+1:])
}
