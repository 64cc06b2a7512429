package bench

import (
	"fmt"
	"path"
	"slices"
)

// Service is one Service and nothing else: what remains is the cost of starting a program.
func Service() Tree {
	return Tree{Name: "service", Title: "one Service", Roots: []string{"."}, fill: func(w *treeWriter) {
		w.kustomization(".", []string{"service.yaml"}, "")
		w.write(".", w.app("hello"), kinds(0, 2)[1:])
	}}
}

// Patch is one Deployment with a strategic merge patch, which needs the schema's merge keys.
func Patch() Tree {
	return Tree{Name: "patch", Title: "one Deployment, a strategic merge patch", Roots: []string{"."}, fill: func(w *treeWriter) {
		w.kustomization(".", []string{"deployment.yaml"}, "patches:\n- path: patch.yaml\n")
		a := w.app("hello")
		w.write(".", a, kinds(0, 1))
		w.file("patch.yaml", func(out printf) { mergePatch(a, out) })
	}}
}

// Flat is one kustomization that lists the files of n resources and uses names, labels, images, replicas, generators and ten patches.
func Flat(n int) Tree {
	return Tree{
		Name: fmt.Sprintf("flat-%d", n), Title: fmt.Sprintf("flat, %d resources, 10 patches", n), Roots: []string{"."},
		fill: func(w *treeWriter) {
			apps, files := w.apps("apps", n, n/50)
			w.file("kustomization.yaml", func(out printf) {
				header(out, "Kustomization")
				out("namespace: shop\nnamePrefix: acme-\nnameSuffix: -v2\n")
				list(out, "resources", files)
				settings(out, "acme")
				images(w, out)
				out("replicas:\n")
				for _, a := range apps[:min(3, len(apps))] {
					out("- name: %s\n  count: 7\n", a.name)
				}
				generators(w, out, apps[:n/50])
				tenPatches(w, out, apps)
			})
			w.file("patches/merge.yaml", func(out printf) { mergePatch(apps[len(apps)/2], out) })
		},
	}
}

// Growing is [Flat], to measure how the cost of krmflow grows with n.
func Growing(n int) Tree {
	t := Flat(n)
	t.Name, t.Title, t.Size = fmt.Sprintf("growth-%d", n), fmt.Sprintf("growth: flat, %d resources", n), n
	return t
}

// apps writes n resources as apps of eight below folder, except that the first generated apps get their ConfigMap from a
// generator, which counts as one of the n. It returns the apps and the names of the files.
func (w *treeWriter) apps(folder string, n, generated int) (apps []app, files []string) {
	for i := 0; n > 0; i++ {
		a := w.app(fmt.Sprintf("%s-%03d", w.pick("cart", "user", "search", "mail", "stock", "price", "report"), i))
		want := kinds(i, min(8, n))
		n -= len(want)
		if i < generated {
			want = slices.DeleteFunc(want, func(k kind) bool { return k.name == "configmap" })
		}
		for _, name := range w.write(path.Join(folder, a.name), a, want) {
			files = append(files, path.Join(folder, a.name, name))
		}
		apps = append(apps, a)
	}
	return apps, files
}

// Replacements is n resources and as many replacements in the kustomization file: each app's ConfigMap is the source of two
// values of its Deployment.
func Replacements(n int) Tree {
	return Tree{
		Name: fmt.Sprintf("replacements-%d", n), Title: fmt.Sprintf("%d replacements, %d resources", n, n), Roots: []string{"."},
		fill: func(w *treeWriter) { writeReplacements(w, n, false) },
	}
}

// ReplacementFiles is [Replacements] with the replacements of each app in a file of their own.
func ReplacementFiles(n int) Tree {
	t := Replacements(n)
	t.Name += "-files"
	t.Title += ", half as many files of replacements"
	t.fill = func(w *treeWriter) { writeReplacements(w, n, true) }
	return t
}

func writeReplacements(w *treeWriter, n int, inFiles bool) {
	var apps []app
	var files []string
	for i := range n / 2 {
		a := w.app(fmt.Sprintf("svc-%03d", i))
		apps = append(apps, a)
		for _, name := range w.write(a.name, a, []kind{{"deployment", deployment}, {"configmap", configMap}}) {
			files = append(files, path.Join(a.name, name))
		}
		if inFiles {
			w.file(a.name+"/replacements.yaml", func(out printf) { replacements(a, out) })
		}
	}
	w.file("kustomization.yaml", func(out printf) {
		header(out, "Kustomization")
		list(out, "resources", files)
		out("replacements:\n")
		for _, a := range apps {
			if inFiles {
				out("- path: %s/replacements.yaml\n", a.name)
			} else {
				replacements(a, out)
			}
		}
	})
}

func replacements(a app, out printf) {
	out("- source:\n    kind: ConfigMap\n    name: %s\n    fieldPath: data.host\n  targets:\n", a.name)
	out("  - select:\n      kind: Deployment\n      name: %s\n    fieldPaths:\n", a.name)
	out("    - spec.template.spec.containers.[name=main].env.[name=APP_NAME].value\n")
	out("- source:\n    kind: ConfigMap\n    name: %s\n    fieldPath: data.timeout\n  targets:\n", a.name)
	out("  - select:\n      name: %s\n      kind: Deployment\n    fieldPaths:\n    - metadata.annotations.[example.com/change]\n", a.name)
	out("    options:\n      create: true\n")
}
