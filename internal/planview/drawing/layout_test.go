package drawing

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// For random graphs, no two boxes overlap, edges go from left to right, and everything is inside
// the drawing.
func TestRandomLayouts(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		d := &Drawing{}
		n := 1 + r.IntN(60)
		sizes := make([]size, n)
		for i := range n {
			d.boxes = append(d.boxes, box{title: []string{fmt.Sprint(i)}, kind: kustomization})
			sizes[i] = size{40 + r.IntN(200), 20 + r.IntN(150)}
			for range r.IntN(3) {
				if i > 0 {
					d.edges = append(d.edges, edge{from: r.IntN(i), to: i, ways: []string{asResource}})
				}
			}
		}
		d.edges = distinct(d.edges)
		d.stagger()
		l := d.arrange(sizes, func(edge) int { return r.IntN(60) })
		for i, p := range l.boxes {
			if p.x < 0 || p.y < 0 || p.x+sizes[i].w > l.w || p.y+sizes[i].h > l.h {
				t.Fatalf("seed %d: box %d is outside", seed, i)
			}
			for j, q := range l.boxes[:i] {
				if p.x < q.x+sizes[j].w && q.x < p.x+sizes[i].w && p.y < q.y+sizes[j].h && q.y < p.y+sizes[i].h {
					t.Fatalf("seed %d: boxes %d and %d overlap", seed, i, j)
				}
			}
		}
		for i, way := range l.routes {
			for k := 1; k < len(way); k++ {
				if way[k].x < way[k-1].x {
					t.Fatalf("seed %d: edge %d goes back", seed, i)
				}
			}
			first, last := way[0], way[len(way)-1]
			from, to := l.boxes[d.edges[i].from], l.boxes[d.edges[i].to]
			if first.x != from.x+sizes[d.edges[i].from].w || last.x != to.x {
				t.Fatalf("seed %d: edge %d ends beside its boxes", seed, i)
			}
		}
	}
}
