package schema

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/krmflow/krmflow/catalog"
	diffcmd "github.com/krmflow/krmflow/internal/command/diff"
	"github.com/krmflow/krmflow/internal/command/test"
	"github.com/krmflow/krmflow/internal/planview"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/diff"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/lock"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
)

// decoders are the decoders of each kind and the packages of their source.
var decoders = map[string]struct {
	sources []string
	decode  func(t *testing.T, doc []byte) error
}{
	"Catalog": {[]string{"catalog", "krm/function"}, func(_ *testing.T, doc []byte) error {
		_, err := catalog.Parse(&yaml.Source{File: "catalog.yaml", Data: doc}, catalog.Ref{})
		return err
	}},
	"Lock": {[]string{"lock"}, func(_ *testing.T, doc []byte) error {
		_, err := lock.Parse(&yaml.Source{File: "lock.yaml", Data: doc})
		return err
	}},
	"Test": {[]string{"internal/command/test"}, func(_ *testing.T, doc []byte) error {
		_, err := test.Parse(&yaml.Source{File: "krmflow-test.yaml", Data: doc})
		return err
	}},
	"Composition": {[]string{"planner/composition", "krm/function"}, func(t *testing.T, doc []byte) error {
		fsys := fstest.MapFS{"app/composition.yaml": {Data: doc}, "other.yaml": {Data: []byte("kind: ConfigMap\n")}}
		for _, name := range []string{"base", "other"} {
			fsys[name+"/composition.yaml"] = &fstest.MapFile{Data: []byte(
				"kind: Composition\ntransformers: [{apiVersion: example.com/v1, kind: WebApp, metadata: {name: " + name + "}}]\n")}
		}
		_, plan, err := render.Consolidate(t.Context(), "app", render.Options{Plan: planner.Options{FS: fsys}})
		if err != nil {
			t.Fatal(err)
		}
		return plan.Err()
	}},
}

// TestSchemasMatchDecoders compares each schema with its decoder. At each place of the examples,
// each word in the decoder's source must be a field for both or for neither. The examples must
// cover all places of a schema and all fields of each place.
func TestSchemasMatchDecoders(t *testing.T) {
	for kind, d := range decoders {
		c := newChecker(t, kind)
		words := wordsIn(t, d.sources)
		seen := map[string]bool{}
		for _, file := range examples(t, kind) {
			doc := document(t, file)
			c.places(c.root, doc, func(s, x map[string]any) {
				properties := s["properties"].(map[string]any)
				for name := range properties {
					if _, ok := x[name]; ok {
						seen[placeOf(s)+name] = true
					}
				}
				if s["additionalProperties"] == nil {
					return // any field is allowed
				}
				for some := range slices.Chunk(words, 40) { // below the limit of reported errors
					for word, unknown := range unknownTo(t, d.decode, doc, x, some) {
						if _, known := properties[word]; known == unknown {
							t.Errorf("%s: field %q beside %v: in the schema %t, in the decoder %t", kind, word, names(properties), known,
								!unknown)
						}
					}
				}
			})
		}
		every(c.root, func(s map[string]any) {
			for name := range s["properties"].(map[string]any) {
				if !seen[placeOf(s)+name] && s["type"] == "object" {
					t.Errorf("%s: no example has %s among %s", kind, name, names(s["properties"].(map[string]any)))
				}
			}
		})
	}
}

// unknownTo returns, for each word that is not a field of x, a part of doc, whether the decoder
// reports it as unknown there.
func unknownTo(t *testing.T, decode func(*testing.T, []byte) error, doc any, x map[string]any, words []string) map[string]bool {
	unknown := map[string]bool{}
	for _, word := range words {
		form := word == "platforms" && len(x) > 0 // not a field, but changes the form of others
		if _, ok := x[word]; !ok && !form {
			x[word], unknown[word] = nil, false // treated as absent, unless neither knows the field
		}
	}
	text := ""
	if err := decode(t, encode(doc)); err != nil {
		text = err.Error()
	}
	for word := range unknown {
		delete(x, word)
		unknown[word] = strings.Contains(text, `unknown field "`+word+`"`)
	}
	return unknown
}

func names(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// placeOf returns an identity for an object of a schema.
func placeOf(s map[string]any) string {
	text, _ := json.Marshal(s["properties"])
	return string(text)
}

// every calls visit for each schema below s that has properties.
func every(s any, visit func(map[string]any)) {
	switch s := s.(type) {
	case []any:
		for _, x := range s {
			every(x, visit)
		}
	case map[string]any:
		if _, ok := s["properties"].(map[string]any); ok {
			visit(s)
		}
		for _, x := range s {
			every(x, visit)
		}
	}
}

// wordsIn returns the texts in the source of packages that can be field names, and one that cannot.
func wordsIn(t *testing.T, packages []string) []string {
	field := regexp.MustCompile(`^\$?[a-zA-Z]\w*$`)
	words := map[string]bool{"unheardOf": true}
	for _, pkg := range packages {
		files, err := filepath.Glob("../../../" + pkg + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(pkg, err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil && field.MatchString(text) &&
						!strings.HasSuffix(name, "_test.go") {
						words[text] = true
					}
				}
				return true
			})
		}
	}
	return slices.Collect(maps.Keys(words))
}

// examples returns the valid documents of a kind, from this package and elsewhere in the
// repository.
func examples(t *testing.T, kind string) []string {
	var list []string
	for _, pattern := range []string{"testdata/" + strings.ToLower(kind) + "*.yaml",
		"../../../testdata/examples/*/" + strings.ToLower(kind) + ".yaml",
		"../../../testdata/examples/*/*/" + strings.ToLower(kind) + ".yaml", "../../../testdata/functions/*/" + strings.ToLower(kind) +
			".yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, files...)
	}
	if len(list) == 0 {
		t.Fatalf("there is no example of %s", kind)
	}
	return list
}

