package layers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	dgraph "github.com/dominikbraun/graph"
)

// graphOf returns the graph of lines such as "a: b c": a uses b and c.
func graphOf(lines ...string) *Graph {
	var all []*Layer
	for _, line := range lines {
		name, uses, _ := strings.Cut(line, ":")
		l := &Layer{File: name + "/k"}
		for i, u := range strings.Fields(uses) {
			l.Uses = append(l.Uses, Use{Field: fmt.Sprintf("resources[%d]", i), Layer: u + "/k"})
		}
		all = append(all, l)
	}
	return New(all)
}

func text(steps []Step) string {
	var b strings.Builder
	for i, s := range steps {
		if i == 0 {
			b.WriteString(s.From)
		}
		fmt.Fprintf(&b, " %s %s", s.Field, s.Layer)
	}
	return b.String()
}

func TestPathLeadsThroughReferences(t *testing.T) {
	g := graphOf("top: z a", "z: base", "a: base", "base: deep", "deep:", "alone:")
	for _, c := range []struct{ from, to, want string }{
		{"top/k", "deep/k", "top/k resources[1] a/k resources[0] base/k resources[0] deep/k"},
		{"top/k", "z/k", "top/k resources[0] z/k"},
		{"top/k", "top/k", ""},
	} {
		if path, ok := g.Path(c.from, c.to); !ok || text(path) != c.want {
			t.Errorf("%s to %s: %s, %v", c.from, c.to, text(path), ok)
		}
	}
	for _, c := range [][2]string{{"deep/k", "top/k"}, {"top/k", "alone/k"}} {
		if path, ok := g.Path(c[0], c[1]); ok {
			t.Errorf("%s to %s: %s", c[0], c[1], text(path))
		}
	}
	if d := g.Above("deep/k"); len(d) != 5 || d["top/k"] != 3 || d["deep/k"] != 0 {
		t.Errorf("above: %v", d)
	}
	if d := g.Below("z/k", "a/k", "a/k"); len(d) != 4 || d["deep/k"] != 2 {
		t.Errorf("below: %v", d)
	}
	if l := g.Named("top"); l == nil || l.File != "top/k" {
		t.Error("top is not known by its directory")
	}
}

func TestCyclesAreFound(t *testing.T) {
	g := graphOf("c: d", "d: e c", "e: c", "a: b", "b: c", "x: x")
	var got []string
	for _, c := range g.Cycles() {
		got = append(got, text(c))
	}
	want := []string{"c/k resources[0] d/k resources[1] c/k", "x/k resources[0] x/k"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// random returns a graph in which each layer uses some of the earlier layers.
func random(rnd *rand.Rand, layers, uses int) *Graph {
	lines := make([]string, layers)
	for i := range lines {
		lines[i] = fmt.Sprintf("l%d:", i)
		for range min(i, rnd.IntN(uses+1)) {
			lines[i] += fmt.Sprintf(" l%d", rnd.IntN(i))
		}
	}
	return graphOf(lines...)
}

// TestImpliedMatchesTransitiveReduction checks that the implied references are the references that
// the library's transitive reduction removes, on small graphs.
func TestImpliedMatchesTransitiveReduction(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	left := 0
	for round := range 200 {
		g := random(rnd, 2+rnd.IntN(25), 5)
		reduced, err := dgraph.TransitiveReduction(g.graph())
		if err != nil {
			t.Fatal(err)
		}
		kept, err := reduced.AdjacencyMap()
		if err != nil {
			t.Fatal(err)
		}
		implied := g.Implied()
		left += len(implied)
		for _, l := range g.All() {
			for _, u := range l.Uses {
				if _, keep := kept[l.File][u.Layer]; keep == implied[Step{l.File, u}] {
					t.Fatalf("round %d: %s -> %s: kept %v", round, l.File, u.Layer, keep)
				}
			}
		}
	}
	if left < 100 {
		t.Errorf("only %d references were left out", left)
	}
}

// BenchmarkLayers measures 5,000 layers whose references cross.
func BenchmarkLayers(b *testing.B) {
	g := random(rand.New(rand.NewPCG(1, 2)), 5000, 4)
	b.Run("implied", func(b *testing.B) {
		for b.Loop() {
			g.Implied()
		}
	})
	b.Run("path", func(b *testing.B) {
		for b.Loop() {
			g.Path("l4999/k", "l0/k")
		}
	})
	b.Run("cycles", func(b *testing.B) {
		for b.Loop() {
			g.Cycles()
		}
	})
	b.Run("library", func(b *testing.B) {
		for b.Loop() {
			if _, err := dgraph.TransitiveReduction(g.graph()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkNew(b *testing.B) {
	g := random(rand.New(rand.NewPCG(1, 2)), 5000, 4)
	for b.Loop() {
		New(g.All()).graph()
	}
}
