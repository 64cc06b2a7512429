package drawing

// A Point is a position in a drawing, in pixels from its top left corner.
type Point struct{ X, Y int }

// Place computes the layout of n boxes of equal size with edges from left to right. Each edge
// must lead from a box to a box with a higher index. boxes holds the top left corner of each
// box. passes holds, for each edge, two points per column that it passes through: the column's
// left and right side.
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
