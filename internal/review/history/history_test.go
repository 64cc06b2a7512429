package history

import (
	"fmt"
	"testing"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// The step that introduced a value is found in a root with thousands of resources and steps.
func TestCulpritOfMany(t *testing.T) {
	const resources, steps = 3000, 1000
	before, after := krm.NewList(), krm.NewList()
	add := func(list *krm.List, i int, more ...yaml.Field) {
		t.Helper()
		name := yaml.MapOf(yaml.Field{Key: "name", Value: yaml.Str(fmt.Sprint("r", i))})
		r := krm.NewResource(yaml.MapOf(append(more, yaml.Field{Key: "kind", Value: yaml.Str("A")},
			yaml.Field{Key: "metadata", Value: name})...), nil)
		r.Pos = diag.Pos{File: "r.yaml", Line: i + 1}
		if err := list.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	for i := range resources {
		add(before, i)
		add(after, i, yaml.Field{Key: "bogus", Value: yaml.Str("b")})
	}
	h := &History{g: &graph.Graph{}, root: steps - 1}
	for i := range steps {
		n := &graph.Node{ID: fmt.Sprint(i)}
		if i > 0 {
			n.Inputs = []graph.NodeID{graph.NodeID(i - 1)}
		}
		h.g.Nodes = append(h.g.Nodes, n)
		h.lists = append(h.lists, after)
	}
	h.lists[0] = before
	begin := time.Now()
	for _, r := range after.All() {
		n := h.Culprit(func(x *krm.Resource) bool { return x.Pos == r.Pos && x.Value().Get("bogus").Exists() })
		if n == nil || n.ID != "1" {
			t.Fatalf("found %v, want step 1", n)
		}
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}
