package render_test

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
	"github.com/krmflow/krmflow/scheduler"
)

// tree is the absolute path of an example.
func tree(name string) string {
	dir, err := filepath.Abs("../testdata/kustomize/" + name)
	if err != nil {
		panic(err)
	}
	return dir
}

func Example() {
	result, err := render.Render(context.Background(), render.Options{
		Dirs: []string{"overlays/dev"},
		Plan: planner.Options{Cwd: tree("hello")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, w := range result.Plan.Warnings {
		fmt.Println("Warning:", w)
	}
	for _, resource := range result.Lists[0].All() {
		fmt.Println(resource.ID()) // or all of them as text: result.WriteYAML(os.Stdout)
	}
	// Output:
	// v1 ConfigMap dev-hello-config-gt6fcc52gg
	// v1 Service dev-hello
	// apps/v1 Deployment dev-hello
}

// The plan can be shown before it runs.
func ExampleCompile() {
	o := render.Options{Dirs: []string{"base"}, Plan: planner.Options{Cwd: tree("hello")}}
	plan, err := render.Compile(context.Background(), o)
	if err != nil || plan.Err() != nil {
		fmt.Println(err, plan.Err())
		return
	}
	for _, step := range plan.Graph.Nodes {
		fmt.Println(step.Op.Verb(), step.ID)
	}
	o.Run = scheduler.Options{Jobs: 4, Root: func(r graph.Root, list *krm.List) error {
		fmt.Println(r.Dir, "has", list.Len(), "resources")
		return nil
	}}
	if err := render.Run(context.Background(), plan, o); err != nil {
		fmt.Println(err)
	}
	// Output:
	// load base/kustomization.yaml#resources[0]
	// load base/kustomization.yaml#resources[1]
	// merge base/kustomization.yaml#resources
	// generate base/kustomization.yaml#configMapGenerator[0]
	// finish base/kustomization.yaml#finish
	// base has 3 resources
}
