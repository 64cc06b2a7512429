package drawing

import (
	"cmp"
	"math"
	"slices"
)

// The layout follows Sugiyama's method. Each box gets a column to the right of its inputs. Edges
// that pass through a column get a place of their own in it. The places of each column are
// sorted to reduce crossings, and then moved toward their neighbors. All numbers are integers,
// because floating-point results can differ between machines and drawings must be deterministic.

const (
	columnGap = 44
	boxGap    = 14
	lineGap   = 9 // between edges that pass through a column
	partGap   = 28
	// maxPlaces bounds the total number of places for passing edges. Further edges are drawn as
	// straight curves from box to box.
	maxPlaces = 20000
	sweeps    = 8
)

type (
	size  struct{ w, h int }
	point struct{ x, y int }
	// route is the path of an edge. Its points come in pairs: the right side of a column and the
	// left side of the next one.
	route []point
)

// place is a box, or a passing edge, in a column.
type place struct {
	box       int // -1 for an edge
	rank, pos int // column, and index in the column
	size
	y         int // y of the center
	ins, outs []*place
}

// layout holds the coordinates of a drawing.
type layout struct {
	size
	boxes  []point // top left corners
	routes []route
}

// arrange computes the layout for boxes of the given sizes. label returns the width of an edge's
// label.
func (d *Drawing) arrange(sizes []size, label func(edge) int) layout {
	l := layout{boxes: make([]point, len(d.boxes)), routes: make([]route, len(d.edges))}
	var done []*cluster
	for _, c := range d.components() {
		c.arrange(d, sizes, label)
		done = append(done, c)
	}
	l.pack(done)
	return l
}

// cluster is a connected component of the drawing.
type cluster struct {
	boxes, edges []int // indexes in the drawing
	columns      [][]*place
	places       map[int]*place // of boxes, by index
	ways         [][]*place     // the places each edge passes through, including both ends
	x, wide      []int          // of columns
	size
}

// components returns the connected components of the drawing.
func (d *Drawing) components() []*cluster {
	up := make([]int, len(d.boxes))
	for i := range up {
		up[i] = i
	}
	find := func(i int) int {
		for up[i] != i {
			up[i] = up[up[i]]
			i = up[i]
		}
		return i
	}
	for _, e := range d.edges {
		a, b := find(e.from), find(e.to)
		up[max(a, b)] = min(a, b)
	}
	of := map[int]*cluster{}
	var all []*cluster
	for i := range d.boxes {
		c := of[find(i)]
		if c == nil {
			c = &cluster{}
			of[find(i)] = c
			all = append(all, c)
		}
		c.boxes = append(c.boxes, i)
	}
	for i, e := range d.edges {
		c := of[find(e.from)]
		c.edges = append(c.edges, i)
	}
	return all
}

func (c *cluster) arrange(d *Drawing, sizes []size, label func(edge) int) {
	c.rank(d, sizes)
	c.connect(d)
	c.order()
	c.align()
	gaps := make([]int, len(c.columns))
	for _, i := range c.edges {
		e := d.edges[i]
		r := c.places[e.to].rank
		gaps[r] = max(gaps[r], label(e))
	}
	c.x, c.wide = make([]int, len(c.columns)), make([]int, len(c.columns))
	x := 0
	for r, column := range c.columns {
		if r > 0 {
			x += columnGap + gaps[r]
		}
		c.x[r] = x
		for _, p := range column {
			c.wide[r] = max(c.wide[r], p.w)
		}
		x += c.wide[r]
	}
	c.w = x
	top := math.MaxInt
	for _, column := range c.columns {
		top = min(top, column[0].y-column[0].h/2)
	}
	for _, column := range c.columns {
		for _, p := range column {
			p.y -= top
			c.h = max(c.h, p.y+p.h-p.h/2)
		}
	}
}

