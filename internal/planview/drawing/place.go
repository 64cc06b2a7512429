package drawing

// A Point is a place in a drawing, in pixels from its left upper corner.
type Point struct{ X, Y int }

// Place finds places for n boxes of one size, so that edges lead from left to right: the left upper corner of each box, and for each edge the ends of
// the columns that it passes, of which there are two for each column. Each edge leads from a box to one with a higher number.
func Place(n, width, height int, edges [][2]int) (boxes []Point, passes [][]Point) {
	d := &Drawing{boxes: make([]box, n)}
	for _, e := range edges {
		d.edges = append(d.edges, edge{from: e[0], to: e[1]})
	}
	d.stagger()
	sizes := make([]size, n)
	for i := range sizes {
		sizes[i] = size{width, height}
	}
	l := d.arrange(sizes, func(edge) int { return 0 })
	for _, at := range l.boxes {
		boxes = append(boxes, Point{at.x, at.y})
	}
	for _, way := range l.routes {
		var between []Point
		for _, at := range way[2 : len(way)-1] {
			between = append(between, Point{at.x, at.y})
		}
		passes = append(passes, between)
	}
	return boxes, passes
}
