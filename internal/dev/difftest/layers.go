package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// A generator generates one random tree.
type generator struct {
	*random
	files   tree
	things  []thing // objects of the tree so far, including generated ones
	objects []*node // content of things; nil for generated ones
	base    int     // index of the first thing in the current layer
	count   int     // for file names
}

// generate returns the tree with the given number for a seed.
func generate(seed, number uint64) tree {
	g := &generator{random: &random{rand.New(rand.NewPCG(seed, number))}, files: tree{}}
	g.layer("", 0, false)
	return g.files
}

// file adds a file to the layer in dir and returns its name.
func (g *generator) file(dir, name string, docs ...*node) string {
	g.count++
	name = fmt.Sprintf("%s%d.yaml", name, g.count)
	var parts []string
	for _, d := range docs {
		parts = append(parts, g.yaml(d))
	}
	g.files[dir+name] = strings.Join(parts, "---\n")
	return name
}

// layer writes a kustomization file and the files it refers to. dir is empty for the root and
// otherwise ends with a slash.
func (g *generator) layer(dir string, depth int, component bool) {
	defer func(base int) { g.base = base }(g.base)
	if !component {
		g.base = len(g.things)
	}
	k := mapping()
	if component {
		k.set("apiVersion", "kustomize.config.k8s.io/v1alpha1")
		k.set("kind", "Component")
	} else if g.chance(0.2) {
		k.set("apiVersion", "kustomize.config.k8s.io/v1beta1")
		k.set("kind", "Kustomization")
	}
	resources := list()
	if !component || g.chance(0.3) {
		for range 1 + g.IntN(2) {
			resources.items = append(resources.items, text(g.resourceFile(dir)))
		}
	}
	for i := 0; depth < 2 && !component && i < 2 && g.chance(0.25); i++ {
		sub := fmt.Sprintf("base%d", i)
		g.layer(dir+sub+"/", depth+1, false)
		resources.items = append(resources.items, text(sub))
	}
	if len(resources.items) > 0 {
		k.set("resources", resources)
	}
	for _, i := range g.Perm(len(features))[:1+g.IntN(4)] {
		features[i](g, dir, k)
	}
	if depth < 2 && g.chance(0.15) {
		g.layer(dir+"comp/", depth+2, true)
		k.set("components", texts("comp"))
	}
	if g.chance(0.04) {
		g.mistake(k)
	}
	g.Shuffle(len(k.fields), func(i, j int) { k.fields[i], k.fields[j] = k.fields[j], k.fields[i] })
	g.files[dir+"kustomization.yaml"] = g.yaml(k)
}

func (g *generator) resourceFile(dir string) string {
	var docs []*node
	for range 1 + g.IntN(2) {
		t := g.thing()
		if slices.Contains(g.things[g.base:], t) && g.chance(0.95) {
			continue
		}
		o := g.object(t)
		g.things, g.objects = append(g.things, t), append(g.objects, o)
		docs = append(docs, o)
	}
	if len(docs) == 0 {
		docs = append(docs, g.object(thing{"v1", "ConfigMap", fmt.Sprintf("only%d", g.count), ""}))
	}
	return g.file(dir, "r", docs...)
}

// known returns a random object of the current layer, and rarely one that does not exist.
func (g *generator) known() (thing, *node) {
	n := len(g.things) - g.base
	if n == 0 || g.chance(0.02) {
		return g.thing(), nil
	}
	i := g.base + g.IntN(n)
	return g.things[i], g.objects[i]
}

// knownAs is like known, but prefers objects of the given kinds.
func (g *generator) knownAs(kinds ...string) (thing, *node) {
	for i, t := range g.things[g.base:] {
		if slices.Contains(kinds, t.kind) && g.chance(0.7) {
			return t, g.objects[g.base+i]
		}
	}
	return g.known()
}

// features are the features that a layer can use. Features that are listed several times are
// selected more often.
var features = []func(*generator, string, *node){
	(*generator).affixes, (*generator).namespace, (*generator).labels, (*generator).commonLabels, (*generator).commonAnnotations,
	(*generator).images, (*generator).replicas, (*generator).configMaps, (*generator).configMaps, (*generator).secrets,
	(*generator).patches, (*generator).patches, (*generator).patches, (*generator).patches, (*generator).oldPatches,
	(*generator).replacements, (*generator).replacements, (*generator).replacements, (*generator).vars, (*generator).plugins,
	(*generator).plugins,
	(*generator).configurations, (*generator).metadata, (*generator).schema,
}

func (g *generator) affixes(_ string, k *node) {
	k.set(of(g.random, "namePrefix", "namePrefix", "nameSuffix"), of(g.random, "p-", "-s", "x", `"1"`, "a-b-", `"0"`))
}

