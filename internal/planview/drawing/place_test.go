package drawing_test

import (
	"math/rand/v2"
	"testing"

	"github.com/krmflow/krmflow/internal/planview/drawing"
)

// No two boxes overlap, and edges and their bend points lead to the right.
func TestPlacedBoxesDoNotOverlap(t *testing.T) {
	const w, h = 100, 30
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		n := r.IntN(60)
		var edges [][2]int
		for to := 1; to < n; to++ {
			for range r.IntN(3) {
				edges = append(edges, [2]int{r.IntN(to), to})
			}
		}
		boxes, passes := drawing.Place(n, w, h, edges)
		if len(boxes) != n || len(passes) != len(edges) {
			t.Fatalf("seed %d: %d boxes and %d ways", seed, len(boxes), len(passes))
		}
		for i, a := range boxes {
			for _, b := range boxes[:i] {
				if a.X < b.X+w && b.X < a.X+w && a.Y < b.Y+h && b.Y < a.Y+h {
					t.Fatalf("seed %d: boxes at %v and %v", seed, a, b)
				}
			}
		}
		for i, e := range edges {
			x := boxes[e[0]].X + w
			for _, p := range append(passes[i], drawing.Point{X: boxes[e[1]].X}) {
				if p.X < x {
					t.Fatalf("seed %d: the way of %v goes back: %v", seed, e, passes[i])
				}
				x = p.X
			}
			if len(passes[i])%2 != 0 {
				t.Fatalf("seed %d: %d points", seed, len(passes[i]))
			}
		}
	}
}
