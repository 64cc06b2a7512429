package scheduler_test

import (
	"testing"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
)

// TestKeysLast compiles trees twice and renders one of the graphs. The keys of the steps must be
// the same in both, before and after.
func TestKeysLast(t *testing.T) {
	dirs := goldenRoots(t)
	g, again := compile(t, dirs...), compile(t, dirs...)
	before, other := keys(g), keys(again)
	render(t, g, 2)
	after := keys(g)
	for i, n := range g.Nodes {
		if before[i] != after[i] || before[i] != other[i] {
			t.Errorf("%s has the keys %s, %s after a run and %s in another graph", n.ID, before[i], after[i], other[i])
		}
	}
}

func keys(g *graph.Graph) (keys []krm.Digest) {
	for _, n := range g.Nodes {
		keys = append(keys, n.Op.Key())
	}
	return keys
}
