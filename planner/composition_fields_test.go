package planner

import (
	"path/filepath"
	"strings"
	"testing"
)

// kustomizationFields are fields of a Kustomization. Fields that can be combined share a case.
var kustomizationFields = []string{
	"namePrefix: p-\nnameSuffix: -s",
	"namespace: ns",
	"labels: [{pairs: {l: v}, includeTemplates: true}, {pairs: {m: w}, includeSelectors: true}]",
	"commonLabels: {l: v}",
	"commonAnnotations: {a: b}",
	"patches: [{path: patch.yaml}, {target: {kind: Service}, patch: '[{\"op\": \"remove\", \"path\": \"/spec/selector\"}]'}]",
	"patchesStrategicMerge: [patch.yaml]",
	"patchesJson6902: [{target: {version: v1, kind: Service, name: d}, path: json.yaml}]",
	"images: [{name: nginx, newTag: '2'}]",
	"imageTags: [{name: nginx, newTag: '3'}]",
	"replicas: [{name: d, count: 4}]",
	"replacements: [{path: replacement.yaml}]",
	"configMapGenerator: [{name: cm, behavior: replace, literals: [a=b]}]",
	"configMapGenerator: [{name: new, files: [text.txt], envs: [a.env]}]\ngeneratorOptions: {labels: {g: o}, immutable: true}",
	"secretGenerator: [{name: s, literals: [a=b]}]\ngeneratorOptions: {disableNameSuffixHash: true}",
	"vars: [{name: CM, objref: {apiVersion: v1, kind: ConfigMap, name: cm}}]\npatches: [{path: usesvar.yaml}]\nnamePrefix: p-",
	"components: [../comp]",
	"configurations: [config.yaml]\nnamePrefix: p-",
	"crds: [crd.json]\nnamePrefix: p-",
	"openapi: {version: v1.21.2}",
	"generators: [generator.yaml]",
	"transformers: [transformer.yaml, {apiVersion: builtin, kind: SuffixTransformer, metadata: {name: s}, suffix: -s, fieldSpecs: [{path: metadata/name}]}]",
	"validators: [validator.yaml]",
	"bases: [../second]",
	"sortOptions: {order: fifo}",
	"buildMetadata: [originAnnotations]",
}

var fieldFiles = map[string]string{
	"patch.yaml":       "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {minReadySeconds: 3}\n",
	"json.yaml":        "- {op: add, path: /spec/type, value: NodePort}\n",
	"replacement.yaml": "source: {kind: ConfigMap, fieldPath: data.k}\ntargets: [{select: {kind: Service}, fieldPaths: [spec.selector.app]}]\n",
	"text.txt":         "text\n",
	"a.env":            "E=1\n",
	"usesvar.yaml":     "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {template: {spec: {containers: [{name: c, args: [$(CM)]}]}}}\n",
	"config.yaml":      "nameReference: [{kind: ConfigMap, fieldSpecs: [{path: spec/selector/app, kind: Service}]}]\nnamePrefix: [{path: data/k, kind: ConfigMap}]\n",
	"crd.json":         `{"example.com/v1": {"Schema": {"properties": {}}}}`,
	"generator.yaml":   "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: gen}\nliterals: [x=z]\n",
	"transformer.yaml": "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: p}\nprefix: p-\nfieldSpecs: [{path: metadata/name}]\n",
	"validator.yaml":   "apiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: none}\n",
}

// TestKustomizationFieldsInComposition compares each field of a Kustomization that is an item of a
// Composition with the same field of a Kustomization one layer below the root, where sortOptions
// and buildMetadata have no effect. It also compares them with kustomize if it is installed
// (KT-04).
func TestKustomizationFieldsInComposition(t *testing.T) {
	for _, field := range kustomizationFields {
		t.Run(field, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, "base/kustomization.yaml", "resources: [all.yaml]\n")
			put(t, dir, "base/all.yaml", builtinBase)
			put(t, dir, "second/kustomization.yaml", "configMapGenerator: [{name: second}]\n")
			put(t, dir, "comp/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: comp-\n")
			put(t, dir, "in/composition.yaml", "kind: Composition\ntransformers:\n"+
				"- {apiVersion: builtin, kind: ResourceAccumulator, paths: [../base]}\n"+
				indented("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"+field+"\n"))
			put(t, dir, "field/kustomization.yaml", "resources: [../base]\n"+field+"\n")
			put(t, dir, "root/kustomization.yaml", "resources: [../field]\n")
			for name, text := range fieldFiles {
				put(t, dir, "in/"+name, text)
				put(t, dir, "field/"+name, text)
			}
			got, want := renderIn(t, dir, "in"), renderIn(t, dir, "root")
			if got != want {
				t.Errorf("the Composition gives\n%s\nthe Kustomization\n%s", got, want)
			}
			if strings.Contains(field, ", {apiVersion") {
				return // kustomize does not accept mappings there
			}
			if want, ok := kustomizeBuild(t, filepath.Join(dir, "root")); ok && got != want {
				t.Errorf("the Composition gives\n%s\nkustomize\n%s", got, want)
			}
		})
	}
}
