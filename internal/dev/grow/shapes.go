package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A shape is a tree whose size is a number. fill writes it.
type shape struct {
	name string
	// most is the largest size, 30,000 if it is 0. The others are a third and a tenth of it.
	most int
	// args is the command line, with the tree as working directory. By default it builds the tree
	// without a cache.
	args []string
	fill func(t tree, n int)
}

func (s shape) sizes() []int {
	most := s.most
	if most == 0 {
		most = 30000
	}
	return []int{most / 10, most / 3, most}
}

var shapes = []shape{
	{name: "resources", fill: func(t tree, n int) {
		t.services(n)
		t.kustomization("", "resources: [r.yaml]\nnamePrefix: a-\nnamespace: ns\nlabels:\n- pairs: {team: web}\n  includeSelectors: true\n")
	}},
	{name: "env-keys", most: 100000, fill: func(t tree, n int) {
		t.each("env", n, "KEY_%06d=value-%d\n")
		t.kustomization("", "configMapGenerator:\n- name: big\n  envs: [env]\n")
	}},
	{name: "literals", most: 140000, fill: func(t tree, n int) {
		t.kustomizationOf(n, "configMapGenerator:\n- name: big\n  literals:\n", "  - KEY_%06d=value-%d\n")
	}},
	// With 75,000 keys, the object stays below the size for which a warning reads the file again.
	{name: "merged-keys", most: 75000, fill: func(t tree, n int) {
		t.write("base/cm.yaml", configMap("big"), n, "  key-%06d: value-%d\n")
		t.kustomization("base", "resources: [cm.yaml]\n")
		t.write("p.yaml", configMap("big"), n, "  key-%06d: changed-%d\n")
		t.kustomization("", "resources: [base]\npatches:\n- path: p.yaml\n")
	}},
	{name: "json-operations", most: 100000, fill: func(t tree, n int) {
		t.write("cm.yaml", configMap("big"), n, "  key-%06d: value-%d\n")
		t.each("p.yaml", n, "- {op: replace, path: /data/key-%06d, value: z%d}\n")
		t.kustomization("", "resources: [cm.yaml]\npatches:\n- path: p.yaml\n  target: {kind: ConfigMap}\n")
	}},
	{name: "patch-files", fill: func(t tree, n int) {
		t.deployments(n, "x")
		for i := range n {
			t.write(fmt.Sprintf("p/p%05d.yaml", i), addVariable(fmt.Sprintf("d%05d", i), i), 0, "")
		}
		t.kustomizationOf(n, "resources: [r.yaml]\npatches:\n", "- path: p/p%05[1]d.yaml\n")
	}},
	{name: "patches-by-name", fill: func(t tree, n int) {
		t.deployments(n, "x")
		t.kustomizationOf(n, "resources: [r.yaml]\npatches:\n", "- target: {kind: Deployment, name: d%05d}\n"+
			"  patch: '[{\"op\": \"replace\", \"path\": \"/spec/replicas\", \"value\": %d}]'\n")
	}},
	{name: "patches-by-label", fill: func(t tree, n int) {
		t.deployments(n, "x")
		t.kustomizationOf(n, "resources: [r.yaml]\npatches:\n", "- target: {labelSelector: app=d%05d}\n"+
			"  patch: '[{\"op\": \"replace\", \"path\": \"/spec/replicas\", \"value\": %d}]'\n")
	}},
	{name: "patches-by-annotation", fill: func(t tree, n int) {
		t.deployments(n, "x")
		t.kustomizationOf(n, "resources: [r.yaml]\npatches:\n", "- target: {annotationSelector: of=d%05d}\n"+
			"  patch: '[{\"op\": \"replace\", \"path\": \"/spec/replicas\", \"value\": %d}]'\n")
	}},
	{name: "patches-of-a-list", most: 15000, fill: func(t tree, n int) {
		t.deployments(1, "x")
		var b strings.Builder
		for i := range n {
			b.WriteString("- patch: |\n" + indent(addVariable("d00000", i)) + "\n")
		}
		t.kustomization("", "resources: [r.yaml]\npatches:\n"+b.String())
	}},
	{name: "patches-of-a-mapping", most: 15000, fill: func(t tree, n int) {
		t.text("cm.yaml", configMap("big"))
		t.kustomizationOf(n, "resources: [cm.yaml]\npatches:\n", "- patch: |\n    apiVersion: v1\n    kind: ConfigMap\n"+
			"    metadata: {name: big}\n    data: {key-%06d: value-%d}\n")
	}},
	{name: "images", fill: func(t tree, n int) {
		t.deployments(n, "img%05d")
		t.kustomizationOf(n, "resources: [r.yaml]\nimages:\n", "- {name: img%05d, newTag: \"%d\"}\n")
	}},
	{name: "replicas", fill: func(t tree, n int) {
		t.deployments(n, "x")
		t.kustomizationOf(n, "resources: [r.yaml]\nreplicas:\n", "- {name: d%05d, count: %d}\n")
	}},
	{name: "references", fill: func(t tree, n int) {
		t.deployments(n, "x")
		t.write("cr.yaml", "", n, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p%05[1]d}\nspec:\n  containers:\n  - name: c\n"+
			"    image: x\n    envFrom:\n    - configMapRef: {name: c%05[1]d}\n")
		t.kustomizationOf(n, "resources: [r.yaml, cr.yaml]\nconfigMapGenerator:\n", "- name: c%05d\n  literals: [a=%d]\n")
	}},
	{name: "references-of-a-pod", fill: func(t tree, n int) {
		t.write("r.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: c\n    image: x\n    envFrom:\n",
			n, "    - configMapRef: {name: c%05[1]d}\n")
		t.kustomizationOf(n, "resources: [r.yaml]\nconfigMapGenerator:\n", "- name: c%05d\n  literals: [a=%d]\n")
	}},
	// Each subject is one lookup. Smaller indexes are partly in the cache of the processor.
	{name: "subjects", most: 90000, fill: func(t tree, n int) {
		t.write("sa.yaml", "", n, "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: sa%05[1]d, namespace: x}\n")
		t.write("r.yaml", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: b}\n"+
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}\nsubjects:\n",
			n, "- {kind: ServiceAccount, name: sa%05[1]d, namespace: x}\n")
		t.kustomization("", "resources: [sa.yaml, r.yaml]\nnamePrefix: p-\nnamespace: other\n")
	}},
	{name: "replacements", most: 20000, fill: func(t tree, n int) {
		t.deployments(n, "x")
		t.write("s.yaml", configMap("s"), 0, "")
		t.kustomizationOf(n, "resources: [r.yaml, s.yaml]\nreplacements:\n",
			"- source: {kind: ConfigMap, name: s, fieldPath: metadata.name}\n"+
				"  targets:\n  - select: {kind: Deployment, name: d%05[1]d}\n    fieldPaths: [metadata.labels.app]\n")
	}},
	{name: "vars", fill: func(t tree, n int) {
		t.deployments(n, "x")
		t.write("p.yaml",
			"", n, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p%05[1]d}\nspec:\n  containers:\n  - name: c\n    image: x\n"+
				"    args: [$(V%05[1]d)]\n")
		t.kustomizationOf(n, "resources: [r.yaml, p.yaml]\nvars:\n",
			"- {name: V%05[1]d, objref: {apiVersion: apps/v1, kind: Deployment, name: d%05[1]d}}\n")
	}},
	{name: "field-specs", most: 3000, fill: func(t tree, n int) {
		t.services(n)
		t.write("config.yaml", "namePrefix:\n", n, "- {kind: Kind%05[1]d, path: spec/name%05[1]d}\n")
		t.kustomization("", "resources: [r.yaml]\nconfigurations: [config.yaml]\nnamePrefix: a-\n")
	}},
	{name: "components", most: 10000, fill: func(t tree, n int) {
		t.deployments(20, "x")
		for i := range n {
			t.text(fmt.Sprintf("c%05d/kustomization.yaml", i),
				fmt.Sprintf("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations: {a%d: b}\n", i))
		}
		t.kustomizationOf(n, "resources: [r.yaml]\ncomponents:\n", "- c%05[1]d\n")
	}},
	// Ten chains, because the depth of a single one is limited. The names in a chain grow with its
	// layers: for the largest size, they are 5 MB of the input.
	{name: "layers-with-prefix", most: 990, fill: func(t tree, n int) {
		for chain := range 10 {
			name := fmt.Sprintf("d%d", chain)
			t.text(fmt.Sprintf("c%d/l00000/r.yaml", chain), deployment(name, "x"))
			resource := "r.yaml"
			for i := range n {
				t.kustomization(fmt.Sprintf("c%d/l%05d", chain, i),
					fmt.Sprintf("resources: [%s]\nnamePrefix: a\npatches:\n- patch: |\n%s\n", resource, indent(addVariable(name, i))))
				resource, name = fmt.Sprintf("../l%05d", i), "a"+name
			}
		}
		t.kustomizationOf(10, "resources:\n", fmt.Sprintf("- c%%[1]d/l%05d\n", n-1))
	}},
	{name: "compositions", most: 990, fill: func(t tree, n int) { // ten chains, as for layers
		for chain := range 10 {
			for i := range n {
				imports := ""
				if i > 0 {
					imports = fmt.Sprintf("transformersFrom: [{path: ../l%05d}]\n", i-1)
				}
				t.text(fmt.Sprintf("c%d/l%05d/composition.yaml", chain, i), fmt.Sprintf("apiVersion: kustomize.config.k8s.io/v1alpha1\n"+
					"kind: Composition\n%stransformers:\n- apiVersion: builtin\n  kind: ConfigMapGenerator\n"+
					"  metadata: {name: m%d-%d}\n  name: m%d-%d\n  literals: [a=b]\n", imports, chain, i, chain, i))
			}
		}
		t.kustomizationOf(10, "resources:\n", fmt.Sprintf("- c%%[1]d/l%05d\n", n-1))
	}},
	{name: "imports", most: 3000, fill: func(t tree, n int) {
		for i := range n {
			t.text(fmt.Sprintf("c%05d/composition.yaml", i), fmt.Sprintf("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Composition\n"+
				"transformers:\n- apiVersion: builtin\n  kind: ConfigMapGenerator\n  metadata: {name: m%d}\n  name: m%d\n  literals: [a=b]\n", i, i))
		}
		t.write("composition.yaml", "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Composition\ntransformersFrom:\n", n,
			"- path: c%05[1]d\n")
	}},
	{name: "catalog", most: 10000, args: []string{"plan", ".", "--no-cache", "-o", "json", "--trusted-plugin-catalog=catalog.yaml"},
		fill: functions},
	{name: "lock", most: 10000, args: []string{"lock", ".", "--check", "--trusted-plugin-catalog=catalog.yaml"}, fill: functions},
	{name: "bases", most: 3000, fill: func(t tree, n int) {
		for i := range n {
			dir := fmt.Sprintf("b%05d", i)
			t.kustomization(dir, "resources: [r.yaml]\nnamePrefix: a-\n")
			t.text(dir+"/r.yaml", service(i))
		}
		t.kustomizationOf(n, "resources:\n", "- b%05[1]d\n")
	}},
	{name: "crd", most: 30000, fill: func(t tree, n int) {
		t.write("crd.yaml",
			"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.example.com}\nspec:\n"+
				"  group: example.com\n  names: {kind: A, plural: as}\n  scope: Namespaced\n  versions:\n  - name: v1\n    served: true\n"+
				"    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n",
			n, "          field%06d: {type: string, description: number %d}\n")
		t.kustomization("", "resources: [crd.yaml]\nlabels:\n- pairs: {team: web}\n")
	}},
	{name: "roots", most: 3000, args: []string{"apply-render", "-R", ".", "-o", "out/", "--no-cache", "--quiet"}, fill: roots},
	{name: "roots-warm", most: 3000, args: []string{"apply-render", "-R", ".", "-o", "out/", "--quiet"}, fill: roots},
	{name: "plan-roots", most: 10000, args: []string{"plan", "-R", ".", "--no-cache", "-o", "json"}, fill: roots},
	{name: "validate", args: []string{"validate", ".", "--no-cache"}, fill: func(t tree, n int) {
		t.deployments(n, "x")
		t.kustomization("", "resources: [r.yaml]\n")
	}},
	{name: "explain", most: 30000, args: []string{"explain", ".", "ConfigMap/big", "--no-cache"}, fill: func(t tree, n int) {
		t.write("cm.yaml", configMap("big"), n, "  key-%06d: value-%d\n")
		t.kustomization("", "resources: [cm.yaml]\nlabels:\n- pairs: {team: web}\n")
	}},
	{name: "diff", most: 30000, args: []string{"diff", "new", "--against", "old", "--no-cache", "-o", "json"}, fill: func(t tree, n int) {
		for _, side := range []string{"old", "new"} {
			t.write(side+"/cm.yaml", configMap("big"), n, "  key-%06d: "+side+"-%d\n")
			t.kustomization(side, "resources: [cm.yaml]\n")
		}
	}},
}

