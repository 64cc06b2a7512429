package catalog

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

const hexA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
const hexB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

func parse(text string) (*Catalog, error) {
	return parseAs("/t/catalog.yaml", text)
}

func parseAs(path, text string) (*Catalog, error) {
	ref, err := ParseRef(path)
	if err != nil {
		return nil, err
	}
	return Parse(&yaml.Source{File: "catalog.yaml", Data: []byte(text)}, ref)
}

func mustParse(t testing.TB, text string) *Catalog {
	t.Helper()
	c, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// list returns a catalog of one function. The text in rest starts at the field versions.
func list(rest string) string {
	return "apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nspec:\n  krmFunctions:\n" +
		"  - group: example.com\n    names: {kind: Fn}\n" + rest
}

func run(runtime string) string {
	return list("    versions:\n    - name: v1\n      runtime: " + runtime + "\n")
}

// TestDocumentedCatalogsParse checks that every catalog in the documents is read, or rejected at
// the position where it is only a sketch.
func TestDocumentedCatalogsParse(t *testing.T) {
	want := map[string]string{
		"000-L257-Catalog.yaml": "example.com/v1 JavaApplication container example/module_providers/java:v1.0.0",
		"000-L305-Catalog.yaml": "example.com/v1 GroovyApplication starlark https://example.co/module_providers/starlark-func:v1.0.0",
		"000-L335-Catalog.yaml": "example.com/v1 JavaApplication container docker.example.co/functions/java:v1.0.0\n" +
			"example.com/v1 Logger container docker.example.co/functions/logger:v1.0.0\n" +
			"example.com/v1 SecretSidecar container docker.example.co/functions/secrets:v1.0.0",
		"000-L477-Catalog.yaml": "kustomize.io/v1 Helm container k8s.gcr.io/kustomize/helm-function:v1.0.0",
		"000-L511-Catalog.yaml": "kustomize.io/v1 Helm container k8s.gcr.io/kustomize/helm-function:v1.0.0\n" +
			"example.co/v1 McGuffin container docker.example.io/krm/mcguffin-function:v1.0.0",
		"000-L548-Catalog.yaml": "banana.co/v1 Split container banana.gcr.io/functions/split-function:v1.0.0\n" +
			"watermelon.co/v1 Salt container watermelon.gcr.io/krm-functions/salt-function:v1.0.0\n" +
			"example.com/v1 JavaApplication container example/module_providers/java:v1.0.0 network storage\n" +
			"notice requireFilesystem",
		"000-L860-Catalog.yaml": "error 000-L860-Catalog.yaml:31: expected a colon",
		"001-L256-Catalog.yaml": "example.com/v1 JavaApplication container example/module_providers/java:v1.0.0\nnotice apiVersion kustomize.io/v1, modules",
		"001-L297-Catalog.yaml": "example.com/v1 GroovyApplication starlark https://example.co/module_providers/starlark-func:v1.0.0\n" +
			"notice apiVersion kustomize.io/v1, modules",
		"001-L324-Catalog.yaml": "example.com/v1 JavaApplication container docker.example.co/plugins/java:v1.0.0\n" +
			"example.com/v1 Logger container docker.example.co/plugins/logger:v1.0.0\n" +
			"example.com/v1 SecretSidecar container docker.example.co/plugins/secrets:v1.0.0\nnotice apiVersion kustomize.io/v1, modules",
		"001-L457-Catalog.yaml":                "kustomize.io/v1 Helm container k8s.gcr.io/kustomize/helm-plugin:v1.0.0\nnotice apiVersion kustomize.io/v1, modules",
		"001-L501-Catalog.yaml":                "error 001-L501-Catalog.yaml:24: spec.modules[0].provider.exec[0].sha256: must be a string, not a list",
		"002-L375-Catalog.yaml":                "error 002-L375-Catalog.yaml:14: spec.modules[0].provider.exec[0].sha256: must be a string, not a list",
		"kaffine-empty-list.yaml":              "",
		"kaffine-null-list.yaml":               "",
		"registry-v20220225-comment-only.yaml": "error registry-v20220225-comment-only.yaml: the file contains no Catalog document",
		"render-helm-chart.yaml": "config.kubernetes.io/v1 RenderHelmChart container " +
			"us.gcr.io/k8s-artifacts-prod/krm-functions/render-helm-chart:unstable network storage",
	}
	files, _ := filepath.Glob("testdata/*.yaml")
	if len(files) != len(want) {
		t.Errorf("%d files, %d expectations", len(files), len(want))
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		c, err := Parse(&yaml.Source{File: name, Data: data}, Ref{Scheme: Local, Location: "/t/" + name})
		got := ""
		if err != nil {
			got = "error " + err.Error()
		} else {
			got = summary(c)
		}
		if w := want[name]; got != w && !(strings.HasPrefix(w, "error ") && strings.HasPrefix(got, w)) {
			t.Errorf("%s:\n got %s\nwant %s", name, got, w)
		}
	}
}

func summary(c *Catalog) string {
	var lines []string
	for _, e := range c.Entries {
		line := e.GVK.String()
		if e.Container != nil {
			line += " container " + e.Container.Text
			if e.Container.Network {
				line += " network"
			}
			if e.Container.Storage {
				line += " storage"
			}
		}
		for _, p := range e.Exec {
			line += fmt.Sprintf(" exec %s %s/%s", p.URI, p.OS, p.Arch)
		}
		if e.Starlark != "" {
			line += " starlark " + e.Starlark
		}
		lines = append(lines, line)
	}
	for _, n := range c.Notices {
		_, what, _ := strings.Cut(n.Msg, ": ")
		lines = append(lines, "notice "+what)
	}
	return strings.Join(lines, "\n")
}

func TestAlternativeSpellingsAreAccepted(t *testing.T) {
	exec := "{exec: {platforms: [{bin: a, os: linux, arch: amd64, uri: a, sha256: " + hexA + "}]}}"
	tests := []struct{ row, text, want string }{
		{"kind KRMFunctionCatalog is accepted", strings.Replace(run("{container: {image: x}}"), "kind: Catalog", "kind: KRMFunctionCatalog",
			1), "example.com/v1 Fn container x"},
		{"a bare KRMFunctionDefinition is a one-entry catalog",
			"apiVersion: config.kubernetes.io/v1alpha1\nkind: KRMFunctionDefinition\nspec: {group: g, names: {kind: K}, versions: [{name: v1, runtime: {container: {image: x}}}]}", "g/v1 K container x"},
		{"the core group is matchable", strings.Replace(run("{container: {image: x}}"), "example.com", `""`, 1), "v1 Fn container x"},
		{"the shorthand kind on the entry is accepted", strings.Replace(run("{container: {image: x}}"), "names: {kind: Fn}", "kind: Fn", 1),
			"example.com/v1 Fn container x"},
		{"each version has its own runtime",
			list(
				"    versions:\n    - name: v1\n      runtime: {container: {image: a}}\n    - name: v1beta1\n      runtime: {container: {image: b}}\n"),
			"example.com/v1 Fn container a\nexample.com/v1beta1 Fn container b"},
		{"the version level wins", list(
			"    versions:\n    - name: v1\n      runtime: {container: {image: b}}\n    - name: v2\n    runtime: {container: {image: a}}\n"),
			"example.com/v1 Fn container b\nexample.com/v2 Fn container a"},
		{"exec with platforms", run(exec), "example.com/v1 Fn exec a linux/amd64"},
		{"the old exec form, a list", run("{exec: [{os: linux, arch: amd64, path: p, sha256: " + hexA + "}]}"),
			"example.com/v1 Fn exec p linux/amd64\nnotice exec as a list"},
		{"an exec item without os and arch means any platform", run("{exec: [{path: p, sha256: " + hexA + "}]}"),
			"example.com/v1 Fn exec p /\nnotice exec as a list"},
		{"exec with one path", run("{exec: {path: p, sha256: " + hexA + "}}"), "example.com/v1 Fn exec p /"},
		{"path works like uri", run(strings.Replace(exec, "uri:", "path:", 1)), "example.com/v1 Fn exec a linux/amd64"},
		{"several runtimes", run("{container: {image: x}, exec: {path: p}, starlark: {path: s}}"),
			"example.com/v1 Fn container x exec p / starlark s"},
		{"starlark, a string", run("{starlark: 'https://e.co/s'}"), "example.com/v1 Fn starlark https://e.co/s"},
		{"requireFilesystem is an alias", run("{container: {image: x, requireFilesystem: true, requireStorageMount: true}}"),
			"example.com/v1 Fn container x storage\nnotice requireFilesystem"},
		{"JSON catalogs are accepted",
			`{"apiVersion":"config.kubernetes.io/v1alpha1","kind":"Catalog","spec":{"krmFunctions":[{"group":"g","names":{"kind":"K"},"versions":[{"name":"v1"}],"runtime":{"container":{"image":"x"}}}]}}`, "g/v1 K container x"},
		{"metadata is optional and free in labels", "metadata: {name: n, labels: {author: ExampleCo}}\n" + run("{container: {image: x}}"),
			"example.com/v1 Fn container x"},
		{"license is free text", list("    versions:\n    - name: v1\n      license: MIT\n      runtime: {container: {image: x}}\n"),
			"example.com/v1 Fn container x"},
		{"neither container nor exec loads", run("{}"), "example.com/v1 Fn"},
	}
	for _, tt := range tests {
		c, err := parse(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.row, err)
		} else if got := summary(c); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.row, got, tt.want)
		}
	}
}

