package main

import (
	"archive/zip"
	"encoding/json"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// A document is the parsed part of the OpenAPI document of a release.
type document struct {
	Definitions map[string]*definition
	Paths       map[string]map[string]json.RawMessage
}

type definition struct {
	Ref        string `json:"$ref"`
	Type       string
	Format     string
	Properties map[string]*definition
	Required   []string
	Items      *definition
	Additional *definition `json:"additionalProperties"`
	ListType   string      `json:"x-kubernetes-list-type"`
	MapKeys    []string    `json:"x-kubernetes-list-map-keys"`
	MergeKey   string      `json:"x-kubernetes-patch-merge-key"`
	Strategy   string      `json:"x-kubernetes-patch-strategy"`

	enum []string
}

type groupVersionKind struct{ Group, Version, Kind string }

func readDocument(dir, release string) (doc document) {
	data, err := os.ReadFile(fetched(dir, release, "/api/openapi-spec/swagger.json", ".json"))
	check(err)
	check(json.Unmarshal(data, &doc))
	return doc
}

// fetched returns the path of a file in dir with the content of a file of the module. It fetches
// the module if dir does not have the file yet.
func fetched(dir, release, path, ext string) string {
	name := filepath.Join(dir, release+ext)
	if _, err := os.Stat(name); err == nil {
		return name
	}
	cache, err := os.MkdirTemp("", "modules-")
	check(err)
	defer os.RemoveAll(cache)
	cmd := exec.Command("go", "mod", "download", "-modcacherw", "-json", "k8s.io/kubernetes@"+release)
	cmd.Dir = cache
	cmd.Env = append(os.Environ(), "GOMODCACHE="+cache, "GOFLAGS=-modcacherw")
	out, err := cmd.Output()
	check(err)
	var module struct{ Zip string }
	check(json.Unmarshal(out, &module))
	archive, err := zip.OpenReader(module.Zip)
	check(err)
	defer archive.Close()
	for _, f := range archive.File {
		if strings.HasSuffix(f.Name, path) {
			r, err := f.Open()
			check(err)
			data, err := io.ReadAll(r)
			check(err)
			check(os.WriteFile(name, data, 0o644))
			return name
		}
	}
	log.Fatalf("%s has no %s", release, path)
	return ""
}

var (
	ofFunction = regexp.MustCompile(`^func schema_k8sio_api_(\w+?)_(v\w+?)_(\w+)\(`)
	ofProperty = regexp.MustCompile(`^\t{5}"(\w+)": \{`)
	ofEnum     = regexp.MustCompile(`Enum:\s+\[\]interface\{\}\{(.*)\},`)
)

// enums returns the allowed values of fields, by definition and field. The published documents do
// not contain them, so enums parses the Go source that the documents are generated from. The
// newest release is enough: Kubernetes adds values but never removes them.
func enums(dir, release string) map[[2]string][]string {
	src, err := os.ReadFile(fetched(dir, release, "/pkg/generated/openapi/zz_generated.openapi.go", ".go"))
	check(err)
	found := map[[2]string][]string{}
	def, field := "", ""
	for line := range strings.Lines(string(src)) {
		if m := ofFunction.FindStringSubmatch(line); m != nil {
			def = "io.k8s.api." + m[1] + "." + m[2] + "." + m[3]
		} else if strings.HasPrefix(line, "func ") {
			def = ""
		} else if m := ofProperty.FindStringSubmatch(line); m != nil {
			field = m[1]
		} else if m := ofEnum.FindStringSubmatch(line); m != nil && def != "" {
			var values []string
			check(json.Unmarshal([]byte("["+m[1]+"]"), &values))
			found[[2]string{def, field}] = values
		}
	}
	return found
}
