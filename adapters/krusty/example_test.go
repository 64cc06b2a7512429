package krusty_test

import (
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

import "github.com/krmflow/krmflow/adapters/krusty" // was "sigs.k8s.io/kustomize/api/krusty"

// A program switches by changing an import.
func Example() {
	fSys := filesys.MakeFsInMemory()
	fSys.WriteFile("/app/kustomization.yaml", []byte("resources: [account.yaml]\nnamespace: prod\n"))
	fSys.WriteFile("/app/account.yaml", []byte("apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: web\n"))
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fSys, "/app")
	if err != nil {
		fmt.Println(err)
		return
	}
	yaml, err := resources.AsYaml()
	fmt.Print(string(yaml))
	// Output:
	// apiVersion: v1
	// kind: ServiceAccount
	// metadata:
	//   name: web
	//   namespace: prod
}
