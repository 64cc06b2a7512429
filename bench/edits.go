package bench

import (
	"fmt"
	"path"
	"strings"
)

// trios writes n resources below folder: a Deployment, a Service and a ConfigMap for each app.
// It returns the apps and the files, relative to folder.
func (w *treeWriter) trios(folder string, n int) (apps []app, files []string) {
	for i := 0; n > 0; i++ {
		a := w.app(fmt.Sprintf("%s-%03d", w.pick("cart", "user", "search", "mail", "stock"), i))
		want := kinds(i, min(3, n))
		n -= len(want)
		for _, name := range w.write(path.Join(folder, a.name), a, want) {
			files = append(files, a.name+"/"+name)
		}
		apps = append(apps, a)
	}
	return apps, files
}

// jsonPatches writes three JSON patches for Deployments. selector holds the selector lines of
// their targets.
func (w *treeWriter) jsonPatches(out printf, selector string) {
	for i, ops := range []string{
		fmt.Sprintf("- op: replace\n  path: /spec/replicas\n  value: %d\n- op: add\n  path: /spec/minReadySeconds\n  value: %d\n",
			2+w.rnd.IntN(7), w.rnd.IntN(60)),
		fmt.Sprintf(
			"- op: add\n  path: /metadata/annotations/example.com~1patched\n  value: \"%d\"\n- op: test\n  path: /kind\n  value: Deployment\n", w.rnd.IntN(1000)),
		fmt.Sprintf(
			"- op: add\n  path: /spec/template/spec/containers/0/env/-\n  value: {name: PATCHED, value: \"%d\"}\n- op: remove\n  path: /spec/revisionHistoryLimit\n", w.rnd.IntN(1000)),
	} {
		if i == 0 {
			out("patches:\n")
		}
		out("- target:\n    kind: Deployment\n%s  patch: |-\n    %s\n", selector,
			strings.ReplaceAll(strings.TrimSpace(ops), "\n", "\n    "))
	}
}

// JSONPatches is a tree of n resources. A third are Deployments, which three JSON patches select
// by label.
func JSONPatches(n int) Tree {
	return edited("json-patches", "three JSON patches by labels", n, func(w *treeWriter, out printf, _ []app) {
		w.jsonPatches(out, "    labelSelector: tier in (frontend,backend,data,edge)\n")
	})
}

// AnnotationPatches is a tree of n resources. A third are Deployments, which patches select by
// annotation: three patches select all of them and nine select one team each.
func AnnotationPatches(n int) Tree {
	return edited("annotation-patches", "12 patches by annotations", n, func(w *treeWriter, out printf, _ []app) {
		w.jsonPatches(out, "    annotationSelector: example.com/owner\n")
		for i := range 9 {
			out(
				"- target:\n    annotationSelector: example.com/owner=team-%d\n  patch: |-\n    apiVersion: apps/v1\n    kind: Deployment\n", i)
			out("    metadata:\n      name: any\n    spec:\n      template:\n        spec:\n          priorityClassName: team-%d\n", i)
			out("          containers:\n          - name: main\n            env:\n            - name: TEAM\n              value: \"%d\"\n",
				w.rnd.IntN(100))
		}
	})
}

// ReplaceAll is a tree of n resources and n replacements. Half of them set a value in one
// Deployment, and half create an annotation in all Deployments.
func ReplaceAll(n int) Tree {
	return edited("replace-all", "as many replacements, half of them in all Deployments", n, func(w *treeWriter, out printf, apps []app) {
		out("replacements:\n")
		for i := range n {
			a := apps[i/2%(n/3)]
			out("- source:\n    kind: ConfigMap\n    name: %s\n    fieldPath: data.%s\n  targets:\n", a.name,
				w.pick("host", "timeout", "mode"))
			if i%2 == 0 {
				out("  - select:\n      kind: Deployment\n      name: %s\n    fieldPaths:\n", a.name)
				out("    - spec.template.spec.containers.[name=main].env.[name=APP_NAME].value\n")
				continue
			}
			out(
				"  - select:\n      kind: Deployment\n    fieldPaths:\n    - metadata.annotations.[example.com/value-%d]\n    options:\n      create: true\n", i)
		}
	})
}

// ManyFields is a tree of n resources with labels that are added to twenty additional fields
// each.
func ManyFields(n int) Tree {
	return edited("many-fields", "labels into 100 field specs", n, func(w *treeWriter, out printf, _ []app) {
		out("labels:\n")
		for i := range 5 {
			out("- pairs:\n    example.com/label-%d: \"%d\"\n    example.com/other-%d: %s\n  includeSelectors: %v\n  fields:\n",
				i, w.rnd.IntN(100), i, w.pick("a", "b"), i == 0)
			for k := range 20 {
				kind := []string{"Deployment", "Service", "ConfigMap", "Job"}[k%4]
				out("  - kind: %s\n    path: %s\n    create: %v\n", kind,
					[]string{"metadata/annotations", "spec/template/metadata/annotations", "spec/more/labels",
						"spec/template/spec/containers/resources/limits", "spec/ports/labels"}[k/4], k/4 < 2)
			}
		}
		out("commonAnnotations:\n  example.com/contact: all@example.com\n")
	})
}

