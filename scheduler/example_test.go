package scheduler_test

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/scheduler"
)

// This is a complete render: plan, then run. A tree with functions also needs Options.Executor.
func Example() {
	cwd, err := filepath.Abs("../testdata/kustomize/hello")
	if err != nil {
		fmt.Println(err)
		return
	}
	plan := planner.Compile(context.Background(), []string{"overlays/dev"}, planner.Options{Cwd: cwd, Reorder: "legacy"})
	if err := plan.Err(); err != nil || len(plan.Denied) > 0 {
		fmt.Println(err, plan.Denied)
		return
	}
	errs := scheduler.Run(context.Background(), plan.Graph, scheduler.Options{Jobs: 2, Root: func(r graph.Root, l *krm.List) error {
		for _, resource := range l.All() {
			fmt.Println(r.Dir, resource.ID())
		}
		return nil // or l.WriteYAML(os.Stdout)
	}})
	fmt.Println(len(errs), "errors")
	// Output:
	// overlays/dev v1 ConfigMap dev-hello-config-gt6fcc52gg
	// overlays/dev v1 Service dev-hello
	// overlays/dev apps/v1 Deployment dev-hello
	// 0 errors
}
