package yaml_test

import (
	"fmt"

	"github.com/krmflow/krmflow/krm/yaml"
)

func Example() {
	src := &yaml.Source{File: "web.yaml",
		Data: []byte("apiVersion: v1\nkind: Service\nmetadata:\n    name: web\nspec:\n    ports: [{port: 0x50}]\n")}
	docs, err := src.Documents()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", yaml.AppendYAML(nil, docs[0].Value))
	// Output:
	// apiVersion: v1
	// kind: Service
	// metadata:
	//   name: web
	// spec:
	//   ports:
	//   - port: 80
}

// A value never changes. WithAt returns a new value, which shares all unchanged parts.
func ExampleValue_WithAt() {
	before := yaml.MapOf(yaml.Field{Key: "spec", Value: yaml.MapOf(yaml.Field{Key: "replicas", Value: yaml.Plain("1")})})
	after := before.WithAt(yaml.Plain("3"), "spec", "replicas")
	fmt.Printf("%s\n%s\n", yaml.AppendJSON(nil, before), yaml.AppendJSON(nil, after))
	// Output:
	// {"spec":{"replicas":1}}
	// {"spec":{"replicas":3}}
}

// Decode continues after an error, and reports each error with its line.
func ExampleDecode() {
	src := &yaml.Source{File: "kustomization.yaml", Data: []byte("namePrefix: a-\nresorces: [web.yaml]\nreplicas: 3\n")}
	value, err := src.Value()
	if err != nil {
		fmt.Println(err)
		return
	}
	var k struct {
		NamePrefix string   `json:"namePrefix"`
		Resources  []string `json:"resources"`
		Replicas   []string `json:"replicas"`
	}
	for _, mistake := range yaml.Decode(value, &k) {
		fmt.Println(mistake.In(src))
	}
	fmt.Println(k.NamePrefix)
	// Output:
	// kustomization.yaml:2: resorces: unknown field "resorces"
	//   did you mean "resources"?
	// kustomization.yaml:3: replicas: must be a list, not an integer
	//   write each entry on a separate line, after a dash
	// a-
}

// Locate returns the position of a value, or of its nearest parent.
func ExampleSource_Locate() {
	src := &yaml.Source{File: "web.yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\ndata:\n  a: b\n")}
	if _, err := src.Documents(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(src.Locate(0, "data", "a"))
	fmt.Println(src.Locate(0, "metadata", "labels", "app"))
	// Output:
	// web.yaml:6
	// web.yaml:3
}
