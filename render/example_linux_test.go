package render_test

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/krmflow/krmflow/executors/exec"
	"github.com/krmflow/krmflow/executors/probe"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
	"github.com/krmflow/krmflow/scheduler"
	"github.com/krmflow/krmflow/trust"
)

// Functions run if they are in a catalog that the caller trusts, here pinned by its digest, and if
// there is an executor. The executor for programs runs each call in a sandbox, for which it starts
// the calling program itself. Keep one executor for the lifetime of the program.
func Example_function() {
	programs := exec.New()
	defer programs.Close()
	catalog, err := filepath.Abs("../testdata/examples/webapp/catalog.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	o := render.Options{Dirs: []string{"dev"}, Plan: planner.Options{Cwd: filepath.Dir(catalog)}}
	_, err = render.Render(context.Background(), o)
	fmt.Println(err) // nothing is trusted

	o.Plan.Functions.Trusted = []trust.Source{{Ref: catalog + "#sha256=fa510d9b10a3b4112067472f401d52c9101f3cdaccf6c0baa75a2bec746dc7d3"}}
	o.Plan.Functions.Isolation = probe.Isolation
	o.Run.Executor = func(function.Runtime) (scheduler.Executor, error) { return programs, nil }
	result, err := render.Render(context.Background(), o)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, resource := range result.Lists[0].All() {
		fmt.Println(resource.ID())
	}
	// Output:
	// base/composition.yaml:12: example.com/v1 WebApp/shop: the function is not known: no catalog is trusted
	//   it is needed by dev/composition.yaml#WebApp/shop
	//   base/composition.yaml:5 names catalog ../catalog.yaml, which is not trusted; to trust it add --trusted-plugin-catalog=catalog.yaml
	// v1 ServiceAccount shop-dev/shop
	// v1 Service shop-dev/shop
	// apps/v1 Deployment shop-dev/shop
}
