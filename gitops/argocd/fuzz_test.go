package argocd

import (
	"testing"

	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// FuzzRoots checks that no object makes a panic.
func FuzzRoots(f *testing.F) {
	for _, text := range []string{
		appWith(
			"    path: web\n    kustomize: {images: [a:b], replicas: [{name: a, count: 1}], patches: [{patch: x}], components: ['*']}\n"),
		appWith("    path: chart\n    helm: {valueFiles: ['*.yaml'], parameters: [{name: 'a[0].b', value: c}], values: 'a: b'}\n"),
		appWith("    chart: x\n    helm: {valuesObject: {a: b}, fileParameters: [{name: a, path: b}]}\n"),
		set(goSpec +
			"  templatePatch: '{a: {{.x}}}'\n  generators:\n  - matrix: {generators: [{list: {elements: [{a: b}]}}, {git: {repoURL: " +
			own +
			", files: [{path: '**/*.yaml'}], values: {x: y}}}]}\n    selector: {matchLabels: {a: b}}\n"),
		set(fastSpec + "  generators:\n  - merge: {mergeKeys: [a], generators: [{clusters: {flatList: true}}, {git: {repoURL: " + own +
			", directories: [{path: '*'}]}}]}\n" + secrets),
	} {
		f.Add([]byte(text[len("-- objects.yaml --\n"):]))
	}
	base := newWorld(f,
		"-- web/kustomization.yaml --\nimages: [{name: a}]\nlabels: [{pairs: {a: b}}]\n-- chart/Chart.yaml --\n-- chart/v.yaml --\na: b\n")
	f.Fuzz(func(t *testing.T, data []byte) {
		src := &yaml.Source{File: "objects.yaml", Data: data}
		docs, err := src.Documents()
		if err != nil {
			return
		}
		w := &world{env: base.env, files: base.files}
		for i, d := range docs {
			gvk := krm.ParseGVK(d.Value.Get("apiVersion").Text(), d.Value.Get("kind").Text())
			w.env.Objects = append(w.env.Objects, &gitops.Object{Group: gvk.Group, Kind: gvk.Kind,
				Name:  d.Value.At("metadata", "name").Text(),
				Value: d.Value, Source: src, Doc: i, Tree: "/own"})
		}
		for _, r := range Roots(&w.env) {
			for _, p := range r.Parts {
				_ = p.At.Pos()
				if out, err := w.edit(p); err == nil {
					out.Locate(0, "images", 0, "newTag")
				}
			}
		}
	})
}
