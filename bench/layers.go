package bench

import (
	"fmt"
	"path"
)

// Overlays is a tree of m overlays with 57 resources each, which are built with one command. An
// overlay uses six of the shared bases of nine resources and two components, merges into the
// generator of a base and applies patches.
func Overlays(m, bases int) Tree {
	t := Tree{Name: fmt.Sprintf("overlays-%d", m), Title: fmt.Sprintf("%d overlays of 57 resources over %d bases", m, bases)}
	for i := range m {
		t.Roots = append(t.Roots, fmt.Sprintf("overlays/site-%03d", i))
	}
	t.Leaf, t.Change = t.Roots[0]+"/merge.yaml", "      priorityClassName: changed\n"
	t.fill = func(w *treeWriter) {
		apps := make([]app, bases)
		for i := range bases {
			apps[i] = w.app(fmt.Sprintf("base-%02d", i))
			w.base(path.Join("bases", apps[i].name), apps[i], kinds(i, 9))
		}
		w.components()
		for i, root := range t.Roots {
			w.overlay(root, i, apps)
		}
	}
	return t
}

// base writes an app with its own kustomization and a generated ConfigMap.
func (w *treeWriter) base(folder string, a app, want []kind) {
	var files []string
	for _, k := range want {
		if k.name != "configmap" {
			files = append(files, w.write(folder, a, []kind{k})...)
		}
	}
	w.text(folder+"/app.properties", fmt.Sprintf("# defaults of %s\npool.size=%d\nlog.format=json\n", a.name, w.rnd.IntN(64)))
	w.kustomization(folder, files, fmt.Sprintf(`labels:
- pairs:
    app.kubernetes.io/component: %s
  includeSelectors: true
configMapGenerator:
- name: %s
  files:
  - app.properties
  literals:
  - mode=safe
  - host=%s.example.com
`, a.name, a.name, a.name))
}

// components writes the two components that overlays share: one adds a resource, the other
// patches all Deployments.
func (w *treeWriter) components() {
	w.file("components/quota/kustomization.yaml", func(out printf) {
		header(out, "Component")
		list(out, "resources", []string{"quota.yaml"})
	})
	w.text("components/quota/quota.yaml",
		"apiVersion: v1\nkind: ResourceQuota\nmetadata:\n  name: quota\nspec:\n  hard:\n    pods: \"200\"\n    requests.cpu: \"40\"\n")
	w.file("components/spread/kustomization.yaml", func(out printf) {
		header(out, "Component")
		out("patches:\n- target:\n    kind: Deployment\n  path: spread.yaml\n")
		out("labels:\n- pairs:\n    example.com/spread: zone\n")
	})
	w.text("components/spread/spread.yaml", `apiVersion: apps/v1
kind: Deployment
metadata:
  name: any
spec:
  template:
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: ScheduleAnyway
        labelSelector:
          matchLabels:
            example.com/spread: zone
`)
}

func (w *treeWriter) overlay(root string, i int, apps []app) {
	var resources []string
	used := make([]app, 6)
	for k := range used {
		used[k] = apps[(i+3*k)%len(apps)]
		resources = append(resources, "../../bases/"+used[k].name)
	}
	w.file(root+"/kustomization.yaml", func(out printf) {
		header(out, "Kustomization")
		out("namespace: site-%03d\nnamePrefix: s%d-\n", i, i)
		list(out, "resources", resources)
		list(out, "components", []string{"../../components/quota", "../../components/spread"})
		settings(out, fmt.Sprintf("site-%03d", i))
		images(w, out)
		out("replicas:\n- name: %s\n  count: %d\n", used[0].name, 2+w.rnd.IntN(5))
		out("configMapGenerator:\n- name: %s\n  behavior: merge\n  literals:\n  - mode=site-%d\n", used[1].name, i)
		out("- name: site\n  literals:\n  - number=%d\n", i)
		out("secretGenerator:\n- name: token\n  type: Opaque\n  literals:\n  - token=%016x\n", w.rnd.Uint64())
		out("patches:\n- path: merge.yaml\n- target:\n    kind: Service\n    name: %s\n  patch: |-\n", used[2].name)
		out("    - op: add\n      path: /metadata/annotations\n      value:\n        example.com/site: site-%03d\n", i)
	})
	w.file(root+"/merge.yaml", func(out printf) { mergePatch(used[3], out) })
}

// Chain is a tree of n resources below a chain of layers. Each layer changes the one below it.
func Chain(layers, n int) Tree {
	t := Tree{Name: fmt.Sprintf("chain-%d", layers), Title: fmt.Sprintf("chain of %d layers, %d resources", layers, n)}
	t.Roots = []string{fmt.Sprintf("layer-%02d", layers-1)}
	t.fill = func(w *treeWriter) {
		apps, files := w.apps("layer-00", n, 2)
		for i, f := range files {
			files[i] = f[len("layer-00/"):]
		}
		w.file("layer-00/kustomization.yaml", func(out printf) {
			header(out, "Kustomization")
			list(out, "resources", files)
			generators(w, out, apps[:2])
		})
		for i := 1; i < layers; i++ {
			w.layer(i, apps)
		}
	}
	return t
}

func (w *treeWriter) layer(i int, apps []app) {
	folder := fmt.Sprintf("layer-%02d", i)
	a := apps[i%len(apps)]
	w.file(folder+"/kustomization.yaml", func(out printf) {
		header(out, "Kustomization")
		list(out, "resources", []string{fmt.Sprintf("../layer-%02d", i-1)})
		out("labels:\n- pairs:\n    example.com/layer-%02d: \"%d\"\n", i, i)
		switch i % 5 {
		case 0:
			out("namePrefix: p%d-\n", i)
		case 1:
			out("namespace: stage-%d\n", i)
		case 2:
			images(w, out)
		case 3:
			out("configMapGenerator:\n- name: %s\n  behavior: merge\n  literals:\n  - layer=%d\n", apps[0].name, i)
		case 4:
			out("patches:\n- path: merge.yaml\n")
		}
	})
	if i%5 == 4 {
		w.file(folder+"/merge.yaml", func(out printf) { mergePatch(a, out) })
	}
}

// Diamond is a tree of one base with n resources. The given number of arms use the base, and one
// root uses all arms.
func Diamond(arms, n int) Tree {
	t := Tree{Name: fmt.Sprintf("diamond-%dx%d", arms, n), Title: fmt.Sprintf("diamond, %d × %d resources", arms, n),
		Roots: []string{"top"}}
	t.fill = func(w *treeWriter) {
		apps, files := w.apps("base", n, n/50)
		for i, f := range files {
			files[i] = f[len("base/"):]
		}
		w.file("base/kustomization.yaml", func(out printf) {
			header(out, "Kustomization")
			list(out, "resources", files)
			generators(w, out, apps[:n/50])
		})
		var resources []string
		for i := range arms {
			arm := fmt.Sprintf("arms/arm-%d", i)
			resources = append(resources, "../"+arm)
			w.file(arm+"/kustomization.yaml", func(out printf) {
				header(out, "Kustomization")
				out("namespace: arm-%d\nnamePrefix: arm%d-\n", i, i)
				list(out, "resources", []string{"../../base"})
				settings(out, fmt.Sprintf("arm-%d", i))
				images(w, out)
				out("patches:\n- path: merge.yaml\n")
			})
			w.file(arm+"/merge.yaml", func(out printf) { mergePatch(apps[i], out) })
		}
		w.kustomization("top", resources, "labels:\n- pairs:\n    example.com/top: \"yes\"\n")
	}
	return t
}