func TestParseMistakes(t *testing.T) {
	platform := func(drop string) string {
		fields := map[string]string{"bin": "a", "os": "linux", "arch": "amd64", "uri": "u"}
		var parts []string
		for _, key := range []string{"bin", "os", "arch", "uri"} {
			if key != drop {
				parts = append(parts, key+": "+fields[key])
			}
		}
		return run("{exec: {platforms: [{" + strings.Join(parts, ", ") + "}]}}")
	}
	at := "spec.krmFunctions[0]."
	tests := []struct{ row, text, want string }{
		{"any other kind is an error that names file, value found and values accepted", "apiVersion: apps/v1\nkind: Deployment\n",
			`catalog.yaml:1: apiVersion: not a catalog: found "Deployment" of "apps/v1"`},
		{"the accepted kinds", "apiVersion: config.kubernetes.io/v1alpha1\nkind: Deployment\n",
			"a catalog is config.kubernetes.io/v1alpha1 with kind Catalog, KRMFunctionCatalog or KRMFunctionDefinition"},
		{"no apiVersion", "kind: Catalog\nspec: {krmFunctions: []}\n", "without apiVersion"},
		{"not a mapping", "- a\n", "catalog.yaml:1: must be a mapping, not a list"},
		{"krmFunctions must be present", "apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nspec: {}\n",
			"spec.krmFunctions: is missing"},
		{"spec must be present", "apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\n", "spec: is missing"},
		{"names.kind is required", strings.Replace(run("{container: {image: x}}"), "{kind: Fn}", "{}", 1),
			"catalog.yaml:6: " + at + "names.kind: is missing"},
		{"kind and names.kind disagree", list("    kind: Other\n    versions: [{name: v1}]\n"), `kind: is "Other", but names.kind is "Fn"`},
		{"group is required", strings.Replace(run("{container: {image: x}}"), "- group: example.com\n    names", "- names", 1),
			"group: is missing"},
		{"versions are required", list(""), at + "versions: is missing"},
		{"a module has a version", "apiVersion: kustomize.io/v1\nkind: Catalog\nspec: {modules: [{apiVersion: g/, kind: K}]}",
			"apiVersion: \"g/\" is not group/version"},
		{"a version has a name", list("    versions: [{}]\n"), at + "versions[0].name: is missing"},
		{"container.image is required", run("{container: {}}"),
			"catalog.yaml:9: " + at + "versions[0].runtime.container.image: is missing"},
		{"container.image is not empty", run("{container: {image: ''}}"), "container.image: must not be empty"},
		{"an image that is an option", run("{container: {image: '-v/:/x'}}"), "container.image: image"},
		{"requireNetwork is boolean", run("{container: {image: x, requireNetwork: 'true'}}"),
			"requireNetwork: must be true or false, not a string"},
		{"yes is no boolean", run("{container: {image: x, requireNetwork: yes}}"), "requireNetwork: must be true or false, not a string"},
		{"requireStorageMount and requireFilesystem differ",
			run("{container: {image: x, requireStorageMount: false, requireFilesystem: true}}"), "requireFilesystem: conflicts with"},
		{"every platform item requires bin", platform("bin"), "platforms[0].bin: is missing"},
		{"every platform item requires os", platform("os"), "platforms[0].os: is missing"},
		{"every platform item requires arch", platform("arch"), "platforms[0].arch: is missing"},
		{"every platform item requires uri", platform("uri"), "platforms[0].uri: is missing"},
		{"a typo must not vanish", run("{container: {image: x, requireNetwrok: true}}"), "catalog.yaml:9: " +
			at + "versions[0].runtime.container.requireNetwrok: unknown field \"requireNetwrok\"\n  did you mean \"requireNetwork\"?"},
		{"keys are case-sensitive", run("{Container: {image: x}}"), `unknown field "Container"`},
		{"a catalog cannot pull in catalogs", "catalogs: [a]\n" + run("{container: {image: x}}"),
			`catalog.yaml:1: catalogs: unknown field "catalogs"`},
		{"wrong types are positioned: sha256", run("{container: {image: x, sha256: [a hash]}}"), "sha256: must be a string, not a list"},
		{"wrong types are positioned: idempotent", list("    versions:\n    - name: v1\n      idempotent: true|false\n"),
			"catalog.yaml:9: " + at + "versions[0].idempotent: must be true or false, not a string"},
		{"two documents", run("{container: {image: x}}") + "---\n" + run("{container: {image: x}}"),
			"catalog.yaml:11: the file has a second document"},
		{"a duplicate key", run("{container: {image: x, image: y}}"), `the key "image" occurs twice`},
		{"a custom tag", run("{container: {image: !evil x}}"), "the tag !evil is not allowed"},
		{"group builtin is reserved", strings.Replace(run("{container: {image: x}}"), "example.com", "builtin", 1),
			"entry 1 defines builtin/v1 Fn, but a catalog must not define kinds of kustomize itself"},
		{"apiVersion builtin is reserved",
			"apiVersion: kustomize.io/v1\nkind: Catalog\nspec: {modules: [{apiVersion: builtin, kind: PatchTransformer, provider: {container: {image: x}}}]}", "entry 1 defines builtin PatchTransformer"},
		{"krmFunctions and modules", "apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nspec: {krmFunctions: [], modules: []}\n",
			"either krmFunctions or modules"},
		{"runtime and provider differ",
			list("    versions: [{name: v1}]\n    runtime: {container: {image: a}}\n    provider: {container: {image: b}}\n"),
			"provider: conflicts with"},
		{"an alias bomb",
			"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n" +
				"e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g,*g]\n", "expand to more than"},
		{"the size limit", "#" + strings.Repeat("x", MaxSize), "the limit is 16 MiB"},
	}
	for _, tt := range tests {
		_, err := parse(tt.text)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s:\n got %v\nwant %s", tt.row, err, tt.want)
		}
	}
}

