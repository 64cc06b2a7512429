package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// A tree is a set of files by path. The directory k is rendered.
type tree map[string]string

// A hostileTree is a tree of less than 1 MiB that would need endless work or memory.
type hostileTree struct {
	name string
	make func() tree
}

// writeHostileTrees implements hostiletrees DIR: it writes each tree into a folder with its name.
func writeHostileTrees(ts *testscript.TestScript, args []string) {
	for _, h := range hostileTrees {
		size := 0
		for path, text := range h.make() {
			size += len(text)
			file := ts.MkAbs(filepath.Join(args[0], h.name, filepath.FromSlash(path)))
			ts.Check(os.MkdirAll(filepath.Dir(file), 0o755))
			ts.Check(os.WriteFile(file, []byte(text), 0o644))
		}
		if size >= 1<<20 {
			ts.Fatalf("%s has %d bytes", h.name, size)
		}
	}
}

// times repeats a text n times. %d becomes the number of the repetition.
func times(n int, text string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(text, "%d", fmt.Sprint(i)))
	}
	return b.String()
}

func letters(n int) string { return strings.Repeat("a", n) }

const (
	configMap  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: aaaaaaaaaaaaaaaa}\n"
	configMaps = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%d}\n---\n"
	tiny       = "{kind: A, metadata: {name: a%d}}\n---\n"
	component  = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
)

// of returns a tree of one Kustomization, one file of resources, and other files.
func of(text, resources string, others ...string) tree {
	t := tree{"k/kustomization.yaml": "resources: [r.yaml]\n" + text, "k/r.yaml": resources}
	for i := 0; i < len(others); i += 2 {
		t[others[i]] = others[i+1]
	}
	return t
}

// chain returns a tree of n layers, each of which uses the next. text returns the file of layer i.
// The first layer is k.
func chain(n int, text func(i int, next string) string, others ...string) tree {
	t := of("", "", others...)
	delete(t, "k/r.yaml")
	for i := range n {
		name := fmt.Sprint("k", i)
		if i == 0 {
			name = "k"
		}
		t[name+"/kustomization.yaml"] = text(i, fmt.Sprintf("../k%d", i+1))
	}
	return t
}

// diamond returns a chain of n layers that use the next one twice, the second time under a prefix.
func diamond(n int, resources string) tree {
	t := chain(n, func(i int, next string) string { return fmt.Sprintf("resources: [%s, ../p%d]\n", next, i) })
	for i := range n {
		t[fmt.Sprintf("p%d/kustomization.yaml", i)] = fmt.Sprintf("namePrefix: p%d-\nresources: [../k%d]\n", i, i+1)
	}
	t[fmt.Sprintf("k%d/kustomization.yaml", n)] = "resources: [r.yaml]\n"
	t[fmt.Sprintf("k%d/r.yaml", n)] = resources
	return t
}

func deployment(containers string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {containers: [" + containers + "]}}}\n"
}

func replacement(source, targets string) string {
	return "- source: {kind: ConfigMap, fieldPath: " + source + "}\n  targets: [{select: {kind: ConfigMap}, fieldPaths: [" + targets +
		"], options: {create: true}}]\n"
}