// one writes a tree with one object.
func one(t tree, _ int) {
	t.services(1)
	t.kustomization("", "resources: [r.yaml]\n")
}

// roots writes n roots, each with a file.
func roots(t tree, n int) {
	for i := range n {
		dir := fmt.Sprintf("r%05d", i)
		t.kustomization(dir, "resources: [r.yaml]\nnamePrefix: a-\n")
		t.text(dir+"/r.yaml", service(i))
	}
}

// functions writes a tree that calls n functions, with a catalog and a lock for them.
func functions(t tree, n int) {
	t.kustomization("", "resources: [cm.yaml]\ntransformers: [fns.yaml]\n")
	t.text("cm.yaml", configMap("c"))
	t.write("fns.yaml", "", n, "---\napiVersion: example.com/v1\nkind: F%05[1]d\nmetadata: {name: f%05[1]d}\n")
	t.write("catalog.yaml", "apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nspec:\n  krmFunctions:\n", n,
		"  - {group: example.com, names: {kind: F%05[1]d}, versions: [{name: v1, runtime: {container: "+
			"{image: \"r.example/f%05[1]d@sha256:1%063[1]x\"}}}]}\n")
	t.write("krmflow.lock.yaml", "apiVersion: krmflow.dev/v1alpha1\nkind: Lock\nentries:\n", n,
		"- {name: \"r.example/f%05[1]d@sha256:1%063[1]x\", kind: image, digest: \"sha256:1%063[1]x\"}\n")
}