// TestParseReportsAll checks that all errors are reported at once.
func TestParseReportsAll(t *testing.T) {
	_, err := parse(list("    versions:\n    - nam: v1\n      runtime: {container: {imge: x}}\n"))
	for _, want := range []string{"nam: unknown", "name: is missing", "imge: unknown", "image: is missing"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not in: %v", want, err)
		}
	}
}

func TestMalformedPinsAreErrors(t *testing.T) {
	tests := []struct {
		text string
		ok   bool
	}{
		{hexA, true}, {"sha256:" + hexA, true}, {strings.ToUpper(hexA), true}, {"sha256:" + strings.ToUpper(hexA), true},
		{strings.Repeat("1", 64), true}, {hexA[1:], false}, {hexA + "a", false}, {"md5:" + hexA, false}, {"''", false}, {"", false},
		{"g" + hexA[1:], false}, {"'sha256:'", false}, {strings.Repeat("0", 64), false}, {"sha256:sha256:" + hexA, false},
	}
	for _, tt := range tests {
		c := mustParse(t, run("\n        container:\n          image: x\n          sha256: "+tt.text))
		pin := c.Entries[0].Container.Pin
		if !pin.Given || (pin.Err() == nil) != tt.ok {
			t.Errorf("%q: %+v, %v", tt.text, pin, pin.Err())
		}
		if d, err := c.Entries[0].Container.Digest(); (err == nil) != tt.ok || tt.ok && d.IsZero() {
			t.Errorf("%q: digest %v, %v", tt.text, d, err)
		}
	}
	if c := mustParse(t, run("{container: {image: x}}")); c.Entries[0].Container.Pin.Given {
		t.Error("no sha256, but a pin")
	}
	c := mustParse(t, run("{container: {image: 'x@sha256:"+hexA+"', sha256: "+hexB+"}}"))
	if _, err := c.Entries[0].Container.Digest(); err == nil || !strings.Contains(err.Error(), hexA) ||
		!strings.Contains(err.Error(), hexB) {
		t.Errorf("image and sha256 disagree: %v", err)
	}
}

