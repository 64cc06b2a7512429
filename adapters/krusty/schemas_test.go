package krusty_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/krmflow/krmflow/adapters/krusty"
	kustomize "sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
)

// TestSchemasInParallel checks that roots with different schemas for one kind do not affect each
// other. Each root merges the list by the key in its own schema.
func TestSchemasInParallel(t *testing.T) {
	tree := func(field, key string) filesys.FileSystem {
		return write(t, filesys.MakeFsInMemory(), map[string]string{
			"/k/kustomization.yaml": "resources: [app.yaml]\npatches: [{path: patch.yaml}]\n" + field,
			"/k/app.yaml":           "apiVersion: example.com/v1\nkind: App\nmetadata: {name: a}\nspec:\n  parts:\n  - {name: one, id: x}\n  - {name: two, id: y}\n",
			"/k/patch.yaml":         "apiVersion: example.com/v1\nkind: App\nmetadata: {name: a}\nspec:\n  parts:\n  - {name: two, id: x, new: true}\n",
			"/k/schema.json": fmt.Sprintf(`{"definitions": {"com.example.v1.App": {"type": "object",
				"x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "App"}],
				"properties": {"spec": {"type": "object", "properties": {"parts": {"type": "array", "x-kubernetes-patch-merge-key": %q, "x-kubernetes-patch-strategy": "merge",
				"items": {"type": "object", "properties": {"name": {"type": "string"}, "id": {"type": "string"}, "new": {"type": "boolean"}}}}}}}}}}`, key),
		})
	}
	const own = "openapi: {path: schema.json}\n"
	roots := []filesys.FileSystem{tree(own, "name"), tree(own, "id"), tree("", "name")}
	wants := map[string]bool{}
	var wg sync.WaitGroup
	for _, files := range roots {
		openapi.ResetOpenAPI()
		m, err := kustomize.MakeKustomizer(kustomize.MakeDefaultOptions()).Run(files, "/k")
		if err != nil {
			t.Fatal(err)
		}
		want, err := m.AsYaml()
		if err != nil {
			t.Fatal(err)
		}
		wants[string(want)] = true
		for range 10 {
			wg.Go(func() {
				m, err := krusty.MakeKustomizer(nil).Run(files, "/k")
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := m.AsYaml(); err != nil || string(got) != string(want) {
					t.Errorf("%v\n%swant\n%s", err, got, want)
				}
			})
		}
	}
	wg.Wait()
	if len(wants) != len(roots) {
		t.Errorf("the roots have %d results", len(wants))
	}
}
