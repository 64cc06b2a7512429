package fn

import (
	"os"
	"regexp"
	"testing"

	"github.com/krmflow/krmflow/krm/yaml"
)

// A new Go function uses the same version of the library that krmflow is tested with.
func TestTemplateOfGoUsesTheSameLibrary(t *testing.T) {
	version := regexp.MustCompile(`sigs\.k8s\.io/kustomize/kyaml v\S+`)
	own, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadFile("templates/go.mod.txt")
	if err != nil {
		t.Fatal(err)
	}
	if a, b := version.Find(own), version.Find(made); string(a) != string(b) || len(a) == 0 {
		t.Errorf("go.mod has %q, the template %q", a, b)
	}
}

// An accepted name stays a string in all files, even if YAML readers interpret some words
// differently.
func TestNamesStayTexts(t *testing.T) {
	for _, name := range []string{"a", "set-owner", "e1", "nan", "web", "kustomization", "config", "go", "y2", "no-op"} {
		d := &draft{Name: name, Kind: kindOf(name), Wrapped: true}
		if !validName().MatchString(name) {
			t.Errorf("%s is refused", name)
		}
		for lang, own := range languages {
			files, err := d.files(own)
			if err != nil {
				t.Fatal(err)
			}
			paths := map[string]bool{}
			for _, f := range files {
				if paths[f.path] {
					t.Errorf("%s, %s: %s occurs twice", name, lang, f.path)
				}
				paths[f.path] = true
				if f.path != "example/function.yaml" {
					continue
				}
				v, err := (&yaml.Source{File: f.path, Data: f.data}).Value()
				if err != nil || v.At("metadata", "name").Text() != name || v.Get("kind").Text() != kindOf(name) {
					t.Errorf("%s: %v\n%s", name, err, f.data)
				}
			}
		}
	}
}