// TestAllFieldsAreKept checks that all fields of a function are kept.
func TestAllFieldsAreKept(t *testing.T) {
	c := mustParse(t, `apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
metadata:
  name: example-co-functions
  labels: {author: ExampleCo}
spec:
  krmFunctions:
  - group: example.com
    names: {kind: SetNamespace}
    description: d
    publisher: p
    home: h
    definition: https://example.com/definition
    maintainers: [all@example.com]
    tags: [mutator, namespace]
    allowRemoteConfig: true
    allowArgs: true
    versions:
    - name: v1
      schema: {openAPIV3Schema: {type: object}}
      idempotent: true
      usage: u
      examples: [e1, e2]
      license: Apache-2.0
      maintainers: [v1@example.com]
      runtime:
        container: {image: 'r.io/f:v1', sha256: `+hexA+`, requireNetwork: true, requireStorageMount: true, requireWritableStorageMount: true}
        exec: {platforms: [{bin: b, os: windows, arch: arm64, uri: 'https://e.co/f.tar.gz', sha256: `+hexB+`}]}
    - name: v2
      runtime: {container: {image: x}}
`)
	e, v2 := c.Entries[0], c.Entries[1]
	got := fmt.Sprint(c.Name, c.Labels, e.Description, e.Publisher, e.Home, e.Definition, e.Maintainers, v2.Maintainers,
		e.Tags, e.AllowRemoteConfig, v2.AllowArgs,
		e.Idempotent, v2.Idempotent, e.Usage, e.Examples, e.License, e.Schema.Get("type").Text(), e.Container.Network, e.Container.Storage,
		e.Container.WritableStorage, v2.Container.Network, e.Exec[0].Bin, e.Exec[0].OS, e.Exec[0].Arch, e.Exec[0].URI)
	want := "example-co-functions map[author:ExampleCo] d p h https://example.com/definition [v1@example.com] [all@example.com] [mutator namespace] true true " +
		"true false u [e1 e2] Apache-2.0 object true true true false b windows arm64 https://e.co/f.tar.gz"
	if strings.Join(strings.Fields(got), "") != strings.Join(strings.Fields(want), "") {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if e.Pos() != (diag.Pos{File: "catalog.yaml", Line: 19}) || v2.Pos().Line != 29 || e.Index != 0 || v2.Index != 0 {
		t.Errorf("positions %v %v", e.Pos(), v2.Pos())
	}
	if c.Digest.IsZero() || e.String() != "catalog /t/catalog.yaml, entry 1" {
		t.Errorf("%v %v", c.Digest, e)
	}
	if e.Container.Pin.Digest.String() != "sha256:"+hexA || e.Exec[0].Pin.Digest.String() != "sha256:"+hexB {
		t.Error("digests are lost")
	}
}

func TestLintFindsIncompleteEntries(t *testing.T) {
	c := mustParse(t,
		list(
			"    versions:\n    - name: v1\n      license: MIT\n      runtime: {exec: {platforms: [{bin: b, os: plan9, arch: mips, uri: u}]}}\n    - name: v1\n      runtime: {container: {image: x, sha256: abc}}\n    - name: v3\n"))
	all := ""
	for _, l := range c.Lint() {
		all += l.Error() + "\n"
	}
	for _, want := range []string{
		"spec.krmFunctions[0].description: is missing", "spec.krmFunctions[0].publisher: is missing", "versions[0].usage: is missing",
		`license: "MIT" is not Apache 2.0`, `os: "plan9" is not linux, darwin or windows: never selected`,
		`arch: "mips" is not amd64 or arm64`,
		"sha256: is missing: without it the program is not run", "versions[1]: example.com/v1 Fn has no effect: entry 1, which comes first",
		"versions[2]: at least one of container and exec must be set",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in\n%s", want, all)
		}
	}
	if list := c.Unusable(); len(list) != 1 ||
		!strings.Contains(list[0].Error(), "versions[1].runtime.container.sha256: the digest \"abc\" has 3 characters") {
		t.Errorf("unusable: %v", list)
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.yaml")
	for _, file := range files {
		data, _ := os.ReadFile(file)
		f.Add(data)
	}
	f.Add([]byte(run("{exec: [{path: p}], starlark: {path: s}}")))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(&yaml.Source{File: "c", Data: data}, Ref{Scheme: Local, Location: "/t/c"})
		if err != nil {
			if err.Error() == "" || c != nil {
				t.Fatal("an error without text, or with a catalog")
			}
			return
		}
		for _, e := range c.Entries {
			if e.Kind == "" || e.Version == "" || Reserved(e.GVK) {
				t.Fatalf("entry %v", e.GVK)
			}
			e.Pos()
			if m := Search(e.GVK, []*Catalog{c}); m.Entry == nil {
				t.Fatalf("%v is not found", e.GVK)
			}
			c.Lint()
			e.SchemaWarning()
			e.Validate(yaml.MapOf(yaml.Field{Key: "spec", Value: yaml.NullValue}))
			_, _ = e.Select("linux", "amd64", "")
		}
	})
}

