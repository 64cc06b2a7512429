package bench

import (
	"fmt"
	"path"
)

// environments lists the overlays of each app in a monorepo.
var environments = []string{"dev", "test", "staging", "prod-eu", "prod-us"}

// Monorepo is a company's repository with the given number of roots, a multiple of five. Each
// app has a base over one of twenty shared bases and one overlay per environment. krmflow finds
// the roots and renders them into a folder with one command.
func Monorepo(roots int) Tree {
	t := Tree{Name: fmt.Sprintf("monorepo-%d", roots), Title: fmt.Sprintf("monorepo, %d roots of 5 resources, one file each", roots),
		Files: true, Below: "apps",
		Sample: 100, Leaf: "apps/app-0000/dev/merge.yaml", Change: "      priorityClassName: changed\n"}
	for i := range roots / len(environments) {
		for _, env := range environments {
			t.Roots = append(t.Roots, fmt.Sprintf("apps/app-%04d/%s", i, env))
		}
	}
	t.fill = func(w *treeWriter) {
		bases := make([]app, 20)
		for i := range bases {
			bases[i] = w.app(fmt.Sprintf("base-%02d", i))
			w.base(path.Join("shared", bases[i].name), bases[i], kinds(i, 4))
		}
		w.components()
		for i := range roots / len(environments) {
			w.companyApp(fmt.Sprintf("app-%04d", i), bases[i%len(bases)])
		}
	}
	return t
}

// companyApp writes the base of an app and its overlays.
func (w *treeWriter) companyApp(name string, shared app) {
	folder := "apps/" + name
	w.kustomization("bases/"+name, []string{"../../shared/" + shared.name},
		fmt.Sprintf("namePrefix: %s-\nlabels:\n- pairs:\n    example.com/app: %s\n  includeTemplates: true\n", name, name))
	for i, env := range environments {
		w.file(path.Join(folder, env, "kustomization.yaml"), func(out printf) {
			header(out, "Kustomization")
			out("namespace: %s\nnameSuffix: -%s\n", name, env)
			list(out, "resources", []string{"../../../bases/" + name})
			list(out, "components", []string{"../../../components/spread"})
			settings(out, name)
			out("replicas:\n- name: %s\n  count: %d\n", shared.name, 1+i)
			out("configMapGenerator:\n- name: environment\n  literals:\n  - name=%s\n  - shard=%d\n", env, w.rnd.IntN(100))
			out("patches:\n- path: merge.yaml\n")
		})
		patched := shared
		patched.name = name + "-" + shared.name
		w.file(path.Join(folder, env, "merge.yaml"), func(out printf) { mergePatch(patched, out) })
	}
}