func (g *generator) namespace(_ string, k *node) {
	k.set("namespace", of(g.random, "ns1", "ns2", "default", `"1"`))
}

func (g *generator) labels(_ string, k *node) {
	l := object("pairs", g.plainStrings(2))
	if g.chance(0.3) {
		l.set("includeSelectors", of(g.random, "true", "false"))
	}
	if g.chance(0.3) {
		l.set("includeTemplates", of(g.random, "true", "false"))
	}
	if g.chance(0.1) {
		l.set("fields", list(g.fieldSpec()))
	}
	k.set("labels", list(l))
}

func (g *generator) commonLabels(_ string, k *node) { k.set("commonLabels", g.plainStrings(2)) }
func (g *generator) commonAnnotations(_ string, k *node) {
	k.set("commonAnnotations", g.plainStrings(2))
}

func (g *generator) images(_ string, k *node) {
	image := object("name", of(g.random, "nginx", "web", "example.com/a/nginx"))
	for _, key := range some(g.random, 2, "newName", "newTag", "digest", "tagSuffix") {
		image.set(key, map[string]string{"newName": of(g.random, "b", "r.example.com/x/y"), "newTag": of(g.random, "v9", `"1.10"`),
			"digest": "sha256:" + digest, "tagSuffix": "-x"}[key])
	}
	k.set("images", list(image))
}

func (g *generator) replicas(_ string, k *node) {
	t, o := g.knownAs("Deployment", "StatefulSet")
	if o == nil || t.kind != "Deployment" && t.kind != "StatefulSet" && g.chance(0.9) {
		return
	}
	k.set("replicas", list(object("name", t.name, "count", strconv.Itoa(g.IntN(5)))))
}

func (g *generator) configMaps(dir string, k *node) {
	k.set("configMapGenerator", g.generated(dir, "ConfigMap", of(g.random, "gen", "gen", "a", "b")))
	g.generatorOptions(k)
}

func (g *generator) secrets(dir string, k *node) {
	k.set("secretGenerator", g.generated(dir, "Secret", of(g.random, "sec", "sec", "a", "b")))
	g.generatorOptions(k)
}

func (g *generator) generatorOptions(k *node) {
	if g.chance(0.15) {
		k.set("generatorOptions", g.options())
	}
}

func (g *generator) options() *node {
	o := mapping()
	for _, key := range some(g.random, 3, "disableNameSuffixHash", "labels", "annotations", "immutable") {
		if key == "labels" || key == "annotations" {
			o.set(key, g.plainStrings(2))
		} else {
			o.set(key, of(g.random, "true", "true", "false"))
		}
	}
	return o
}

func (g *generator) generated(dir, kind, name string) *node {
	l := list()
	for range 1 + g.IntN(2) {
		gen := object("name", name)
		namespace := ""
		if g.chance(0.1) {
			namespace = of(g.random, "ns1", "default")
			gen.set("namespace", namespace)
		}
		exists := false
		for _, t := range g.things[g.base:] {
			exists = exists || t == thing{"v1", kind, name, namespace}
		}
		if exists != g.chance(0.05) {
			gen.set("behavior", of(g.random, "merge", "merge", "merge", "replace", "replace"))
		}
		for _, key := range some(g.random, 2, "literals", "files", "envs") {
			switch key {
			case "literals":
				gen.set(key, texts(some(g.random, 3, "a=b", "k=1", `"x=y z"`, "e=", `'q="v"'`, "n=null", "t=true", "u=a=b", "m=$(VAR)")...))
			case "files":
				g.count++
				file := fmt.Sprintf("f%d.txt", g.count)
				g.files[dir+file] = of(g.random, "a\nb\n", "", "\tx", "a: b\n# c\n", "  a\n b", "\xff\xfe", "é\n", "a\r\nb\r\n",
					"one\n\n\n")
				gen.set(key, texts(of(g.random, "", "k=", "other.txt=")+file))
			default:
				g.count++
				file := fmt.Sprintf("e%d.env", g.count)
				g.files[dir+file] = of(g.random, "A=b\nC=d\n", "# c\nA=\n", "A=\"x\"\n", "A=b=c\r\n")
				gen.set(key, texts(file))
			}
		}
		if kind == "Secret" && g.chance(0.3) {
			gen.set("type", of(g.random, "Opaque", "kubernetes.io/tls", "x"))
		}
		if g.chance(0.25) {
			gen.set("options", g.options())
		}
		g.things, g.objects = append(g.things, thing{"v1", kind, name, namespace}), append(g.objects, nil)
		l.items = append(l.items, gen)
	}
	return l
}

