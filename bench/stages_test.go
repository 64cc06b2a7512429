package bench

import (
	"context"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/scheduler"
)

// compile writes t to a temporary folder and returns a function that plans it.
func compile(b *testing.B, t Tree) (plan func() *planner.Plan) {
	b.Helper()
	dir := b.TempDir()
	if err := Write(b.Context(), dir, t, 1); err != nil {
		b.Fatal(err)
	}
	var roots []string
	for _, root := range t.Roots {
		roots = append(roots, filepath.Join(dir, filepath.FromSlash(root)))
	}
	return func() *planner.Plan {
		p := planner.Compile(context.Background(), roots, planner.Options{Cwd: dir, Reorder: "none"})
		if err := p.Err(); err != nil {
			b.Fatal(err)
		}
		return p
	}
}

// lists runs g and returns the lists of its roots.
func lists(b testing.TB, g *graph.Graph) []*krm.List {
	b.Helper()
	var mu sync.Mutex
	var out []*krm.List
	errs := scheduler.Run(context.Background(), g, scheduler.Options{Jobs: 1, Root: func(_ graph.Root, list *krm.List) error {
		mu.Lock()
		defer mu.Unlock()
		out = append(out, list)
		return nil
	}})
	if len(errs) > 0 || len(out) != len(g.Roots) {
		b.Fatalf("%d lists of %d roots, errors %v", len(out), len(g.Roots), errs)
	}
	return out
}

// unfinished returns g without the finishing steps of its roots.
func unfinished(g *graph.Graph) *graph.Graph {
	out := &graph.Graph{Roots: g.Roots}
	for _, n := range g.Nodes {
		if _, finish := n.Op.(graph.Finish); finish {
			copied := *n
			copied.Op = graph.Merge{}
			n = &copied
		}
		out.Add(n)
	}
	return out
}

// BenchmarkStages measures the stages of a render separately, one after the other on one goroutine.
// The stage plan includes reading and parsing; the stage parse measures parsing alone.
func BenchmarkStages(b *testing.B) {
	for _, t := range []Tree{Flat(1000), Flat(4000), Overlays(100, 20), Chain(30, 100), Nested(1000), Replacements(400), CRDs(5 << 20),
		JSONPatches(1000), ReplaceAll(400)} {
		b.Run(t.Name, func(b *testing.B) {
			plan := compile(b, t)
			p := plan()
			b.Run("parse", func(b *testing.B) {
				b.ReportAllocs()
				size := int64(0)
				for _, src := range p.Files() {
					size += int64(len(src.Data))
				}
				b.SetBytes(size)
				for b.Loop() {
					for _, src := range p.Files() {
						_, _ = krm.Resources(&yaml.Source{File: src.File, Data: src.Data}, nil) // a Kustomization has no name
					}
				}
			})
			b.Run("plan", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					plan()
				}
			})
			before := unfinished(p.Graph)
			b.Run("transform", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					lists(b, before)
				}
			})
			renamed := lists(b, before)
			b.Run("references", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					for _, list := range renamed {
						if err := builtins.FixNameReferences(list.Clone(), builtins.DefaultConfig().NameReference); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
			done := lists(b, p.Graph)
			b.Run("emit", func(b *testing.B) {
				b.ReportAllocs()
				var size counter
				for _, list := range done {
					_ = list.WriteYAML(&size)
				}
				b.SetBytes(int64(size))
				for b.Loop() {
					for _, list := range done {
						_ = list.WriteYAML(io.Discard)
					}
				}
			})
		})
	}
}

// counter counts the bytes written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// TestMemoryGrowsLinearly detects work that grows faster than the tree. It measures allocated
// bytes, because they do not depend on the load of the machine.
func TestMemoryGrowsLinearly(t *testing.T) {
	allocated := func(n int) float64 {
		dir := t.TempDir()
		if err := Write(t.Context(), dir, Flat(n), 1); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p := planner.Compile(context.Background(), []string{dir}, planner.Options{Cwd: dir, Reorder: "legacy"})
		for _, list := range lists(t, p.Graph) {
			_ = list.WriteYAML(io.Discard)
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	allocated(10) // one-time allocations
	few, many := allocated(300), allocated(3000)
	if exponent := math.Log10(many / few); few == 0 || exponent > 1.1 {
		t.Errorf("%.0f bytes for 300 resources, %.0f for 3,000: the exponent is %.2f, want at most 1.1", few, many, exponent)
	}
}
