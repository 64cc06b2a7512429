package scheduler_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/eval"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/planner"
)

// TestCodec renders trees with every list between two nodes encoded and decoded: nothing that a later step looks at gets lost. With
// KRMFLOW_TEST_TREES it takes the Kustomizations in that folder, too.
func TestCodec(t *testing.T) {
	dirs := goldenRoots(t)
	compareDecoded(t, compile(t, dirs...))
	root := os.Getenv("KRMFLOW_TEST_TREES")
	if root == "" {
		return
	}
	lists := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "kustomization.yaml" {
			return err
		}
		plan := planner.Compile(t.Context(), []string{filepath.Dir(path)}, planner.Options{Cwd: "/", Reorder: "legacy"})
		if plan.Err() == nil && len(plan.Denied) == 0 {
			lists += compareDecoded(t, plan.Graph)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d lists", lists)
}

// compareDecoded renders g from decoded lists and compares each list, and what it prints, with that of a run without them.
func compareDecoded(t *testing.T, g *graph.Graph) (count int) {
	t.Helper()
	schemas := map[[32]byte]*schema.Schema{}
	for _, n := range g.Nodes {
		if op, ok := n.Op.(graph.Load); ok {
			schemas[op.Schema.Key()] = op.Schema
		}
		if op, ok := n.Op.(graph.Generate); ok {
			schemas[op.Schema.Key()] = op.Schema
		}
	}
	plain, decoded := make([]*krm.List, len(g.Nodes)), make([]*krm.List, len(g.Nodes))
	run := func(n *graph.Node, lists []*krm.List) (*krm.List, error) {
		var inputs []eval.Input
		for _, in := range n.Inputs {
			inputs = append(inputs, eval.Input{List: lists[in]})
		}
		return eval.Run(n.Op, inputs, func(diag.Code, string, ...any) {})
	}
	for i, n := range g.Nodes {
		want, err := run(n, plain)
		if err != nil {
			return count // trees with mistakes
		}
		got, err := run(n, decoded)
		if err != nil {
			t.Fatalf("%s: only from decoded lists: %v", n.ID, err)
		}
		data := want.AppendBinary(nil)
		if !bytes.Equal(data, got.AppendBinary(nil)) || !bytes.Equal(want.AppendYAML(nil), got.AppendYAML(nil)) {
			t.Fatalf("%s: from decoded lists comes something else:\n%q\nwant:\n%q", n.ID, got.AppendBinary(nil), data)
		}
		if decoded[i], err = krm.ReadList(data, func(key [32]byte) *schema.Schema { return schemas[key] }); err != nil {
			t.Fatalf("%s: %v", n.ID, err)
		}
		if !bytes.Equal(data, decoded[i].AppendBinary(nil)) {
			t.Fatalf("%s: the list is another one when it was decoded", n.ID)
		}
		plain[i] = want
		count++
	}
	return count
}

// TestKeysLast compiles trees twice and renders one of the graphs: the keys of the steps are the same in both, before and after.
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
