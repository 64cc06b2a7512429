package render_test

import (
	"bytes"
	"context"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
)

// These constants are the effects of an earlier layer on a custom schema. The schema has only a
// Deployment whose containers do not merge. If the containers of a Deployment are kept, kustomize's
// definition took precedence. If the containers of a StatefulSet are kept, kustomize has read its
// own schema.
const (
	alone   = "" // the custom schema is the only one
	onTop   = "StatefulSet"
	beneath = "Deployment StatefulSet"
)

const (
	monConfigMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mon}\ndata: {a: b}\n"
	thing        = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: thing}\n"
	generator    = "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: gen}\nliterals: [a=b]\n"
	labeller     = "apiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: l}\nlabels: {a: b}\nfieldSpecs: [{path: metadata/labels, create: true}]\n"
	smPatch      = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mon}\ndata: {c: d}\n"
	jsonPatch    = `'[{"op": "add", "path": "/data/x", "value": "y"}]'`
	toFoo        = `'[{"op": "replace", "path": "/kind", "value": "Foo"}]'`
	toSecret     = `'[{"op": "replace", "path": "/kind", "value": "Secret"}]'`
)

// schemaCauses are layers before the layer with the schema. They have a ConfigMap in cm.yaml and
// the listed content.
var schemaCauses = []struct {
	name, kustomization string
	files               map[string]string
	want                string
}{
	{"nothing", "", nil, alone},
	{"a kind without known scope", "", map[string]string{"cm.yaml": monConfigMap + "---\n" + thing}, beneath},
	{"such a kind in a List",
		"",
		map[string]string{"cm.yaml": "apiVersion: v1\nkind: List\nitems: [{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}]\n"}, beneath},
	{"a known kind in a List",
		"", map[string]string{"cm.yaml": "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]\n"},
		alone},
	{"such a kind that is local", "", map[string]string{"cm.yaml": strings.Replace(thing, "thing}",
		"thing, annotations: {config.kubernetes.io/local-config: 'true'}}", 1)}, beneath},
	{"no apiVersion", "", map[string]string{"cm.yaml": "kind: Thing\nmetadata: {name: a}\n"}, beneath},
	{"no apiVersion, patched", "patches: [{patch: '{kind: Thing, metadata: {name: a}, b: c}'}]",
		map[string]string{"cm.yaml": "kind: Thing\nmetadata: {name: a}\n"}, beneath},
	{"configMapGenerator", "configMapGenerator: [{name: g, literals: [a=b]}]", nil, alone},
	{"configMapGenerator that merges", "configMapGenerator: [{name: mon, behavior: merge, literals: [a=b]}]", nil, alone},
	{"generators", "generators: [g.yaml]", map[string]string{"g.yaml": generator}, beneath},
	{"generators inline", "generators: ['{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: g}, literals: [a=b]}']", nil,
		beneath},
	{"generators in a directory", "generators: [g]",
		map[string]string{"g/kustomization.yaml": "resources: [g.yaml]", "g/g.yaml": generator}, beneath},
	{"transformers", "transformers: [t.yaml]", map[string]string{"t.yaml": labeller}, beneath},
	{"transformers in a directory", "transformers: [t]",
		map[string]string{"t/kustomization.yaml": "resources: [t.yaml]", "t/t.yaml": labeller}, beneath},
	{"transformers that are patched", "transformers: [t]", map[string]string{
		"t/kustomization.yaml": "resources: [t.yaml]\npatches: [{patch: '{apiVersion: builtin, kind: LabelTransformer, metadata: {name: l}, labels: {c: d}}'}]", "t/t.yaml": labeller}, onTop},
	{"transformers in an empty directory", "transformers: [t]", map[string]string{"t/kustomization.yaml": "namePrefix: a-"}, alone},
	{"a PatchTransformer", "transformers: [t.yaml]", map[string]string{
		"t.yaml": "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: p}\npatch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: mon}, data: {c: d}}'\n"}, onTop},
	{"validators", "validators: [v.yaml]", map[string]string{
		"v.yaml": "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: p}\ntarget: {kind: None}\npatch: " + jsonPatch}, beneath},
	{"a strategic merge patch", "patches: [{path: p.yaml}]", map[string]string{"p.yaml": smPatch}, onTop},
	{"one by target", "patches: [{path: p.yaml, target: {kind: ConfigMap}}]", map[string]string{"p.yaml": smPatch}, onTop},
	{"one of another kind by target", "patches: [{path: p.yaml, target: {name: mon}}]",
		map[string]string{"p.yaml": strings.Replace(smPatch, "ConfigMap", "Other", 1)}, onTop},
	{"one whose target is nothing", "patches: [{path: p.yaml, target: {kind: Secret}}]", map[string]string{"p.yaml": smPatch}, alone},
	{"one that is empty", "patches: [{path: p.yaml, target: {kind: ConfigMap}}]", map[string]string{"p.yaml": "# nothing\n"}, alone},
	{"one that deletes", "patches: [{patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: mon}, $patch: delete}'}]", nil, onTop},
	{"one after a kind without scope", "patches: [{path: p.yaml}]",
		map[string]string{"cm.yaml": monConfigMap + "---\n" + thing, "p.yaml": smPatch}, onTop},
	{"one for nothing after such a kind", "patches: [{path: p.yaml, target: {kind: Secret}}]",
		map[string]string{"cm.yaml": monConfigMap + "---\n" + thing, "p.yaml": smPatch}, beneath},
	{"one that changes the kind",
		"patches: [{options: {allowKindChange: true}, target: {name: mon}, patch: '{apiVersion: v1, kind: Foo, metadata: {name: mon}}'}]",
		nil, onTop},
	{"patchesStrategicMerge", "patchesStrategicMerge: [p.yaml]", map[string]string{"p.yaml": smPatch}, onTop},
	{"a JSON patch", "patches: [{target: {kind: ConfigMap}, patch: " + jsonPatch + "}]", nil, alone},
	{"one that changes the kind", "patches: [{target: {kind: ConfigMap}, patch: " + toFoo + "}]", nil, beneath},
	{"one that makes a Secret", "patches: [{target: {kind: ConfigMap}, patch: " + toSecret + "}]", nil, alone},
	{"patchesJson6902", "patchesJson6902: [{target: {version: v1, kind: ConfigMap, name: mon}, patch: " + jsonPatch + "}]", nil, alone},
	{"patchesJson6902 for the kind", "patchesJson6902: [{target: {version: v1, kind: ConfigMap, name: mon}, patch: " + toFoo + "}]",
		nil, beneath},
	{"names", "namePrefix: a-\nnameSuffix: -b\nnamespace: c", nil, alone},
	{"labels, annotations, images, replicas", "commonLabels: {a: b}\ncommonAnnotations: {a: b}\nimages: [{name: a, newName: b}]", nil,
		alone},
	{"replacements",
		"replacements: [{source: {kind: ConfigMap, fieldPath: data.a}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.a]}]}]",
		nil, alone},
	{"replacements of the kind", "replacements: [{sourceValue: Foo, targets: [{select: {kind: ConfigMap}, fieldPaths: [kind]}]}]", nil,
		beneath},
	{"vars", "vars: [{name: A, objref: {apiVersion: v1, kind: ConfigMap, name: mon}}]", nil, alone},
	{"configurations", "configurations: [c.yaml]\nnamePrefix: a-",
		map[string]string{"c.yaml": "namePrefix: [{kind: Foo, path: metadata/name}]\n"}, alone},
	{"crds", "crds: [c.json]",
		map[string]string{"c.json": `{"x.Foo": {"Schema": {"properties": {"apiVersion": {}, "kind": {}, "metadata": {}}}}}`}, alone},
	{"an openapi field without a version", "openapi: {version: ''}", nil, alone},
	{"an openapi field with one", "openapi: {version: v1.21.2}", nil, beneath},
}

