package planner_test

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/krmflow/krmflow/planner"
)

// A plan is data. Nothing has run yet, and the planner cannot run anything.
func ExampleCompile() {
	cwd, err := filepath.Abs("../testdata/kustomize/hello")
	if err != nil {
		fmt.Println(err)
		return
	}
	plan := planner.Compile(context.Background(), []string{"overlays/dev"}, planner.Options{Cwd: cwd, Reorder: "legacy"})
	if err := plan.Err(); err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range plan.Graph.Nodes {
		fmt.Println(n.Op.Verb(), n.ID)
	}
	// Output:
	// load base/kustomization.yaml#resources[0]
	// load base/kustomization.yaml#resources[1]
	// merge base/kustomization.yaml#resources
	// generate base/kustomization.yaml#configMapGenerator[0]
	// transform overlays/dev/kustomization.yaml#namePrefix
	// transform overlays/dev/kustomization.yaml#labels[0]
	// transform overlays/dev/kustomization.yaml#images[0]
	// finish overlays/dev/kustomization.yaml#finish
}
