package catalog_test

import (
	"fmt"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

const stamps = `apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
metadata: {name: stamps}
spec:
  krmFunctions:
  - group: example.com
    names: {kind: Stamp}
    versions:
    - name: v1
      schema:
        openAPIV3Schema: {properties: {spec: {required: [text]}}}
      runtime:
        container: {image: example.com/stamp:v1}
`

// Search finds exactly one group, version and kind, and lists alternatives if nothing matches.
func ExampleSearch() {
	c, err := catalog.Parse(&yaml.Source{File: "catalog.yaml", Data: []byte(stamps)}, catalog.Ref{Location: "catalog.yaml"})
	if err != nil {
		fmt.Println(err)
		return
	}
	found := catalog.Search(krm.ParseGVK("example.com/v1", "Stamp"), []*catalog.Catalog{c})
	fmt.Println(found.Entry, "runs", found.Entry.Container.Image)
	missing := catalog.Search(krm.ParseGVK("example.com/v2", "Stamp"), []*catalog.Catalog{c})
	fmt.Println(missing.Entry == nil, missing.Hints)
	// Output:
	// catalog catalog.yaml, entry 1 runs example.com/stamp:v1
	// true [catalog catalog.yaml offers: v1]
}

// The schema of an entry reports errors in a configuration.
func ExampleEntry_Validate() {
	c, err := catalog.Parse(&yaml.Source{File: "catalog.yaml", Data: []byte(stamps)}, catalog.Ref{Location: "catalog.yaml"})
	if err != nil {
		fmt.Println(err)
		return
	}
	config := yaml.MapOf(yaml.Field{Key: "spec", Value: yaml.MapOf(yaml.Field{Key: "txt", Value: yaml.Str("a")})})
	for _, mistake := range c.Entries[0].Validate(config) {
		fmt.Println(mistake.Text())
	}
	// Output:
	// spec: the required field "text" is missing
}

// A reference without a scheme that begins with a host name is an address, unless a directory of
// that name exists.
func ExampleParseRef() {
	ref, err := catalog.ParseRef("./catalog.yaml")
	fmt.Println(ref.In("/tree/base").Location, err)
	ref, err = catalog.ParseRef("example.com/catalog.yaml")
	fmt.Println(ref.Location, err)
	// Output:
	// /tree/base/catalog.yaml <nil>
	// https://example.com/catalog.yaml <nil>
}
