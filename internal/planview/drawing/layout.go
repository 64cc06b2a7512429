package drawing

import (
	"cmp"
	"math"
	"slices"
)

// The layout is that of Sugiyama: each box has a column behind those that lead to it, edges that pass a column have a place of their own in it,
// the places of a column are sorted by what they are connected with, and then moved as near to that as can be. All numbers are
// integers: floating-point numbers are not the same on all machines.

const (
	columnGap = 44
	boxGap    = 14
	lineGap   = 9 // between edges that pass a column
	partGap   = 28
	// maxPlaces bounds the places of edges in columns that they pass: what has more goes straight.
	maxPlaces = 20000
	sweeps    = 8
)

type (
	size  struct{ w, h int }
	point struct{ x, y int }
	// route is the way of an edge: its points come in pairs, from the end of a column to the beginning of the next one.
	route []point
)

// place is a box, or an edge that passes a column.
type place struct {
	box       int // -1 for an edge
	rank, pos int // its column, and its number there
	size
	y         int // of its middle
	ins, outs []*place
}

// layout says where everything is.
type layout struct {
	size
	boxes  []point // left upper corners
	routes []route
}

// arrange finds a place for boxes of these sizes. label returns how much room the label of an edge needs.
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

// cluster is a part of the drawing that is connected.
type cluster struct {
	boxes, edges []int // numbers in the drawing
	columns      [][]*place
	places       map[int]*place // of boxes
	ways         [][]*place     // of edges, as far as they have places
	x, wide      []int          // of columns
	size
}

// components returns the parts of the drawing that are not connected with each other.
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

// rank gives each box a column: as far to the left as can be, and if nothing leads to it as far to the right.
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

// connect gives each edge a place in the columns that it passes.
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

// order sorts the places of columns so that few edges cross: by the mean of the numbers of what they are connected with, to and fro.
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

// crossings returns how many edges between neighbouring columns cross.
func (c *cluster) crossings() (n int) {
	for i := 1; i < len(c.columns); i++ {
		counts := make([]int, len(c.columns[i])+1) // a Fenwick tree: how many edges end at each place
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

// align moves the places of columns up and down, in their order, towards what they are connected with.
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

// distance returns how far the middles of neighbours are apart at least.
func distance(a, b *place) int {
	gap := boxGap
	if a.box < 0 || b.box < 0 {
		gap = lineGap
	}
	return (a.h+1)/2 + (b.h+1)/2 + gap
}

// settle moves each place of a column as near as can be to the mean of what it is connected with, so that the sum of the squares is least:
// places that would overlap become a block, which moves together.
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
					weight += 6 // edges shall be straight where they are long
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

// floor divides a by b, which is positive.
func floor(a, b int) int {
	if a < 0 {
		return -((-a + b - 1) / b)
	}
	return a / b
}

// pack puts components into rows, the highest first.
func (l *layout) pack(list []*cluster) {
	area, widest := 0, 0
	for _, c := range list {
		area += (c.w + partGap) * (c.h + partGap)
		widest = max(widest, c.w)
	}
	slices.SortStableFunc(list, func(a, b *cluster) int { return cmp.Compare(b.h, a.h) })
	width := max(widest, int(math.Sqrt(float64(area)*1.8)))
	type stack struct{ x, w, end int } // of components below each other
	var row []stack
	x, end := 0, 0 // of the row
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

// put says where the boxes and edges of a component are that begins at p.
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