func document(t *testing.T, file string) any {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := (&yaml.Source{File: file, Data: data}).Strict()
	if err != nil {
		t.Fatal(err)
	}
	var x any
	if err := json.Unmarshal(yaml.AppendJSON(nil, doc.Value), &x); err != nil {
		t.Fatal(file, err)
	}
	return x
}

func encode(doc any) []byte {
	text, _ := json.Marshal(doc) // it came from JSON
	return text
}

func TestExamplesAreValid(t *testing.T) {
	for kind, d := range decoders {
		c := newChecker(t, kind)
		for _, file := range examples(t, kind) {
			for _, wrong := range c.check(c.root, document(t, file), file) {
				t.Error(wrong)
			}
			if strings.HasPrefix(file, "testdata") {
				if err := d.decode(t, encode(document(t, file))); err != nil {
					t.Errorf("%s: %v", file, err)
				}
			}
		}
	}
}

func TestInvalidDocumentsAreRefused(t *testing.T) {
	for kind, text := range map[string]string{
		"Composition": `{"kind": "Composition", "transformer": []}`,
		"Catalog":     `{"apiVersion": "config.kubernetes.io/v1alpha1", "kind": "Catalog", "spec": {"krmFunctions": [{"group": "", "kind": "A"}]}}`,
		"Lock":        `{"apiVersion": "krmflow.dev/v1alpha1", "kind": "Lock", "entries": [{"name": "a", "kind": "git", "commit": "main"}]}`,
		"Diff":        `{"apiVersion": "krmflow.dev/v1alpha1", "kind": "Diff", "against": "git:HEAD", "roots": [{"dir": ".", "resources": []}], "same": 0}`,
		"Test":        `{"apiVersion": "krmflow.dev/v1alpha1", "kind": "Test", "tests": [{"name": "a", "count": -1}]}`,
		"PlanDiff":    `{"apiVersion": "krmflow.dev/v1alpha1", "kind": "PlanDiff", "against": "git:HEAD", "roots": [], "catalogs": [], "fetched": [], "layers": [], "files": [{"name": "a"}], "nodes": []}`,
		"Plan":        `{"apiVersion": "krmflow.dev/v1alpha1", "kind": "Plan", "roots": [{"dir": "."}], "nodes": [], "layers": [], "files": []}`,
	} {
		var x any
		if err := json.Unmarshal([]byte(text), &x); err != nil {
			t.Fatal(err)
		}
		c := newChecker(t, kind)
		if wrong := c.check(c.root, x, kind); len(wrong) != 1 {
			t.Errorf("%s: %q", kind, wrong)
		}
	}
	if _, ok := Of("Kustomization"); ok {
		t.Error("there is a schema of Kustomization")
	}
}

func TestPlanMatchesSchema(t *testing.T) {
	cwd, err := filepath.Abs("../../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	c := newChecker(t, "plan")
	plan := planner.Compile(t.Context(), []string{"kustomize/shop/overlays/prod", "examples/webapp/prod", "nowhere"},
		planner.Options{Cwd: cwd, Reorder: "legacy",
			Functions: planner.Functions{Isolation: func() (string, string) { return "", "" }}})
	var b bytes.Buffer
	if err := planview.WriteJSON(&b, plan, nil); err != nil {
		t.Fatal(err)
	}
	var x any
	if err := json.Unmarshal(b.Bytes(), &x); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range c.check(c.root, x, "plan") {
		t.Error(wrong)
	}
}

// TestPlanDiff validates the difference between two plans.
func TestPlanDiff(t *testing.T) {
	old := &planview.Document{Nodes: []planview.Node{{ID: "a", Inputs: []string{"x"}}, {ID: "b"}},
		Files: []planview.File{{Path: "f", Digest: "1"}}}
	now := &planview.Document{Nodes: []planview.Node{{ID: "a", Inputs: []string{"y"}, Summary: "s"}, {ID: "c"}},
		Files: []planview.File{{Path: "f", Digest: "2"}}}
	var b bytes.Buffer
	if err := planview.Compare(old, now).Write(&b); err != nil {
		t.Fatal(err)
	}
	var x any
	if err := json.Unmarshal(b.Bytes(), &x); err != nil {
		t.Fatal(err)
	}
	c := newChecker(t, "plandiff")
	for _, wrong := range c.check(c.root, x, "plandiff") {
		t.Error(wrong)
	}
}

func TestDiffMatchesSchema(t *testing.T) {
	list := func(text string) *krm.List {
		rs, err := krm.Resources(&yaml.Source{Data: []byte(text)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return krm.NewList(rs...)
	}
	old := "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, args: [x, y]}]}, x: '{\"a\": 1}', l: \"a\\nb\"}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: q}}\n"
	now := "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, args: [y, x, z]}]}, x: '{\"a\": 2}', l: \"a\\nc\"}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: r}}\n"
	r := diffcmd.Result{Against: "git:HEAD", Roots: []diffcmd.Root{{Name: ".", Changes: diff.Lists(list(old), list(now), nil)}}}
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var x any
	if err := json.Unmarshal(b.Bytes(), &x); err != nil {
		t.Fatal(err)
	}
	c := newChecker(t, "diff")
	for _, wrong := range c.check(c.root, x, "diff") {
		t.Error(wrong)
	}
}
