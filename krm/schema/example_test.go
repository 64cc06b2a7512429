package schema_test

import (
	"fmt"

	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// The nil Schema is Kubernetes' own.
func ExampleSchema_For() {
	var kubernetes *schema.Schema
	pod := kubernetes.For(schema.Kind{Group: "apps", Version: "v1", Kind: "Deployment"}).Field("spec").Field("template").Field("spec")
	for _, field := range []string{"containers", "tolerations"} {
		fmt.Println(field, pod.Field(field).Merges(), pod.Field(field).MergeKeys())
	}
	// Output:
	// containers true [name]
	// tolerations false []
}

// For lists, a custom schema replaces Kubernetes'. With uses a schema on top of it and leaves the
// other kinds as they are.
func ExampleParse() {
	src := &yaml.Source{File: "schema.yaml", Data: []byte(`
definitions:
  com.example.v1.Team:
    x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Team}]
    properties:
      members: {type: array, items: {type: object}, x-kubernetes-patch-merge-key: email, x-kubernetes-patch-strategy: merge}
`)}
	doc, err := src.Value()
	if err != nil {
		fmt.Println(err)
		return
	}
	own, err := schema.Parse(doc)
	fmt.Println(own.For(schema.Kind{Group: "example.com", Version: "v1", Kind: "Team"}).Field("members").MergeKeys(), err)
	service := schema.Kind{Version: "v1", Kind: "Service"}
	fmt.Println(own.For(service).Exists(), own.With(schema.Read).For(service).Exists())
	// Output:
	// [email] <nil>
	// false true
}
