package builtins

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/rogpeppe/go-internal/txtar"
)

func configFile(t testing.TB, data []byte) *Config {
	t.Helper()
	v, err := (&yaml.Source{File: "file", Data: data}).Value()
	if err != nil {
		t.Fatal(err)
	}
	c := new(Config)
	if errs := yaml.Decode(v, c); len(errs) > 0 {
		t.Fatal(errs[0])
	}
	return c
}

// asLists compares the lists of a [Config].
var asLists = cmp.Options{
	cmp.Transformer("fields", (*FieldSpecs).All),
	cmp.Transformer("references", (*NameReferences).All),
}

func TestDefaultConfig(t *testing.T) {
	data, err := os.ReadFile("testdata/config/defaults.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(configFile(t, data), DefaultConfig(), asLists); diff != "" {
		t.Errorf("differs from kustomize (-want +got):\n%s", diff)
	}
}

// TestLayerConfig compares the configuration of layers with kustomize's. One layer reads files
// under configurations; a second layer without its own files uses the first as its base.
func TestLayerConfig(t *testing.T) {
	paths, _ := filepath.Glob("testdata/config/*.txtar")
	for _, path := range paths {
		ar, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var files []*Config
		var got *Config
		for _, f := range ar.Files {
			switch f.Name {
			case "want.json":
				if err != nil {
					t.Fatalf("%s: %v", path, err)
				}
				if diff := cmp.Diff(configFile(t, f.Data), got, asLists); diff != "" {
					t.Errorf("%s (-want +got):\n%s", path, diff)
				}
			case "error":
				if err == nil || err.Error() != strings.TrimSpace(string(f.Data)) {
					t.Errorf("%s: error %v, want %s", path, err, f.Data)
				}
			case "crd.json":
				v, readErr := (&yaml.Source{File: f.Name, Data: f.Data}).Value()
				if readErr != nil {
					t.Fatal(readErr)
				}
				got, err = CRDConfig(v)
			default:
				files = append(files, configFile(t, f.Data))
				if got, err = LayerConfig(files...); err == nil {
					got, err = mergeAll(&Config{}, got, DefaultConfig())
				}
			}
		}
	}
}

func mergeAll(c *Config, others ...*Config) (*Config, error) {
	for _, other := range others {
		var err error
		if c, err = c.Merge(other); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func TestMergeSharesWhatStays(t *testing.T) {
	defaults := DefaultConfig()
	for _, c := range []*Config{nil, {}, defaults,
		{Images: NewFieldSpecs(defaultImages[2:3]...), NameReference: NewNameReferences(defaultNameReferences[3:5]...)}} {
		if got, err := defaults.Merge(c); err != nil || got != defaults {
			t.Errorf("merging nothing new made a new configuration: %v", err)
		}
	}
	before := slices.Clone(defaults.Images.All())
	custom := &Config{Images: NewFieldSpecs(FieldSpec{Kind: "A", Path: "a"})}
	got, err := defaults.Merge(custom)
	if err != nil || len(got.Images.All()) != len(before)+1 {
		t.Fatalf("got %v, %v", got, err)
	}
	if diff := cmp.Diff(before, defaults.Images.All()); diff != "" {
		t.Errorf("Merge changed its receiver:\n%s", diff)
	}
	if got.NameReference != defaults.NameReference || got.VarReference != defaults.VarReference {
		t.Error("lists that stay were copied")
	}
	if got, err := (&Config{}).Merge(defaults); err != nil || got != defaults {
		t.Errorf("the defaults alone are not shared: %v", err)
	}
	if got, err := mergeNaive(nil, defaultCommonLabels); err != nil || !slices.Equal(got, defaultCommonLabels) {
		t.Error("the defaults have duplicates, so they cannot be shared")
	}
}

// mergeNaive is the definition of FieldSpecs.Merge.
func mergeNaive(s, others []FieldSpec) ([]FieldSpec, error) {
	s = slices.Clone(s)
	for _, x := range others {
		if !slices.ContainsFunc(s, func(y FieldSpec) bool { return x.Path == y.Path && x.GVK().Selects(y.GVK()) }) {
			s = append(s, x)
		}
	}
	return s, nil
}

func TestCRDMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"[]":                            "open API definitions must be a mapping of type names, found a list",
		"kind: CustomResource":          `open API definition of "kind": expected a mapping, found a string`,
		"a: {Schema: 5}":                `open API definition of "a": expected a mapping, found an integer`,
		"a: {Schema: {properties: []}}": `open API definition of "a": expected a mapping, found a list`,
	} {
		v, err := (&yaml.Source{Data: []byte(text)}).Value()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := CRDConfig(v); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
	loop := `{"a.Loop": {"Schema": {"properties": {"kind": {}, "apiVersion": {}, "metadata": {}, "x": {"$ref": "a.Loop", "x-kubernetes-identity": ""}}}}}`
	v, _ := (&yaml.Source{Data: []byte(loop)}).Value()
	c, err := CRDConfig(v)
	if want := ([]FieldSpec{{Kind: "Loop", Path: "x"}, {Kind: "Loop", Path: "x/x"}}); err != nil ||
		!slices.Equal(c.NamePrefix.All(), want) {
		t.Errorf("a type that contains itself: %v, %v", c, err)
	}
}
