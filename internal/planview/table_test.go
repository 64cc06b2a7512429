package planview

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// Any number of roots, nested in any way, fits into a few lines, and each root is counted once.
func TestFoldCountsEachRootOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var rows []*row
		seen := map[string]bool{}
		for range 1 + r.IntN(1500) {
			parent := "."
			for range r.IntN(6) {
				parent = fmt.Sprintf("%s/d%d", parent, r.IntN(1+r.IntN(30)))
			}
			name := fmt.Sprint("r", r.IntN(50))
			if seen[parent+"/"+name] {
				continue
			}
			seen[parent+"/"+name] = true
			rows = append(rows, &row{parent: parent, names: []string{name}, roots: 1, known: 1, resources: 2, minLayers: 1, maxLayer: 3})
		}
		folded := fold(rows, maxRows)
		if len(folded) > maxTop {
			t.Fatalf("%d rows of %d", len(folded), len(rows))
		}
		if len(rows) <= maxRows && len(folded) != len(rows) {
			t.Fatalf("%d rows of %d", len(folded), len(rows))
		}
		roots, resources := 0, 0
		for _, x := range folded {
			roots += x.roots
			resources += x.resources
		}
		if roots != len(rows) || resources != 2*len(rows) {
			t.Fatalf("%d roots and %d resources, want %d", roots, resources, len(rows))
		}
	}
}

// Adding up roots takes linear time, even if each root has a different error.
func TestManyMistakes(t *testing.T) {
	begin := time.Now()
	sum := &row{}
	const n = 20000
	for i := range n {
		sum.add(&row{roots: 1, mistakes: map[string]bool{fmt.Sprint("mistake ", i): true}, changes: map[string]int{"patches": 2}})
	}
	if len(sum.mistakes) != n || sum.roots != n || sum.changes["patches"] != 2*n {
		t.Errorf("%d mistakes, %d roots, %d patches; want %d, %d, %d", len(sum.mistakes), sum.roots, sum.changes["patches"], n, n, 2*n)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}