// A tree writes the files of a tree. Errors end the program.
type tree struct{ dir string }

// text writes a file.
func (t tree) text(name, text string) { t.write(name, text, 0, "") }

// each writes a file with a line for each number.
func (t tree) each(name string, n int, format string) { t.write(name, "", n, format) }

// write writes a file that starts with a text, followed by the formatted numbers below n. The
// format has two verbs, both for the number.
func (t tree) write(name, start string, n int, format string) {
	file := filepath.Join(t.dir, filepath.FromSlash(name))
	must(os.MkdirAll(filepath.Dir(file), 0o755))
	f, err := os.Create(file)
	must(err)
	w := bufio.NewWriter(f)
	w.WriteString(start)
	for i := range n {
		if strings.Contains(format, "[1]") {
			fmt.Fprintf(w, format, i)
		} else {
			fmt.Fprintf(w, format, i, i)
		}
	}
	must(w.Flush())
	must(f.Close())
}

// kustomization writes a kustomization file.
func (t tree) kustomization(dir, fields string) {
	t.text(dir+"/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"+fields)
}

// kustomizationOf writes a kustomization file that ends with a list of n entries.
func (t tree) kustomizationOf(n int, fields, format string) {
	t.write("kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"+fields, n, format)
}

// services writes r.yaml with n Services.
func (t tree) services(n int) {
	var b strings.Builder
	for i := range n {
		b.WriteString("---\n" + service(i))
	}
	t.text("r.yaml", b.String())
}