// rank assigns a column to each box: the leftmost one to the right of its inputs. A box without
// inputs moves right, next to its nearest consumer. Unused columns are removed.
func (c *cluster) rank(d *Drawing, sizes []size) {
	c.places = map[int]*place{}
	for _, i := range c.boxes {
		c.places[i] = &place{box: i, size: sizes[i]}
	}
	edges := make([]edge, len(c.edges))
	for i, n := range c.edges {
		edges[i] = d.edges[n]
	}
	slices.SortStableFunc(edges, func(a, b edge) int { return cmp.Compare(a.from, b.from) })
	leads := map[int]bool{}
	for _, e := range edges {
		c.places[e.to].rank = max(c.places[e.to].rank, c.places[e.from].rank+e.len)
		leads[e.to] = true
	}
	right := map[int]int{}
	for _, e := range edges {
		to := c.places[e.to].rank - e.len
		if r, ok := right[e.from]; !leads[e.from] && (!ok || to < r) {
			right[e.from] = to
		}
	}
	for i, r := range right {
		c.places[i].rank = r
	}
	used := map[int]int{}
	for _, i := range c.boxes {
		used[c.places[i].rank] = 0
	}
	ranks := make([]int, 0, len(used))
	for r := range used {
		ranks = append(ranks, r)
	}
	slices.Sort(ranks)
	for i, r := range ranks {
		used[r] = i
	}
	c.columns = make([][]*place, len(ranks))
	for _, i := range c.boxes {
		p := c.places[i]
		p.rank = used[p.rank]
		c.columns[p.rank] = append(c.columns[p.rank], p)
	}
}

// connect gives each edge a place in each column that it passes through.
func (c *cluster) connect(d *Drawing) {
	n := 0
	c.ways = make([][]*place, len(c.edges))
	for i, number := range c.edges {
		e := d.edges[number]
		at, to := c.places[e.from], c.places[e.to]
		c.ways[i] = []*place{at}
		if n += to.rank - at.rank - 1; n < maxPlaces {
			for r := at.rank + 1; r < to.rank; r++ {
				p := &place{box: -1, rank: r}
				c.columns[r] = append(c.columns[r], p)
				at.outs, p.ins = append(at.outs, p), append(p.ins, at)
				c.ways[i] = append(c.ways[i], p)
				at = p
			}
		}
		at.outs, to.ins = append(at.outs, to), append(to.ins, at)
		c.ways[i] = append(c.ways[i], to)
	}
}

// order sorts the places of the columns to reduce crossings. It uses the barycenter heuristic:
// places are sorted by the mean position of their neighbors, alternately on the left and on the
// right side. The best result of all sweeps is kept.
func (c *cluster) order() {
	c.number()
	best, least := c.copy(), c.crossings()
	for s := range sweeps {
		for i := range c.columns {
			column, side := c.columns[i], func(p *place) []*place { return p.ins }
			if s%2 == 1 {
				column, side = c.columns[len(c.columns)-1-i], func(p *place) []*place { return p.outs }
			}
			mean := make(map[*place]int, len(column))
			for _, p := range column {
				mean[p] = p.pos * 1000
				if list := side(p); len(list) > 0 {
					sum := 0
					for _, q := range list {
						sum += q.pos
					}
					mean[p] = sum * 1000 / len(list)
				}
			}
			slices.SortStableFunc(column, func(a, b *place) int { return cmp.Compare(mean[a], mean[b]) })
			for i, p := range column {
				p.pos = i
			}
		}
		if n := c.crossings(); n < least {
			best, least = c.copy(), n
		}
	}
	c.columns = best
	c.number()
}

func (c *cluster) number() {
	for _, column := range c.columns {
		for i, p := range column {
			p.pos = i
		}
	}
}

func (c *cluster) copy() [][]*place {
	out := make([][]*place, len(c.columns))
	for i, column := range c.columns {
		out[i] = slices.Clone(column)
	}
	return out
}

// crossings returns the number of crossings between edges of adjacent columns.
func (c *cluster) crossings() (n int) {
	for i := 1; i < len(c.columns); i++ {
		// counts is a Fenwick tree of the number of edges that end at each place.
		counts := make([]int, len(c.columns[i])+1)
		total := 0
		for _, p := range c.columns[i-1] {
			var ends []int
			for _, q := range p.outs {
				if q.rank == i {
					ends = append(ends, q.pos+1)
				}
			}
			for _, end := range ends {
				n += total
				for j := end; j > 0; j &= j - 1 {
					n -= counts[j]
				}
			}
			for _, end := range ends {
				total++
				for j := end; j < len(counts); j += j & -j {
					counts[j]++
				}
			}
		}
	}
	return n
}

