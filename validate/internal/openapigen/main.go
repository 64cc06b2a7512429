// Command openapigen writes validate/internal/openapi/table.go. It merges the OpenAPI documents
// of many Kubernetes releases into one schema, reduced to the parts needed for validation. Each
// field and kind of the schema lists the releases that have it.
//
// The documents come from the module k8s.io/kubernetes, about 40 MB per release. The go command
// fetches each of them once into the directory named by -docs.
package main

import (
	"flag"
	"go/format"
	"log"
	"os"
)

// releases are the last releases of each minor version, oldest first. The table numbers them from
// 0.
var releases = []string{
	"v1.14.10", "v1.15.12", "v1.16.15", "v1.17.17", "v1.18.20", "v1.19.16", "v1.20.15", "v1.21.14", "v1.22.17", "v1.23.17", "v1.24.17",
	"v1.25.16",
	"v1.26.15", "v1.27.16", "v1.28.15", "v1.29.15", "v1.30.14", "v1.31.14", "v1.32.13", "v1.33.13", "v1.34.4", "v1.35.4", "v1.36.3",
	"v1.37.2",
}

const firstMinor = 14

func main() {
	log.SetFlags(0)
	log.SetPrefix("openapigen: ")
	dir := flag.String("docs", "", "the directory that holds the documents, or will; a temporary one unless given")
	flag.Parse()
	if *dir == "" {
		tmp, err := os.MkdirTemp("", "openapi-")
		check(err)
		defer os.RemoveAll(tmp)
		*dir = tmp
	}
	var docs []document
	for _, release := range releases {
		docs = append(docs, readDocument(*dir, release))
	}
	t := newTable(enums(*dir, releases[len(releases)-1]))
	t.add(docs)
	src, err := format.Source(t.source())
	check(err)
	check(os.WriteFile("table.go", src, 0o644))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
