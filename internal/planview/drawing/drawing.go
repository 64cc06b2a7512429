// Package drawing draws plans as boxes for layers or steps, with edges from inputs to their
// consumers. It writes the DOT language, Mermaid flowcharts and SVG.
//
// The output is deterministic. All text from a tree is escaped, so it cannot change the
// structure of a drawing.
package drawing

import (
	"math"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/layers"
)

// Options select the content of a drawing.
type Options struct {
	// Steps draws the nodes of the plan instead of its layers.
	Steps bool
	// Roots are the directories of the roots to draw, as named in the plan. If it is empty, all
	// roots are drawn.
	Roots []string
	// To draws only the dependencies of a layer or node, and itself. It is the directory or file
	// of a layer, or the ID of a node.
	To string
	// From draws only the consumers of a file, starting at the layers that read it. It is the
	// path of a file or the directory of a layer.
	From string
	// Path draws only the layers and references on the paths between two layers: see
	// [layers.Graph.Path].
	Path []layers.Step
	// Reduce omits references between layers that other references imply.
	Reduce bool
	// Fold draws similar boxes as one if there are many boxes.
	Fold bool
	// Legend adds a legend to the drawing.
	Legend bool
}

// A Drawing is a plan as boxes and edges. It is immutable after [New].
type Drawing struct {
	title  string
	boxes  []box // in topological order
	edges  []edge
	legend bool
}

// A box shows a layer, a run of steps of one layer, or several folded layers.
type box struct {
	title []string // the name, in lines
	note  string   // the kind and remarks; empty for a Kustomization
	kind  class
	root  bool
	many  bool // the box shows several layers
	lines []line
	verbs []string // verbs of the steps, without duplicates
	tip   string   // tooltip with the remaining text, one entry per line
}

// A line of a box shows the number of steps of one kind, or a single step.
type line struct {
	text string
	verb class
	like string // the text without its configuration, compared by fold
}

// An edge leads from an input to its consumer.
type edge struct {
	from, to int
	ways     []string // kinds of use, sorted
	len      int      // minimum number of columns it spans
}

// New draws a plan. It returns an error with suggestions if a name in the options is not part of
// the plan.
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

// addFailed adds one box for all roots that could not be planned.
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

// columnHeight is the maximum number of movable boxes in a column, unless there are hundreds:
// see [crowd].
const columnHeight = 12

// stagger sets the minimum span of each edge so that boxes spread over several columns.
//
// A plan often has hundreds of boxes without inputs, and hundreds of roots without consumers. If
// each set had a single column, the drawing would be a tall strip. stagger therefore moves a box
// at the end, together with the chain of boxes that lead only to it, to the right, and boxes
// without inputs to the left.
func (d *Drawing) stagger() {
	in, out, rank := make([]int, len(d.boxes)), make([]int, len(d.boxes)), make([]int, len(d.boxes))
	first := make([]int, len(d.boxes)) // the column of the first consumer
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
	tail := make([]bool, len(d.boxes)) // whether a single chain leads from the box to an end
	next := map[int]int{}
	for _, e := range d.edges {
		if out[e.from] == 1 && in[e.to] == 1 {
			next[e.from] = e.to
		}
	}
	inside := map[int]bool{} // tails whose chain starts earlier
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

// crowd returns the number of columns by which each box is moved. column returns the current
// column of a box and whether the box may be moved. Columns hold columnHeight boxes, or more if
// there are many, so that the drawing's width grows only with the square root of the number of
// boxes.
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

// sorted returns the edges by their start. Boxes are in topological order, so an edge follows
// all edges that lead to its start.
func (d *Drawing) sorted() []edge {
	return slices.SortedStableFunc(slices.Values(d.edges), func(a, b edge) int { return a.from - b.from })
}
