package graph_test

import (
	"fmt"

	"github.com/krmflow/krmflow/graph"
)

// A graph is plain data, in an order in which it can run: a node refers to inputs that were added
// before it. If a node is left out, its inputs are passed to its consumers.
func ExampleGraph() {
	g := &graph.Graph{}
	load := g.Add(&graph.Node{ID: "kustomization.yaml#resources[0]", Op: graph.Load{}})
	prefix := g.Add(&graph.Node{ID: "kustomization.yaml#namePrefix", Op: graph.Transform{}, Inputs: []graph.NodeID{load}, Summary: "prod-"})
	finish := g.Add(&graph.Node{ID: "kustomization.yaml#finish", Op: graph.Finish{}, Inputs: []graph.NodeID{prefix}})
	g.Roots = []graph.Root{{Dir: ".", Node: finish}}
	less, ok := g.Without("kustomization.yaml#namePrefix")
	fmt.Println(ok)
	for _, n := range less.Nodes {
		fmt.Println(n.Op.Verb(), n.ID, n.Inputs)
	}
	// Output:
	// true
	// load kustomization.yaml#resources[0] []
	// finish kustomization.yaml#finish [0]
}