// align moves the places of the columns vertically toward their neighbors and keeps their order.
func (c *cluster) align() {
	for _, column := range c.columns {
		y := 0
		for i, p := range column {
			if i > 0 {
				y += distance(column[i-1], p)
			}
			p.y = y
		}
	}
	for s := range sweeps {
		for i := range c.columns {
			if s%2 == 0 {
				settle(c.columns[i], func(p *place) []*place { return p.ins })
			} else {
				settle(c.columns[len(c.columns)-1-i], func(p *place) []*place { return p.outs })
			}
		}
	}
	for _, column := range c.columns {
		settle(column, func(p *place) []*place { return slices.Concat(p.ins, p.outs) })
	}
}

// distance returns the minimum vertical distance between the centers of adjacent places.
func distance(a, b *place) int {
	gap := boxGap
	if a.box < 0 || b.box < 0 {
		gap = lineGap
	}
	return (a.h+1)/2 + (b.h+1)/2 + gap
}

// settle moves the places of a column toward the mean of their neighbors such that the weighted
// sum of squared distances is minimal. This is isotonic regression by pooling: places that would
// overlap become a block, and a block moves as a whole.
func settle(column []*place, side func(*place) []*place) {
	type block struct{ first, sum, weight int }
	var blocks []block
	offset := make([]int, len(column))
	for i, p := range column {
		if i > 0 {
			offset[i] = offset[i-1] + distance(column[i-1], p)
		}
		want, weight := p.y, 1
		if list := side(p); len(list) > 0 {
			sum := 0
			for _, q := range list {
				sum += q.y
				if q.box < 0 && p.box < 0 {
					weight += 6 // keep long edges straight
				}
			}
			want, weight = sum/len(list), weight+2
		}
		b := block{i, (want - offset[i]) * weight, weight}
		for len(blocks) > 0 {
			last := blocks[len(blocks)-1]
			if last.sum*b.weight < b.sum*last.weight {
				break
			}
			b = block{last.first, last.sum + b.sum, last.weight + b.weight}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	for i, b := range blocks {
		end := len(column)
		if i+1 < len(blocks) {
			end = blocks[i+1].first
		}
		for j := b.first; j < end; j++ {
			column[j].y = floor(b.sum, b.weight) + offset[j]
		}
	}
}

// floor returns a divided by b, rounded down. b must be positive.
func floor(a, b int) int {
	if a < 0 {
		return -((-a + b - 1) / b)
	}
	return a / b
}

// pack arranges the components in rows, the tallest first.
func (l *layout) pack(list []*cluster) {
	area, widest := 0, 0
	for _, c := range list {
		area += (c.w + partGap) * (c.h + partGap)
		widest = max(widest, c.w)
	}
	slices.SortStableFunc(list, func(a, b *cluster) int { return cmp.Compare(b.h, a.h) })
	width := max(widest, int(math.Sqrt(float64(area)*1.8)))
	type stack struct{ x, w, end int } // components below each other
	var row []stack
	x, end := 0, 0 // of the current row
	for _, c := range list {
		i := slices.IndexFunc(row, func(s stack) bool { return c.w <= s.w && s.end+partGap+c.h <= end })
		switch {
		case i >= 0:
			c.put(l, point{row[i].x, row[i].end + partGap})
			row[i].end += partGap + c.h
			continue
		case len(row) == 0 || x+c.w > width:
			if len(row) > 0 {
				l.h = end + partGap
			}
			row, x, end = nil, 0, l.h+c.h
		}
		c.put(l, point{x, l.h})
		row = append(row, stack{x, c.w, l.h + c.h})
		x += c.w + partGap
		l.w = max(l.w, x-partGap)
	}
	l.h = end
}

// put sets the coordinates of the boxes and edges of a component whose top left corner is p.
func (c *cluster) put(l *layout, p point) {
	for _, i := range c.boxes {
		b := c.places[i]
		l.boxes[i] = point{p.x + c.x[b.rank], p.y + b.y - b.h/2}
	}
	for i, number := range c.edges {
		var r route
		for j, at := range c.ways[i] {
			left, right := point{p.x + c.x[at.rank], p.y + at.y}, point{p.x + c.x[at.rank] + c.wide[at.rank], p.y + at.y}
			switch {
			case j == 0:
				r = append(r, point{p.x + c.x[at.rank] + at.w, p.y + at.y}, right)
			case j == len(c.ways[i])-1:
				r = append(r, left)
			default:
				r = append(r, left, right)
			}
		}
		l.routes[number] = r
	}
}