var hostileTrees = []hostileTree{
	// Values that are copied into or beside themselves.
	{"json-copy", func() tree {
		return of("patches:\n- target: {kind: ConfigMap}\n  path: p.yaml\n", configMap,
			"k/p.yaml", times(30, "- {op: copy, from: /data, path: /data/x%d}\n"))
	}},
	{"json-copy-patches", func() tree {
		return of("patches:\n"+times(30, "- {target: {kind: ConfigMap}, patch: '- {op: copy, from: /data, path: /data/x%d}'}\n"), configMap)
	}},
	{"json-copy-layers", func() tree {
		return chain(30, func(i int, next string) string {
			if i == 29 {
				next = "r.yaml"
			}
			return "resources: [" + next + "]\npatches: [{target: {kind: ConfigMap}, patch: '- {op: copy, from: /data, path: /data/x" +
				fmt.Sprint(i) + "}'}]\n"
		}, "k29/r.yaml", configMap)
	}},
	{"json-copy-list", func() tree {
		return of("patches:\n- target: {kind: ConfigMap}\n  path: p.yaml\n",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx: [a]\n",
			"k/p.yaml", times(60, "- {op: copy, from: /x, path: /x/-}\n"))
	}},
	{"json-copy-everywhere", func() tree { // moderate per resource, too much in total
		return of("patches:\n- target: {kind: ConfigMap}\n  path: p.yaml\n",
			times(10000, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%d}\ndata: {a: aaaaa}\n---\n"),
			"k/p.yaml", times(14, "- {op: copy, from: /data, path: /data/x%d}\n"))
	}},
	{"json-add-everywhere", func() tree {
		return of("patches:\n- target: {kind: ConfigMap}\n  path: p.yaml\n", times(8000, configMaps), "k/p.yaml",
			"- {op: add, path: /data, value: {a: "+letters(500_000)+"}}\n")
	}},
	{"json-add-values", func() tree {
		return of("patches:\n- target: {kind: ConfigMap}\n  path: p.yaml\n", times(8000, configMaps), "k/p.yaml",
			"- {op: add, path: /data, value: ["+strings.Repeat("0x10,", 100_000)+"]}\n")
	}},
	{"json-many-operations", func() tree {
		return of("patches:\n- target: {kind: ConfigMap}\n  path: p.yaml\n", configMap, "k/p.yaml",
			times(20000, "- {op: add, path: /data/x%d, value: b}\n"))
	}},
	{"json-many-items", func() tree {
		return of("patches:\n- target: {kind: ConfigMap}\n  path: p.yaml\n", configMap, "k/p.yaml",
			"- {op: add, path: /l, value: []}\n"+times(20000, "- {op: add, path: /l/0, value: b%d}\n"))
	}},
	{"json-operations-everywhere", func() tree {
		return of("patches:\n- target: {kind: ConfigMap}\n  path: p.yaml\n", times(8000, configMaps), "k/p.yaml",
			"- {op: add, path: /data, value: {}}\n"+times(12000, "- {op: add, path: /data/a, value: b%d}\n"))
	}},
	{"json-test", func() tree {
		return of("patches:\n- target: {kind: ConfigMap}\n  path: p.yaml\n", configMap+"x: "+letters(300_000),
			"k/p.yaml", times(4, "- {op: copy, from: /x, path: /data/x%d}\n")+times(10000, "- {op: test, path: /data/x1, value: a}\n"))
	}},
	{"json-patches", func() tree {
		return of("patches:\n"+times(6000, "- {target: {kind: ConfigMap}, patch: '- {op: add, path: /data/x, value: x%d}'}\n"),
			configMap+"x: {"+times(30000, "a%d: b c,")+"}")
	}},
	{"merge-everywhere", func() tree {
		return of("patches:\n- target: {kind: ConfigMap}\n  path: p.yaml\n", times(8000, configMaps), "k/p.yaml",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: "+letters(500_000)+"}\n")
	}},
	{"merge-many", func() tree {
		return of("patches:\n"+times(5000, "- patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: y%d}}'\n"),
			configMap+"x: {"+times(30000, "a%d: {b: c},")+"}")
	}},
	{"merge-keyless-items", func() tree {
		return of("patches:\n- path: p.yaml\n", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: ["+
			times(25000, "{port: %d},")+"]}\n",
			"k/p.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: ["+times(25000, "{port: %d},")+"{name: x}]}\n")
	}},
	{"merge-keyless-containers", func() tree {
		return of("patches:\n- path: p.yaml\n", deployment(times(30000, "{name: b%d},")+"{image: c}"), "k/p.yaml",
			deployment(times(30000, "{name: a%d},")+"{image: c}"))
	}},

	// Replacements and vars.
	{"replacement-doubles", func() tree {
		return of("replacements:\n"+times(30, replacement("data", "data.x%d")), configMap)
	}},
	{"replacement-file-doubles", func() tree {
		return of("replacements: [{path: p.yaml}]\n", configMap, "k/p.yaml", times(30, replacement("data", "data.x%d")))
	}},
	{"replacement-text-doubles", func() tree {
		return of("replacements:\n"+times(40,
			"- source: {kind: ConfigMap, fieldPath: data.a}\n  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.a], options: {delimiter: '-', index: 99}}]\n"), configMap)
	}},
	{"replacement-document-doubles", func() tree {
		return of("replacements:\n"+times(40,
			"- source: {kind: ConfigMap, fieldPath: data.a}\n  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.a.b%d], options: {create: true}}]\n"),
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: '{\"a\": \"b\\n\\\"c\\\"\"}'}\n")
	}},
	{"replacement-everywhere", func() tree {
		return of(
			"replacements:\n- source: {kind: B, fieldPath: x}\n  targets: [{select: {kind: ConfigMap}, fieldPaths: [x], options: {create: true}}]\n",
			times(8000, configMaps)+"kind: B\nmetadata: {name: b}\nx: "+letters(400_000)+"\n")
	}},
	{"replacement-parts", func() tree { // its own text in each field
		return of(
			"replacements:\n- source: {kind: B, fieldPath: x}\n  targets: [{select: {kind: ConfigMap}, fieldPaths: [metadata.name], options: {delimiter: '-', index: 99}}]\n",
			times(8000, configMaps)+"kind: B\nmetadata: {name: b}\nx: "+letters(400_000)+"\n")
	}},
	{"replacement-fields", func() tree {
		return of("replacements:\n- source: {kind: B, fieldPath: x}\n  targets: [{select: {kind: ConfigMap}, fieldPaths: ["+
			times(30000, "data.x%d,")+"], options: {create: true}}]\n",
			configMap+"---\nkind: B\nmetadata: {name: b}\nx: "+letters(300_000)+"\n")
	}},
	{"replacement-documents", func() tree { // a document within a text, parsed for each field
		return of("replacements:\n- source: {kind: B, fieldPath: x}\n  targets: [{select: {kind: ConfigMap}, fieldPaths: ["+
			times(20000, "data.a.x%d,")+"], options: {create: true}}]\n",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n"+times(30000, "    a%d: b\n")+
				"---\nkind: B\nmetadata: {name: b}\nx: y\n")
	}},
	{"replacement-patterns", func() tree {
		return of("replacements:\n"+times(2000,
			"- sourceValue: b\n  targets: [{select: {name: '(a|b|%d)+.*'}, fieldPaths: ['x.[a=(a|%d)*.*b].c'], options: {create: true}}]\n"),
			times(2000, "{kind: A, metadata: {name: a%d}, x: [{a: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaab, c: d}]}\n---\n"))
	}},
	{"vars", func() tree {
		return of(
			"vars: [{name: V, objref: {kind: ConfigMap, name: a, apiVersion: v1}, fieldref: {fieldpath: data.a}}]\nconfigurations: [c.yaml]\n",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: "+letters(300_000)+", b: 'x"+strings.Repeat("$(V)", 100_000)+
				"'}\n",
			"k/c.yaml", "varReference: [{path: data, kind: ConfigMap}]\n")
	}},
	{"vars-everywhere", func() tree {
		return of(
			"vars: [{name: V, objref: {kind: ConfigMap, name: a0, apiVersion: v1}, fieldref: {fieldpath: data.a}}]\nconfigurations: [c.yaml]\n",
			times(7000, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%d}\ndata: {b: x$(V)}\n---\n")+
				"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: z}\n",
			"k/c.yaml", "varReference: [{path: data, kind: ConfigMap}]\n").with("k/r.yaml", "b: x$(V)}", "a: "+letters(400_000)+"}")
	}},

	// Aliases.
	{"aliases-resources", func() tree {
		return of("",
			times(2500,
				"kind: A\nmetadata: {name: a%d}\nx: &a [1,2,3,4,5,6,7,8]\ny: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nz: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nu: &d [*c,*c,*c,*c,*c,*c,*c,*c]\nv: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nw: &f [*e,*e,*e,*e,*e,*e,*e,*e]\nt: [*f,*f,*f]\n---\n"))
	}},
	{"aliases-images", func() tree {
		return of("images: [&i {name: a, newTag: b},"+strings.Repeat("*i,", 300_000)+"]\n", configMap)
	}},
	{"aliases-patches", func() tree {
		return of("patches: [&p {patch: '{kind: A, metadata: {name: a}, x: {"+times(20000, "a%d: b,")+"}}'},"+
			strings.Repeat("*p,", 100_000)+"]\n", "{kind: A, metadata: {name: a}}")
	}},
	{"aliases-patch", func() tree {
		return of("patches: [{path: p.yaml, target: {kind: A}}]\n", times(8000, tiny), "k/p.yaml",
			"kind: A\nmetadata: {name: a}\nx: &a [1,2,3,4,5,6,7,8]\ny: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nz: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nu: &d [*c,*c,*c,*c,*c,*c,*c,*c]\nv: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nw: &f [*e,*e,*e,*e,*e,*e,*e,*e]\n")
	}},

	// Layers that are reused many times.
	{"bases-diamond", func() tree { return diamond(9, times(1000, configMaps)) }},
	{"bases-diamond-large", func() tree { return diamond(16, configMap+"x: "+letters(900_000)) }},
	{"bases-diamond-deep", func() tree { return diamond(18, configMap) }},
	{"components-tree", func() tree {
		t := chain(30, func(i int, next string) string {
			return component + "components: [" + next + ", " + next + "]\n"
		})
		t["k/kustomization.yaml"] = "resources: [r.yaml]\ncomponents: [../k1]\n"
		t["k/r.yaml"] = configMap
		t["k30/kustomization.yaml"] = component + "nameSuffix: x\n"
		return t
	}},
	{"components-large", func() tree {
		return of("components: ["+strings.Repeat("../c,", 20000)+"]\n", times(10000, configMaps), "c/kustomization.yaml",
			component+"labels: [{pairs: {a: b}}, {pairs: {a: c}}]\n")
	}},
	{"components-chain", func() tree {
		t := chain(8000, func(i int, next string) string { return component + "components: [" + next + "]\n" })
		t["k/kustomization.yaml"] = "resources: [r.yaml]\ncomponents: [../k1]\n"
		t["k/r.yaml"] = configMap
		t["k8000/kustomization.yaml"] = component + "nameSuffix: x\n"
		return t
	}},
	{"components-steps", func() tree {
		steps := "labels: [" + strings.Repeat("{pairs: {a: b}},", 40) + "]\n"
		t := chain(1000, func(i int, next string) string { return component + steps + "components: [" + next + "]\n" })
		t["k/kustomization.yaml"] = "resources: [r.yaml]\ncomponents: [../k1]\n"
		t["k/r.yaml"] = configMap
		t["k1000/kustomization.yaml"] = component + "nameSuffix: x\n"
		return t
	}},
	{"bases-chain", func() tree {
		return chain(10000, func(i int, next string) string {
			if i == 9999 {
				next = "r.yaml"
			}
			return "namePrefix: a\nresources: [" + next + "]\n"
		}, "k9999/r.yaml", times(200, configMaps))
	}},
	{"bases-many", func() tree {
		return of("", "").with("k/kustomization.yaml", "[r.yaml]", "["+strings.Repeat("r,", 400_000)+"]")
	}},
	{"folded-folders", func() tree {
		t := chain(25, func(i int, next string) string { return "transformers: [" + next + ", " + next + "]\n" })
		t["k/kustomization.yaml"] = "resources: [r.yaml]\ntransformers: [../k1]\n"
		t["k/r.yaml"] = configMap
		t["k25/kustomization.yaml"] = "resources: [r.yaml]\n"
		t["k25/r.yaml"] = "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: a}\nprefix: a\nfieldSpecs: [{path: metadata/name}]\n"
		return t
	}},
	{"folded-again", func() tree {
		return of("transformers: ["+strings.Repeat("../t,", 50_000)+"]\n", configMap, "t/kustomization.yaml", "resources: [r.yaml]\n",
			"t/r.yaml",
			times(4000,
				"apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: a%d}\nprefix: a\nfieldSpecs: [{path: metadata/name}]\n---\n"))
	}},
	{"compositions", func() tree {
		t := tree{}
		for i := range 4000 {
			name, imports := fmt.Sprint("k", i), fmt.Sprintf("transformersFrom: [{path: ../k%d}]\n", i+1)
			if i == 0 {
				name = "k"
			}
			t[name+"/composition.yaml"] = fmt.Sprintf(
				"kind: Composition\n%stransformers: [{apiVersion: builtin, kind: PrefixTransformer, metadata: {name: a%d}, prefix: a}]\n",
				imports, i)
		}
		t["k4000/composition.yaml"] = "kind: Composition\ntransformers: [{kind: ResourceGenerator, paths: [r.yaml]}]\n"
		t["k4000/r.yaml"] = configMap
		return t
	}},
	{"composition-overrides", func() tree {
		return tree{
			"k/composition.yaml": "kind: Composition\ntransformersFrom: [{path: ../b}]\ntransformerOverrides:\n" +
				times(5000, "- {apiVersion: builtin, kind: PrefixTransformer, metadata: {name: a%d}, prefix: b}\n"),
			"b/composition.yaml": "kind: Composition\ntransformers:\n" +
				times(5000, "- {apiVersion: builtin, kind: PrefixTransformer, metadata: {name: a%d}, prefix: a}\n"),
		}
	}},
	{"composition-mistakes", func() tree {
		return tree{
			"k/composition.yaml": "kind: Composition\ntransformersFrom: [{path: ../b}]\ntransformerOverrides:\n" +
				times(5000, "- {apiVersion: builtin, kind: PrefixTransformer, metadata: {name: b%d}, prefix: b}\n"),
			"b/composition.yaml": "kind: Composition\ntransformers:\n" +
				times(5000, "- {apiVersion: builtin, kind: PrefixTransformer, metadata: {name: a%d}, prefix: a}\n"),
		}
	}},
	{"composition-order", func() tree {
		return tree{
			"k/composition.yaml": "kind: Composition\ntransformersFrom: [{path: ../b}]\ntransformerOrder:\n" +
				times(10000, "- {name: b%d}\n"),
			"b/composition.yaml": "kind: Composition\ntransformers:\n" +
				times(5000, "- {apiVersion: builtin, kind: PrefixTransformer, metadata: {name: a%d}, prefix: a}\n"),
		}
	}},

	// Many steps, or long texts, on many resources.
	{"prefix-long", func() tree { return of("namePrefix: "+letters(400_000)+"\n", times(8000, configMaps)) }},
	{"namespace-long", func() tree { return of("namespace: "+letters(400_000)+"\n", times(8000, configMaps)) }},
	{"label-long", func() tree { return of("commonLabels: {a: "+letters(400_000)+"}\n", times(8000, configMaps)) }},
	{"annotation-long", func() tree { return of("commonAnnotations: {a: "+letters(400_000)+"}\n", times(8000, configMaps)) }},
	{"labels-many", func() tree {
		return of("labels:\n"+times(15000, "- {pairs: {a: b%d}}\n"), times(12000, tiny))
	}},
	{"labels-wide", func() tree { return of("commonLabels: {"+times(30000, "a%d: b,")+"}\n", times(8000, configMaps)) }},
	{"labels-values", func() tree {
		return of("commonLabels: {"+times(20000, "a%d: b,")+"}\n",
			times(10, "{kind: A, metadata: {name: a%d, labels: {"+times(4000, "b%d: b,")+"}}}\n---\n"))
	}},
	{"image-long", func() tree {
		return of("images: [{name: i, newName: "+letters(300_000)+"}]\n", deployment(times(20000, "{name: a%d, image: i},")))
	}},
	{"images-many", func() tree {
		return of("images:\n"+times(15000, "- {name: i%d, newTag: b}\n"), deployment(times(15000, "{name: a%d, image: i%d},")))
	}},
	{"images-everywhere", func() tree {
		return of("images:\n"+times(15000, "- {name: i%d, newTag: b}\n"),
			times(6000, "{kind: A, metadata: {name: a%d}, spec: {containers: [{image: i%d}]}}\n---\n"))
	}},
	{"images-toggle", func() tree {
		return of("images:\n"+strings.Repeat("- {name: a, newName: b}\n- {name: b, newName: a}\n", 8000),
			times(6000, "{kind: A, metadata: {name: a%d}, spec: {containers: [{image: a}]}}\n---\n"))
	}},
	{"images-patterns", func() tree {
		return of("images:\n"+times(10000, "- {name: '(a|b)*%d', newTag: b}\n"),
			times(6000, "{kind: A, metadata: {name: a%d}, spec: {containers: [{image: i%d}]}}\n---\n"))
	}},
	{"image-pattern", func() tree {
		return of("images:\n- {name: '("+letters(200_000)+"b?)*', newTag: b}\n", deployment("{image: "+letters(300_000)+"}"))
	}},
	{"selector-pattern", func() tree {
		return of("patches:\n- target: {name: '("+strings.Repeat("a?", 100_000)+")*b'}\n  patch: '[]'\n",
			"{kind: A, metadata: {name: "+letters(300_000)+"}}")
	}},
	{"selectors-many", func() tree {
		return of("patches:\n"+times(7000, "- {target: {kind: 'Confi.*'}, patch: '{kind: A, metadata: {name: b}}'}\n"),
			times(7000, configMaps))
	}},
	{"selectors-labels", func() tree {
		return of("patches:\n"+times(200, "- target: {labelSelector: '"+times(100, "a%d!=b,")+
			"c=d'}\n  patch: '{kind: A, metadata: {name: b}}'\n"),
			times(3000, "{kind: A, metadata: {name: a%d, labels: {"+times(5, "b%d: c,")+"}}}\n---\n"))
	}},
	{"replicas-many", func() tree {
		return of("replicas:\n"+times(8000, "- {name: a%d, count: 1}\n"),
			times(8000, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a%d}}\n---\n"))
	}},
	{"transformations", func() tree {
		return of("buildMetadata: [transformerAnnotations, originAnnotations]\nlabels:\n"+times(15000, "- {pairs: {a: b%d}}\n"),
			times(12000, tiny))
	}},
	{"name-references", func() tree {
		return of("configurations: [c.yaml]\nnamePrefix: p\n", times(5000, "{kind: A%d, metadata: {name: a%d}, x: a%d}\n---\n"),
			"k/c.yaml", "nameReference:\n- {kind: A1, fieldSpecs: ["+times(10000, "{path: x%d, kind: A},")+"]}\n")
	}},
	{"name-references-items", func() tree {
		return of("configurations: [c.yaml]\nnamePrefix: p\n",
			times(1000, "{kind: A, metadata: {name: a%d}, x: [a0,a1,a2,a3,a4,a5,a6,a7,a8,a9]}\n---\n"),
			"k/c.yaml", "nameReference:\n"+times(10000, "- {kind: A, version: v%d, fieldSpecs: [{path: x}]}\n"))
	}},
	{"field-specs", func() tree {
		return of("labels:\n- pairs: {a: b}\n  fields: ["+times(15000, "{path: x%d/y, create: true},")+"]\n",
			times(5000, "{kind: A%d, metadata: {name: a%d}}\n---\n"))
	}},
	{"configurations-merge", func() tree {
		return chain(400, func(i int, next string) string {
			if i == 399 {
				next = "r.yaml"
			}
			return fmt.Sprintf("resources: [%s]\nconfigurations: [c.yaml]\n", next)
		}, "k399/r.yaml", configMap).each("configurations", func(i int) (string, string) {
			return "c.yaml", "namePrefix: [" + strings.ReplaceAll(times(60, "{path: x%d_N},"), "N", fmt.Sprint(i)) + "]\n"
		})
	}},

	// Files that are reused many times, and text that grows when printed.
	{"generator-files", func() tree {
		return of("configMapGenerator:\n- name: a\n  files: ["+times(15000, "f%d=f,")+"]\n", configMap, "k/f", letters(500_000))
	}},
	{"generator-binary", func() tree {
		return of("secretGenerator:\n- name: a\n  files: ["+times(15000, "f%d=f,")+"]\n", configMap, "k/f", strings.Repeat("\xff", 500_000))
	}},
	{"generators", func() tree {
		return of("secretGenerator:\n"+times(10000, "- {name: a%d, files: [f]}\n"), configMap, "k/f", letters(500_000))
	}},
	{"generators-env", func() tree {
		return of("configMapGenerator:\n"+times(10000, "- {name: a%d, envs: [f]}\n"), configMap, "k/f", times(40000, "a%d=b\n"))
	}},
	{"generator-merge", func() tree {
		return of("secretGenerator: [{name: a, behavior: merge, literals: [b=c]}]\n",
			"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {"+times(60000, "a%d: b,")+"}\n")
	}},
	{"indentation", func() tree {
		return of("", "{kind: A, metadata: {name: a}, x: "+strings.Repeat("{a: ", 990)+"["+strings.Repeat("0,", 400_000)+
			"]"+strings.Repeat("}", 990)+"}\n")
	}},
	{"indentation-text", func() tree {
		return of("", "{kind: A, metadata: {name: a}, x: "+strings.Repeat("{a: ", 990)+"\""+strings.Repeat("a\\n", 250_000)+
			"\""+strings.Repeat("}", 990)+"}\n")
	}},
	{"wide-map", func() tree { return of("", configMap+"x: {"+times(60000, "a%d: b,")+"}") }},
	{"wide-annotations", func() tree {
		return of("buildMetadata: [originAnnotations]\n", "{kind: A, metadata: {name: a, annotations: {"+times(60000, "a%d: 1,")+"}}}")
	}},

	// Errors and hints.
	{"unknown-fields", func() tree { return of(times(60000, "resource%d: b\n"), configMap) }},
	{"wrong-entries", func() tree { return of("buildMetadata: ["+strings.Repeat("a,", 400_000)+"]\n", configMap) }},
	{"wrong-types", func() tree { return of("images: ["+strings.Repeat("a,", 400_000)+"]\n", configMap) }},
	{"missing-files", func() tree {
		t := of("", configMap).with("k/kustomization.yaml", "[r.yaml]", "["+times(1000, "missing-file-%d.yaml,")+"]")
		for i := range 10000 {
			t[fmt.Sprintf("k/another-file-%d.yaml", i)] = ""
		}
		return t
	}},
	{"near-names", func() tree {
		return of("patches:\n"+times(6000, "- {target: {name: another-name-%d}, patch: '{kind: A, metadata: {name: b}}'}\n"),
			times(8000, "{kind: A, metadata: {name: missing-name-%d}}\n---\n"))
	}},
	{"near-names-long", func() tree {
		return of("patches:\n- {target: {name: "+letters(300_000)+"b}, patch: '{kind: A, metadata: {name: b}}'}\n",
			"{kind: A, metadata: {name: c"+letters(300_000)+"}}")
	}},
	{"near-images", func() tree {
		return of("images:\n"+times(10000, "- {name: another-image-%d, newTag: b}\n"),
			deployment(times(10000, "{image: missing-image-%d},")))
	}},
	{"warnings", func() tree {
		return of("patches:\n"+times(10000, "- {target: {kind: A}, patch: '{kind: A, metadata: {name: b}}'}\n"), times(10, configMaps))
	}},
	{"functions-denied", func() tree {
		return of("transformers:\n"+times(8000, "- '{apiVersion: e.com/v1, kind: F, metadata: {name: a%d}}'\n")+"catalogs: ["+
			times(8000, "c%d.yaml,")+"]\n", configMap)
	}},
}

// with returns t with one text in a file replaced.
func (t tree) with(file, old, now string) tree {
	t[file] = strings.Replace(t[file], old, now, 1)
	return t
}

// each adds a file to each layer whose kustomization file contains a word.
func (t tree) each(word string, file func(i int) (name, text string)) tree {
	for i, path := range slices.Sorted(maps.Keys(t)) {
		if strings.Contains(t[path], word) {
			name, content := file(i)
			t[strings.TrimSuffix(path, "kustomization.yaml")+name] = content
		}
	}
	return t
}