// schemaPlaces are positions of the layer mon before or after app, the layer with the schema. Both
// are Components if components is true.
var schemaPlaces = []struct {
	name, root string
	components bool
	files      map[string]string
	noEffect   bool
}{
	{name: "bases", root: "resources: [mon, app]"},
	{name: "components", root: "components: [mon, app]", components: true},
	{name: "the schema one directory deeper", root: "resources: [mon, mid]",
		files: map[string]string{"mid/kustomization.yaml": "resources: [../app]"}},
	{name: "all one directory deeper", root: "resources: [mid]",
		files: map[string]string{"mid/kustomization.yaml": "resources: [../mon, ../app]"}},
	{name: "the cause one directory deeper", root: "resources: [mid, app]",
		files: map[string]string{"mid/kustomization.yaml": "resources: [../mon]"}},
	{name: "after the schema", root: "resources: [app, mon]", noEffect: true},
	{name: "in the layer that has the schema", root: "resources: [both]", noEffect: true, files: map[string]string{
		"both/kustomization.yaml": "resources: [../mon, ../app]\nopenapi: {path: s.json}", "both/s.json": schemaOfDeployment}},
}

const (
	workload = `apiVersion: apps/v1
kind: KIND
metadata: {name: app}
spec: {template: {spec: {containers: [{name: c, image: kept-KIND}]}}}
`
	schemaOfDeployment = `{"definitions": {"x.Deployment": {
  "x-kubernetes-group-version-kind": [{"group": "apps", "version": "v1", "kind": "Deployment"}],
  "properties": {"spec": {"properties": {"template": {"properties": {"spec": {"properties": {"containers": {"type": "array", "items": {"type": "object"}}}}}}}}}}}}`
	schemaProbes = `
patches:
- patch: |
    {apiVersion: apps/v1, kind: Deployment, metadata: {name: app}, spec: {template: {spec: {containers: [{name: d, image: b}]}}}}
- patch: |
    {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: app}, spec: {template: {spec: {containers: [{name: d, image: b}]}}}}
`
)

