package bench

// kustomization writes folder/kustomization.yaml with a list of resources and additional text.
func (w *treeWriter) kustomization(folder string, resources []string, more string) {
	w.file(folder+"/kustomization.yaml", func(out printf) {
		header(out, "Kustomization")
		list(out, "resources", resources)
		out("%s", more)
	})
}

func header(out printf, kind string) {
	version := "v1beta1"
	if kind == "Component" {
		version = "v1alpha1"
	}
	out("apiVersion: kustomize.config.k8s.io/%s\nkind: %s\n", version, kind)
}

func list(out printf, field string, entries []string) {
	if len(entries) == 0 {
		return
	}
	out("%s:\n", field)
	for _, e := range entries {
		out("- %s\n", e)
	}
}

// settings adds labels and annotations to all resources.
func settings(out printf, owner string) {
	out("labels:\n- pairs:\n    app.kubernetes.io/part-of: %s\n    app.kubernetes.io/managed-by: kustomize\n  includeTemplates: true\n",
		owner)
	out("commonAnnotations:\n  example.com/contact: %s@example.com\n", owner)
}

func images(w *treeWriter, out printf) {
	names := imageNames()
	out("images:\n- name: %s\n  newTag: \"%d.%d\"\n", names[0], 1+w.rnd.IntN(9), w.rnd.IntN(20))
	out("- name: %s\n  newName: mirror.example.com/web\n  newTag: stable\n", names[1])
	out("- name: %s\n  digest: sha256:%064x\n", names[2], w.rnd.Uint64())
	out("- name: quay.io/acme/sidecar\n  newTag: v2.0.%d\n", w.rnd.IntN(20))
}

// generators writes a ConfigMap generator for each app. References in volumes must follow the
// hash suffix.
func generators(w *treeWriter, out printf, apps []app) {
	if len(apps) == 0 {
		return
	}
	out("configMapGenerator:\n")
	for _, a := range apps {
		out("- name: %s\n  literals:\n  - mode=fast\n  - host=%s.example.com\n  - limit=%d\n", a.name, a.name, w.rnd.IntN(1000))
	}
	out("generatorOptions:\n  labels:\n    example.com/generated: \"true\"\n")
}

// mergePatch writes a strategic merge patch that changes a container and adds an environment
// variable and a toleration.
func mergePatch(a app, out printf) {
	out("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: %s\nspec:\n  template:\n    spec:\n      containers:\n", a.name)
	out("      - name: main\n        env:\n        - name: PATCHED\n          value: \"yes\"\n")
	out("        resources:\n          limits:\n            memory: 2Gi\n")
	out("      tolerations:\n      - key: dedicated\n        operator: Exists\n")
}

// tenPatches writes patches of each form: a file, inline merge patches with and without a
// target, and JSON patches.
func tenPatches(w *treeWriter, out printf, apps []app) {
	out("patches:\n- path: patches/merge.yaml\n")
	some := func() string { return apps[w.rnd.IntN(len(apps))].name }
	for range 4 {
		out(
			"- patch: |-\n    apiVersion: v1\n    kind: Service\n    metadata:\n      name: %s\n      annotations:\n        example.com/scrape: \"true\"\n",
			some())
	}
	for range 3 {
		out("- target:\n    group: apps\n    kind: Deployment\n    name: %s\n  patch: |-\n", some())
		out("    - op: replace\n      path: /spec/replicas\n      value: %d\n", 2+w.rnd.IntN(8))
		out("    - op: add\n      path: /spec/template/spec/containers/0/args/-\n      value: --verbose\n")
	}
	out("- target:\n    kind: HorizontalPodAutoscaler\n  patch: |-\n    - op: replace\n      path: /spec/maxReplicas\n      value: 20\n")
	out(
		"- target:\n    kind: Deployment\n    labelSelector: tier=edge\n  patch: |-\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata:\n      name: any\n")
	out("    spec:\n      template:\n        spec:\n          priorityClassName: edge\n")
}
