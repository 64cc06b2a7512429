package bench

import (
	"fmt"
	"path"
	"slices"
)

// Service is a tree of a single Service. It measures the cost of starting a program.
func Service() Tree {
	return Tree{Name: "service", Title: "one Service", Roots: []string{"."}, fill: func(w *treeWriter) {
		w.kustomization(".", []string{"service.yaml"}, "")
		w.write(".", w.app("hello"), kinds(0, 2)[1:])
	}}
}

// Patch is a tree of one Deployment with a strategic merge patch, which requires the merge keys
// of the schema.
func Patch() Tree {
	return Tree{Name: "patch", Title: "one Deployment, a strategic merge patch", Roots: []string{"."}, fill: func(w *treeWriter) {
		w.kustomization(".", []string{"deployment.yaml"}, "patches:\n- path: patch.yaml\n")
		a := w.app("hello")
		w.write(".", a, kinds(0, 1))
		w.file("patch.yaml", func(out printf) { mergePatch(a, out) })
	}}
}

// Flat is a tree of one kustomization with n resource files. It sets names, labels, images and
// replicas, and uses generators and ten patches.
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

// Growing is [Flat] for measuring the growth of krmflow's cost with n.
func Growing(n int) Tree {
	t := Flat(n)
	t.Name, t.Title, t.Size = fmt.Sprintf("growth-%d", n), fmt.Sprintf("growth: flat, %d resources", n), n
	return t
}

// apps writes n resources below folder, eight for each app. The ConfigMaps of the first
// generated apps are omitted, because a generator creates them; they are included in n. It
// returns the apps and the file names.
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

// Replacements is a tree of n resources and n replacements in the kustomization file. Two values
// of each Deployment are replaced with values from the app's ConfigMap.
func Replacements(n int) Tree {
	return Tree{
		Name: fmt.Sprintf("replacements-%d", n), Title: fmt.Sprintf("%d replacements, %d resources", n, n), Roots: []string{"."},
		fill: func(w *treeWriter) { writeReplacements(w, n, false) },
	}
}

// ReplacementFiles is [Replacements] with a separate file for the replacements of each app.
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