var allSchemas = flag.Bool("schemas", false, "compare all causes in all places with kustomize")

// TestSchemaOrder checks the effect of a custom schema after each cause in each position, and
// compares it with kustomize if kustomize was built.
func TestSchemaOrder(t *testing.T) {
	for i, place := range schemaPlaces {
		for j, cause := range schemaCauses {
			t.Run(place.name+"/"+cause.name, func(t *testing.T) {
				tree := schemaTree(cause.kustomization, cause.files, place.root, place.components, place.files)
				got := renderTree(t, tree, ".")
				want := cause.want
				if place.noEffect {
					want = alone
				}
				if kept := keptIn(got); kept != want {
					t.Errorf("%q keeps its containers, want %q", kept, want)
				}
				if *allSchemas || (i+j)%len(schemaPlaces) == 0 { // each cause once
					compareWithKustomize(t, tree, got)
				}
			})
		}
	}
}

// TestSchemaOrderShared renders all causes as roots of one run that share the layer with the
// schema.
func TestSchemaOrderShared(t *testing.T) {
	tree := fstest.MapFS{}
	var roots []string
	for i, cause := range schemaCauses {
		root := string(rune('A'+i%26)) + strings.Repeat("x", i/26)
		roots = append(roots, root)
		for path, f := range schemaTree(cause.kustomization, cause.files, "resources: [mon, ../app]", false, nil) {
			if !strings.HasPrefix(path, "app/") {
				path = root + "/" + path
			}
			tree[path] = f
		}
	}
	result, err := render.Render(context.Background(), render.Options{Dirs: roots, Plan: planner.Options{FS: tree}})
	if err != nil {
		t.Fatal(err)
	}
	for i, list := range result.Lists {
		var out strings.Builder
		for _, r := range list.All() {
			out.Write(yaml.AppendYAML(nil, r.Value()))
		}
		if kept := keptIn(out.String()); kept != schemaCauses[i].want {
			t.Errorf("%s: %q keeps its containers, want %q", schemaCauses[i].name, kept, schemaCauses[i].want)
		}
	}
}

func schemaTree(mon string, files map[string]string, root string, components bool, more map[string]string) fstest.MapFS {
	kind := ""
	if components {
		kind = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
	}
	all := map[string]string{
		"kustomization.yaml":     root + schemaProbes,
		"mon/kustomization.yaml": kind + "resources: [cm.yaml]\n" + mon,
		"mon/cm.yaml":            monConfigMap,
		"app/kustomization.yaml": kind + "resources: [d.yaml, s.yaml]\nopenapi: {path: s.json}",
		"app/d.yaml":             strings.ReplaceAll(workload, "KIND", "Deployment"),
		"app/s.yaml":             strings.ReplaceAll(workload, "KIND", "StatefulSet"),
		"app/s.json":             schemaOfDeployment,
	}
	for path, text := range files {
		all["mon/"+path] = text
	}
	maps.Copy(all, more)
	tree := fstest.MapFS{}
	for path, text := range all {
		tree[path] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return tree
}

func renderTree(t *testing.T, tree fstest.MapFS, dir string) string {
	t.Helper()
	result, err := render.Render(context.Background(), render.Options{Dirs: []string{dir}, Plan: planner.Options{FS: tree}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := result.WriteYAML(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// keptIn returns the kinds whose container was kept.
func keptIn(out string) string {
	var kept []string
	for _, kind := range []string{"Deployment", "StatefulSet"} {
		if strings.Contains(out, "kept-"+kind) {
			kept = append(kept, kind)
		}
	}
	return strings.Join(kept, " ")
}

// compareWithKustomize does nothing in short tests or if make kustomize was not run.
func compareWithKustomize(t *testing.T, tree fstest.MapFS, got string) {
	t.Helper()
	kustomize, err := filepath.Abs("../.tools/kustomize")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kustomize); err != nil || testing.Short() {
		return
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, tree); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(kustomize, "build", dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kustomize: %v: %s", err, &stderr)
	}
	if string(out) != got {
		t.Errorf("kustomize prints\n%s\nand not\n%s", out, got)
	}
}