// TestValueParsesToSameCatalog checks that the value printed for a catalog parses to the same
// catalog, regardless of its spelling.
func TestValueParsesToSameCatalog(t *testing.T) {
	texts := []string{
		run("{container: {image: 'x@sha256:" + hexA +
			"', requireNetwork: true, requireStorageMount: true, requireWritableStorageMount: true}}"),
		run("{exec: {platforms: [{bin: b, os: windows, arch: arm64, uri: 'https://e.co/f.tar.gz', sha256: " + strings.ToUpper(hexB) + "}]}}"),
		run("{exec: {path: p, sha256: short}, starlark: {path: s}}"),
		run("{wasm: {uri: p, sha256: " + hexA + "}}"),
		"metadata: {name: n, labels: {author: ExampleCo}}\n" +
			list("    description: d\n    publisher: p\n    home: h\n    definition: f\n    maintainers: [m]\n    tags: [a, b]\n"+
				"    allowRemoteConfig: true\n    allowArgs: true\n    versions:\n    - {name: v1, idempotent: true, usage: u, examples: [e], license: MIT, schema: {openAPIV3Schema: {type: object}}}\n"+
				"    - {name: v2, runtime: {container: {image: x, sha256: ''}}}\n"),
	}
	files, _ := filepath.Glob("testdata/*.yaml")
	for _, file := range files {
		data, _ := os.ReadFile(file)
		texts = append(texts, string(data))
	}
	n := 0
	for _, text := range texts {
		c, err := parse(text)
		if err != nil {
			continue
		}
		n++
		for _, out := range [][]byte{yaml.AppendYAML(nil, c.Value()), yaml.AppendJSON(nil, c.Value())} {
			again, err := parse(string(out))
			if err != nil {
				t.Errorf("%v in\n%s", err, out)
				continue
			}
			if a, b := plain(c), plain(again); a != b {
				t.Errorf("got  %s\nwant %s", b, a)
			}
		}
	}
	if n < 15 {
		t.Errorf("only %d catalogs were read", n)
	}
}

// plain prints all fields of a catalog's entries that do not depend on its text.
func plain(c *Catalog) string {
	var b strings.Builder
	fmt.Fprintln(&b, c.Name, c.Labels)
	for _, e := range c.Entries {
		x := *e
		x.Catalog, x.path, x.Schema, x.Container = nil, nil, yaml.Value{}, nil
		x.Exec = nil
		for _, p := range e.Exec {
			p.Pin.Text = ""
			x.Exec = append(x.Exec, p)
		}
		fmt.Fprintf(&b, "%+v %s", x, yaml.AppendJSON(nil, e.Schema))
		if e.Container != nil {
			k := *e.Container
			k.Pin.Text = ""
			fmt.Fprintf(&b, " %+v", k)
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}
