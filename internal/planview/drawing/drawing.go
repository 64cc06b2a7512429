// Package drawing draws plans: as boxes for layers or for steps, with edges from what is used to what uses it, in the DOT language, as a
// Mermaid flowchart or as SVG. The same plan and options give the same bytes. All text of a tree is escaped: it cannot change the structure of a drawing.
package drawing

import (
	"math"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/layers"
)

// Options say what is drawn.
type Options struct {
	// Steps draws the nodes of the plan, and not its layers.
	Steps bool
	// Roots are the directories of the roots that are drawn, as the plan names them; none means all.
	Roots []string
	// To leaves out what does not lead to a layer or node: a directory, the file of a layer, or the id of a node.
	To string
	// From leaves out what a file does not lead to, in the layers that read it: the path of a file, or the directory of a layer.
	From string
	// Path draws the layers alone by which one comes from the first of two layers to the other, see [layers.Graph.Path].
	Path []layers.Step
	// Reduce leaves out references of layers that follow from others.
	Reduce bool
	// Fold draws what is alike as one box when there are many boxes.
	Fold bool
	// Legend explains the drawing in it.
	Legend bool
}

// A Drawing is a plan as boxes and edges. It must not be changed.
type Drawing struct {
	title  string
	boxes  []box // each comes after those that lead to it
	edges  []edge
	legend bool
}

// A box is a layer, a run of steps of one layer, or several layers that are folded.
type box struct {
	title []string // its name, in lines
	note  string   // what it is, empty for a Kustomization
	kind  class
	root  bool
	many  bool // it stands for several layers
	lines []line
	verbs []string // of its steps, each once
	tip   string   // what does not fit in, in lines
}

// A line of a box says how many steps of one kind there are, or what one step does.
type line struct {
	text string
	verb class
	like string // what it is without its configuration
}

// An edge leads from what is used to what uses it.
type edge struct {
	from, to int
	ways     []string // how it is used, in alphabetical order
	len      int      // how many columns it spans at least
}

// New draws a plan. Names in the options that the plan does not have are an error, with what is near.
func New(p *planner.Plan, o Options) (*Drawing, error) {
	c, err := choose(p, o)
	if err != nil {
		return nil, err
	}
	parts := c.layerParts()
	if o.Steps {
		parts = c.stepParts()
	}
	if o.Fold {
		parts = parts.fold()
	}
	d := &Drawing{legend: o.Legend}
	below := commonDir(parts.list)
	for _, part := range parts.list {
		d.boxes = append(d.boxes, part.box(below))
	}
	d.edges = parts.edges
	d.addFailed(c.failed)
	d.title = c.title(o, below)
	d.stagger()
	return d, nil
}

// addFailed adds one box for the roots that could not be planned.
func (d *Drawing) addFailed(failed []planner.RootError) {
	if len(failed) == 0 {
		return
	}
	b := box{kind: failedRoot, note: diag.Plural(len(failed), "root") + " failed", many: len(failed) > 1}
	var tips []string
	for _, f := range failed {
		b.title = append(b.title, shortPath(clean(f.Dir), titleWidth))
		first, _, _ := strings.Cut(f.Errs[0].Error(), "\n")
		tips = append(tips, clean(f.Dir)+": "+clean(first))
	}
	b.title, b.tip = some(b.title, 3), strings.Join(some(tips, maxTip), "\n")
	d.boxes = append(d.boxes, b)
}

// columnHeight is how many boxes that lead nowhere, or that nothing leads to, stand in one column if there are not hundreds.
const columnHeight = 12

// stagger sets how many columns edges span, so that no column is crowded: what nothing uses, with what it alone uses, is moved to the right,
// and what uses nothing to the left.
func (d *Drawing) stagger() {
	in, out, rank := make([]int, len(d.boxes)), make([]int, len(d.boxes)), make([]int, len(d.boxes))
	first := make([]int, len(d.boxes)) // the first column in which a box is used
	for i := range d.edges {
		e := &d.edges[i]
		e.len = 1
		out[e.from]++
		in[e.to]++
	}
	for _, e := range d.sorted() {
		rank[e.to] = max(rank[e.to], rank[e.from]+1)
	}
	for _, e := range d.edges {
		if first[e.from] == 0 || rank[e.to] < first[e.from] {
			first[e.from] = rank[e.to]
		}
	}
	tail := make([]bool, len(d.boxes)) // only one way leads on from here, to the end
	next := map[int]int{}
	for _, e := range d.edges {
		if out[e.from] == 1 && in[e.to] == 1 {
			next[e.from] = e.to
		}
	}
	inside := map[int]bool{} // a tail that begins before
	for i := len(d.boxes) - 1; i >= 0; i-- {
		to, ok := next[i]
		tail[i] = out[i] == 0 || ok && tail[to]
		if ok && tail[to] {
			inside[to] = true
		}
	}
	last := crowd(d.boxes, func(i int) (int, bool) { return rank[i], in[i] > 0 && tail[i] && !inside[i] })
	start := crowd(d.boxes, func(i int) (int, bool) { return first[i], in[i] == 0 && out[i] > 0 && !tail[i] })
	for i := range d.edges {
		d.edges[i].len += last[d.edges[i].to] + start[d.edges[i].from]
	}
}

// crowd returns by how many columns boxes are moved. column returns the column of a box, and whether it may be moved.
func crowd(boxes []box, column func(i int) (int, bool)) []int {
	count, moved := map[int]int{}, make([]int, len(boxes))
	for i := range boxes {
		if c, ok := column(i); ok {
			count[c]++
		}
	}
	seen := map[int]int{}
	for i := range boxes {
		if c, ok := column(i); ok {
			height := max(columnHeight, int(math.Sqrt(float64(2*count[c]))))
			moved[i] = seen[c] / height
			seen[c]++
		}
	}
	return moved
}

// sorted returns the edges by the box that they start from: each comes after those that lead to that.
func (d *Drawing) sorted() []edge {
	return slices.SortedStableFunc(slices.Values(d.edges), func(a, b edge) int { return a.from - b.from })
}
