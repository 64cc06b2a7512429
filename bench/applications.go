package bench

import (
	"fmt"
	"path"
	"strings"
)

// Applications is a tree of n Applications of Argo CD over shared bases of five resources. Each
// Application renders a base with its own prefix, namespace, image, replicas and patch. krmflow
// finds the Applications, which kustomize cannot render.
func Applications(n, bases int) Tree {
	t := Tree{Name: fmt.Sprintf("applications-%d", n), Title: fmt.Sprintf("%d Applications over %d bases", n, bases),
		Files: true, Below: "."}
	t.fill = func(w *treeWriter) {
		shared := w.applicationBases(bases)
		for i := range n {
			a := shared[i%bases]
			w.file(fmt.Sprintf("apps/app-%04d.yaml", i), func(out printf) {
				out("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: app-%04d\n  namespace: argocd\n", i)
				out("spec:\n  project: default\n  destination:\n    server: https://kubernetes.default.svc\n    namespace: app-%04d\n", i)
				out("  source:\n    repoURL: https://git.example.com/acme/fleet\n    targetRevision: main\n    path: bases/%s\n", a.name)
				out("    kustomize:\n      namePrefix: a%d-\n      namespace: app-%04d\n", i, i)
				out("      images:\n      - %s:v%d\n      replicas:\n      - name: %s\n        count: %d\n", imageName(a), i, a.name, 1+i%9)
				out("      patches:\n      - target:\n          kind: Deployment\n        patch: |-\n")
				applicationPatch(i, func(format string, args ...any) { out("          "+format, args...) })
			})
		}
	}
	return t
}

// ApplicationOverlays is a tree of n directories with the same output as the Applications of
// [Applications].
func ApplicationOverlays(n, bases int) Tree {
	t := Tree{Name: fmt.Sprintf("applications-%d", n), Title: fmt.Sprintf("%d overlays over %d bases", n, bases),
		Files: true, Below: "."}
	for i := range n {
		t.Roots = append(t.Roots, fmt.Sprintf("apps/app-%04d", i))
	}
	t.fill = func(w *treeWriter) {
		shared := w.applicationBases(bases)
		for i, root := range t.Roots {
			a := shared[i%bases]
			w.file(root+"/kustomization.yaml", func(out printf) {
				header(out, "Kustomization")
				out("namePrefix: a%d-\nnamespace: app-%04d\n", i, i)
				list(out, "resources", []string{"../../bases/" + a.name})
				out("images:\n- name: %s\n  newTag: v%d\nreplicas:\n- name: %s\n  count: %d\n", imageName(a), i, a.name, 1+i%9)
				out("patches:\n- target:\n    kind: Deployment\n  patch: |-\n")
				applicationPatch(i, func(format string, args ...any) { out("    "+format, args...) })
			})
		}
	}
	return t
}

// applicationBases writes the bases of Applications.
func (w *treeWriter) applicationBases(n int) []app {
	apps := make([]app, n)
	for i := range apps {
		apps[i] = w.app(fmt.Sprintf("base-%03d", i))
		w.base(path.Join("bases", apps[i].name), apps[i], kinds(i, 5))
	}
	return apps
}

// imageName returns the image of an app without its tag.
func imageName(a app) string { return a.image[:strings.LastIndexByte(a.image, ':')] }

// applicationPatch writes the lines of a merge patch for all Deployments of Application i.
func applicationPatch(i int, line printf) {
	line("apiVersion: apps/v1\n")
	line("kind: Deployment\n")
	line("metadata: {name: any}\n")
	line("spec: {template: {spec: {priorityClassName: class-%d}}}\n", i%10)
}