// Vars is a tree of n resources and one var per Service for its name. The Deployment of the
// Service refers to the var three times.
func Vars(n int) Tree {
	t := edited("vars", "a third as many vars", n, nil)
	t.fill = func(w *treeWriter) {
		apps, files := w.trios(".", n)
		w.file("kustomization.yaml", func(out printf) {
			header(out, "Kustomization")
			out("namePrefix: v-\n")
			list(out, "resources", files)
			out("patches:\n")
			for _, a := range apps {
				out(
					"- target: {kind: Deployment, name: %s}\n  patch: |-\n    - {op: add, path: /spec/template/spec/containers/0/args/-, value: --peer=$(%s)}\n", a.name, variable(a))
				out("    - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: PEER, value: \"http://$(%s):%d/$(%s)\"}}\n", variable(a), a.port, variable(a))
			}
			out("vars:\n")
			for _, a := range apps[:n/3] {
				out("- name: %s\n  objref:\n    apiVersion: v1\n    kind: Service\n    name: %s\n", variable(a), a.name)
			}
		})
	}
	return t
}

func variable(a app) string { return strings.ToUpper(strings.ReplaceAll(a.name, "-", "_")) }

// Files is a tree of n ConfigMaps, each generated from four files of 32 KB, and one Deployment
// for each of them.
func Files(n int) Tree {
	t := Tree{Name: fmt.Sprintf("files-%d", n), Title: fmt.Sprintf("%d ConfigMaps of four files of 32 KB", n), Roots: []string{"."}}
	t.fill = func(w *treeWriter) {
		var apps []app
		var files []string
		for i := range n {
			a := w.app(fmt.Sprintf("app-%03d", i))
			apps = append(apps, a)
			files = append(files, a.name+"/"+w.write(a.name, a, kinds(0, 1))[0])
			for _, name := range []string{"app.properties", "rules.json", "notes.txt", "table.csv"} {
				w.file(a.name+"/"+name, func(out printf) {
					for size := 0; size < 32<<10; size += 48 {
						out("%s.%08x = \"%016x\" # %-12s\n", w.pick("pool", "cache"), w.rnd.Uint32(), w.rnd.Uint64(),
							w.pick("fast", "slow", "  off"))
					}
				})
			}
		}
		w.file("kustomization.yaml", func(out printf) {
			header(out, "Kustomization")
			list(out, "resources", files)
			out("configMapGenerator:\n")
			for _, a := range apps {
				out("- name: %s\n  files:\n  - %s/app.properties\n  - %s/rules.json\n  - notes=%s/notes.txt\n  - %s/table.csv\n", a.name,
					a.name, a.name, a.name, a.name)
			}
		})
	}
	return t
}

// PatchedChain is a tree of n resources below a chain of layers. Each layer applies a JSON patch
// to one Deployment.
func PatchedChain(layers, n int) Tree {
	t := Tree{Name: fmt.Sprintf("patched-chain-%d", layers),
		Title: fmt.Sprintf("%d layers with a JSON patch each, %d resources", layers, n)}
	t.Roots = []string{fmt.Sprintf("layer-%02d", layers-1)}
	t.fill = func(w *treeWriter) {
		apps, files := w.trios("layer-00", n)
		w.kustomization("layer-00", files, "")
		for i := 1; i < layers; i++ {
			w.file(fmt.Sprintf("layer-%02d/kustomization.yaml", i), func(out printf) {
				header(out, "Kustomization")
				list(out, "resources", []string{fmt.Sprintf("../layer-%02d", i-1)})
				jsonPatch(w, out, apps[i%(n/3)], i)
			})
		}
	}
	return t
}

func jsonPatch(w *treeWriter, out printf, a app, i int) {
	out("patches:\n- target:\n    kind: Deployment\n    name: %s\n  patch: |-\n    - op: add\n", a.name)
	out("      path: /metadata/annotations/example.com~1layer-%d\n      value: \"%d\"\n", i, w.rnd.IntN(1000))
	out("    - op: replace\n      path: /spec/replicas\n      value: %d\n", 1+w.rnd.IntN(9))
}

// DeepComponents is a tree of n resources and a chain of nested components. Each component
// patches a Deployment and adds a label.
func DeepComponents(depth, n int) Tree {
	t := Tree{Name: fmt.Sprintf("components-%d", depth), Title: fmt.Sprintf("%d components, one within the other, %d resources", depth, n),
		Roots: []string{"root"}}
	t.fill = func(w *treeWriter) {
		apps, files := w.trios("root", n)
		w.kustomization("root", files, "components:\n- ../component-00\n")
		for i := range depth {
			w.file(fmt.Sprintf("component-%02d/kustomization.yaml", i), func(out printf) {
				header(out, "Component")
				if i+1 < depth {
					list(out, "components", []string{fmt.Sprintf("../component-%02d", i+1)})
				}
				jsonPatch(w, out, apps[i%(n/3)], i)
				out("labels:\n- pairs:\n    example.com/component-%02d: \"%d\"\n  includeTemplates: true\n", i, w.rnd.IntN(10))
			})
		}
	}
	return t
}

// edited is a tree of n resources, a Deployment, a Service and a ConfigMap for each app, with
// one kustomization that edit extends.
func edited(name, what string, n int, edit func(w *treeWriter, out printf, apps []app)) Tree {
	return Tree{
		Name: fmt.Sprintf("%s-%d", name, n), Title: fmt.Sprintf("%d resources, %s", n, what), Roots: []string{"."},
		fill: func(w *treeWriter) {
			apps, files := w.trios(".", n)
			w.file("kustomization.yaml", func(out printf) {
				header(out, "Kustomization")
				list(out, "resources", files)
				edit(w, out, apps)
			})
		},
	}
}
