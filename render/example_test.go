package render_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing/fstest"
	"time"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
	"github.com/krmflow/krmflow/scheduler"
)

// tree returns the absolute path of an example.
func tree(name string) string {
	dir, err := filepath.Abs("../testdata/kustomize/" + name)
	if err != nil {
		panic(err)
	}
	return dir
}

// Render a directory of this machine, as kustomize build does.
func Example() {
	checkout := tree("hello")
	result, err := render.Render(context.Background(), render.Options{
		Dirs: []string{"overlays/dev"},
		Plan: planner.Options{Cwd: checkout},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, w := range result.Warnings {
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

// Any fs.FS can be rendered: an embed.FS, an archive, an [os.Root], a tree in memory. Layers cannot
// leave it.
func Example_fileSystem() {
	files := fstest.MapFS{
		"base/kustomization.yaml": {Data: []byte("resources: [account.yaml]\n")},
		"base/account.yaml":       {Data: []byte("apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: web\n")},
		"prod/kustomization.yaml": {Data: []byte("resources: [../base]\nnamespace: prod\n")},
	}
	result, err := render.Render(context.Background(), render.Options{
		Dirs: []string{"prod"},
		Plan: planner.Options{FS: files},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	result.WriteYAML(os.Stdout)
	// Output:
	// apiVersion: v1
	// kind: ServiceAccount
	// metadata:
	//   name: web
	//   namespace: prod
}

// objects renders a directory of a checkout and returns its objects in the form that Kubernetes'
// client libraries use.
func objects(ctx context.Context, checkout, path string) ([]map[string]any, error) {
	root, err := os.OpenRoot(checkout) // of an artifact that the controller has fetched
	if err != nil {
		return nil, err
	}
	defer root.Close()
	result, err := render.Render(ctx, render.Options{
		Dirs: []string{path},
		Plan: planner.Options{FS: root.FS(), Input: &loaders.Budget{Max: 64 << 20}},
	})
	if err != nil {
		return nil, err
	}
	var objects []map[string]any // for instance the Object of an unstructured.Unstructured
	for _, resource := range result.Lists[0].All() {
		var object map[string]any
		if err := json.Unmarshal(yaml.AppendJSON(nil, resource.Value()), &object); err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// A controller renders content of other authors. With an [os.Root], no link leads outside the tree;
// the budget limits the input.
func Example_controller() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	list, err := objects(ctx, tree("hello"), "overlays/dev")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range list {
		fmt.Println(o["kind"], o["metadata"].(map[string]any)["name"])
	}
	// Output:
	// ConfigMap dev-hello-config-gt6fcc52gg
	// Service dev-hello
	// Deployment dev-hello
}

// Remote content is fetched once per call and kept in a cache that calls share.
func Example_remote() {
	cacheDir := "/var/cache/controller"
	o := render.Options{Dirs: []string{"https://github.com/org/config//overlays/prod?ref=v1.2.0"}}
	o.Sources = &render.Sources{CacheDir: cacheDir, Options: remote.Options{Timeout: 20 * time.Second, MaxBytes: 16 << 20}}
	result, err := render.Render(context.Background(), o)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range result.Plan.Fetched() {
		fmt.Println(f.Reference, "is", f.Version)
	}
}

// All errors are reported at once, each with its position and a hint. Warnings are about probable
// mistakes.
func Example_warnings() {
	files := fstest.MapFS{
		"good/kustomization.yaml": {Data: []byte("resources: [account.yaml]\nimages: [{name: web, newTag: v2}]\n")},
		"good/account.yaml":       {Data: []byte("apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: web\n")},
		"bad/kustomization.yaml":  {Data: []byte("resources:\n- acount.yaml\nnamePrefx: x-\n")},
		"bad/account.yaml":        {},
	}
	o := render.Options{Dirs: []string{"good", "bad"}, Plan: planner.Options{FS: files}, Run: scheduler.Options{KeepGoing: true}}
	result, err := render.Render(context.Background(), o)
	fmt.Println(err)
	for _, w := range result.Warnings {
		fmt.Println("Warning:", w)
	}
	fmt.Println(result.Lists[0].Len(), "resource")
	// Output:
	// bad/kustomization.yaml:3: namePrefx: unknown field "namePrefx"
	//   did you mean "namePrefix"?
	// bad/kustomization.yaml:2: resources[0]: "acount.yaml" does not exist
	//   did you mean "account.yaml"?
	// Warning: good/kustomization.yaml:2: images[0]: no image named "web"
	//   no images were found here: check that the entry is in the layer that has the resources
	// 1 resource
}

// A render ends soon after its context. Its error is the cause of the cancellation.
func Example_cancel() {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("the queue has a newer revision"))
	_, err := render.Render(ctx, render.Options{Dirs: []string{"overlays/dev"}, Plan: planner.Options{Cwd: tree("hello")}})
	fmt.Println(err)
	// Output:
	// the queue has a newer revision
}

// The plan can be printed before it runs.
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
