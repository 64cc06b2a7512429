package graph_test

import (
	"context"
	"fmt"

	"github.com/krmflow/krmflow/graph"
)

// A graph is plain data. Whoever walks it says what a node means: here its verb is printed.
func ExampleWalk() {
	g := &graph.Graph{}
	deployment := g.Add(&graph.Node{ID: "kustomization.yaml#resources[0]", Op: graph.Load{}})
	service := g.Add(&graph.Node{ID: "kustomization.yaml#resources[1]", Op: graph.Load{}})
	both := g.Add(&graph.Node{ID: "kustomization.yaml#resources", Op: graph.Merge{}, Inputs: []graph.NodeID{deployment, service}})
	g.Roots = []graph.Root{{Dir: ".", Node: both}}
	errs := graph.Walk(context.Background(), g, 1, false, func(_ graph.NodeID, n *graph.Node) error {
		fmt.Println(n.Op.Verb(), n.ID, len(n.Inputs))
		return nil
	})
	fmt.Println(len(errs), "errors")
	// Output:
	// load kustomization.yaml#resources[0] 0
	// load kustomization.yaml#resources[1] 0
	// merge kustomization.yaml#resources 2
	// 0 errors
}