// deployments writes r.yaml with n Deployments. The image is a format for the number.
func (t tree) deployments(n int, image string) {
	var b strings.Builder
	for i := range n {
		name := fmt.Sprintf("d%05d", i)
		used := image
		if strings.Contains(image, "%") {
			used = fmt.Sprintf(image, i)
		}
		b.WriteString("---\n" + deployment(name, used))
	}
	t.text("r.yaml", b.String())
}

func deployment(name, image string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: " + name + "\n  labels: {app: " + name +
		"}\n  annotations: {of: " + name + "}\nspec:\n  replicas: 1\n  selector: {matchLabels: {app: " + name +
		"}}\n  template:\n    metadata: {labels: {app: " + name + "}}\n    spec:\n      containers:\n      - name: main\n        image: " +
		image + ":1\n"
}

// indent indents a text by four columns.
func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}

func service(i int) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: s%05d}\nspec:\n  selector: {app: s%05d}\n  ports: [{port: 80}]\n",
		i, i)
}

// configMap returns a ConfigMap that ends with the field data.
func configMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata:\n  first: \"1\"\n"
}

// addVariable returns a merge patch that adds a variable to the container of a Deployment.
func addVariable(name string, i int) string {
	return fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s}\nspec:\n  template:\n    spec:\n      containers:\n"+
		"      - name: main\n        env:\n        - {name: E%d, value: \"%d\"}\n", name, i, i)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