func (g *generator) vars(_ string, k *node) {
	t, _ := g.known()
	v := object("name", "VAR", "objref", object("apiVersion", t.apiVersion, "kind", t.kind, "name", t.name))
	if g.chance(0.5) {
		v.set("fieldref", object("fieldpath", of(g.random, "metadata.name", "metadata.namespace", "data.a", "spec.a", "spec.ports[0].port",
			"spec.replicas", "metadata.labels")))
	}
	k.set("vars", list(v))
}

func (g *generator) metadata(_ string, k *node) {
	if g.chance(0.5) {
		k.set("buildMetadata", texts(some(g.random, 3, "originAnnotations", "transformerAnnotations", "managedByLabel")...))
		return
	}
	order := object("order", of(g.random, "legacy", "fifo"))
	if g.chance(0.2) {
		order.set("legacySortOptions", object("orderFirst", texts("Service", "ConfigMap"), "orderLast", texts("Deployment")))
	}
	k.set("sortOptions", order)
}

// fieldSpec returns a random field specification for a configuration.
func (g *generator) fieldSpec() *node {
	f := object("path", of(g.random, "metadata/name", "metadata/labels", "metadata/annotations", "spec/a", "spec/name",
		"spec/template/metadata/labels", "data/a", "spec/ref/name",
		"spec/list[]/a", "spec/selector", "spec/replicas", "metadata/namespace", "subjects", "spec/text", "spec/map"))
	if g.chance(0.5) {
		f.set("kind", of(g.random, "Thing", "ConfigMap", "Deployment", "Service"))
	}
	if g.chance(0.5) {
		f.set("create", of(g.random, "true", "true", "false"))
	}
	if g.chance(0.1) {
		f.set(of(g.random, "group", "version"), of(g.random, "apps", "v1"))
	}
	return f
}

func (g *generator) configurations(dir string, k *node) {
	c := mapping()
	for range 1 + g.IntN(2) {
		key := of(g.random, "namePrefix", "nameSuffix", "namespace", "commonLabels", "commonAnnotations", "images", "replicas",
			"varReference", "nameReference", "labels")
		specs := list()
		for range 1 + g.IntN(2) {
			specs.items = append(specs.items, g.fieldSpec())
		}
		if key == "nameReference" {
			t, _ := g.known()
			specs = list(object("kind", t.kind, "fieldSpecs", specs))
		}
		c.set(key, specs)
	}
	k.set("configurations", texts(g.file(dir, "conf", c)))
}

// schema adds a schema that makes lists of Things merge by name, or a CRD with a name reference.
func (g *generator) schema(dir string, k *node) {
	if g.chance(0.6) {
		return
	}
	item := `{"type": "object", "properties": {"name": {"type": "string"}, "value": {"type": "string"}}}`
	if g.chance(0.5) {
		g.files[dir+"schema.json"] = `{"definitions": {"v1.Thing": {"type": "object", "properties": {
"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
"spec": {"type": "object", "properties": {"items": {"type": "array", "items": ` + item + `,
"x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge"}}}},
"x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Thing"}]}}}
`
		k.set("openapi", object("path", "schema.json"))
		return
	}
	g.files[dir+"crd.json"] = `{"example.com/v1.Thing": {"Schema": {"type": "object", "properties": {
"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
"spec": {"$ref": "example.com/v1.ThingSpec"}}}},
"example.com/v1.ThingSpec": {"Schema": {"type": "object", "properties": {"ref": {"x-kubernetes-object-ref-api-version": "v1",
"x-kubernetes-object-ref-kind": "ConfigMap", "$ref": "example.com/v1.Ref"}}}},
"example.com/v1.Ref": {"Schema": {"type": "object", "properties": {"name": {"type": "string"}}}}}
`
	k.set("crds", texts("crd.json"))
}

// mistake adds a random error.
func (g *generator) mistake(k *node) {
	switch g.IntN(6) {
	case 0:
		k.set(of(g.random, "resource", "Patches", "patch", "namespce"), "x")
	case 1:
		k.set(of(g.random, "patches", "images", "labels", "vars", "generators"),
			of(g.random, "a", "1", "null", "[null]", "{}", "[a]", "[[]]", ""))
	case 2:
		k.set(of(g.random, "resources", "components", "bases"), texts("missing.yaml"))
	case 3:
		k.set(of(g.random, "commonLabels", "commonAnnotations"), g.strings(2))
	case 4:
		k.set(of(g.random, "namePrefix", "namespace", "nameSuffix"), g.inlineScalar())
	default:
		if len(k.fields) > 0 {
			k.fields[g.IntN(len(k.fields))].value = g.value(2)
		}
	}
}
