package planner

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/scheduler"
)

// builtinCases are built-ins as items of a Composition, with equivalents in a Kustomization: a
// field, and a document in transformers or generators that spells out all fields that kustomize's
// defaults would set.
var builtinCases = []struct {
	kind, config string
	field        string
	doc          string // text to append to config for the document in a Kustomization; "-" for none
	in           string
}{
	{"AnnotationsTransformer", "annotations: {a: b, c: '1'}", "commonAnnotations: {a: b, c: '1'}", annotationSpecs, "transformers"},
	{"LabelTransformer", "labels: {l: v}", "commonLabels: {l: v}", "", ""},
	{"LabelTransformer", "labels: {l: v}\nfieldSpecs: [{path: metadata/labels, create: true}]", "labels: [{pairs: {l: v}}]",
		"-", "transformers"},
	{"LabelTransformer", "labels: {l: v}\nfieldSpecs: []", "", "-", "transformers"},
	{"PrefixTransformer", "prefix: p-", "namePrefix: p-", "fieldSpecs: [{path: metadata/name}]", "transformers"},
	{"SuffixTransformer", "suffix: -s", "nameSuffix: -s", "fieldSpecs: [{path: metadata/name}]", "transformers"},
	{"PrefixSuffixTransformer", "prefix: p-\nsuffix: -s", "namePrefix: p-\nnameSuffix: -s", "fieldSpecs: [{path: metadata/name}]",
		"transformers"},
	{"PrefixTransformer", "prefix: p-\nfieldSpecs: []", "", "-", "transformers"},
	{"NamespaceTransformer", "metadata: {name: x, namespace: ns}", "namespace: ns", "", ""},
	{"NamespaceTransformer",
		"metadata: {name: x, namespace: ns}\nfieldSpecs: [{path: metadata/name, kind: Namespace, create: true}]\nsetRoleBindingSubjects: allServiceAccounts", "", "-", "transformers"},
	{"ImageTagTransformer", "imageTag: {name: nginx, newTag: '2', newName: other}", "images: [{name: nginx, newTag: '2', newName: other}]",
		"-", "transformers"},
	{"ReplicaCountTransformer", "replica: {name: d, count: 7}", "replicas: [{name: d, count: 7}]",
		"fieldSpecs: [{path: spec/replicas, create: true, kind: Deployment}]", "transformers"},
	{"PatchTransformer", "patch: '[{\"op\": \"add\", \"path\": \"/spec/paused\", \"value\": true}]'\ntarget: {kind: Deployment}",
		"patches: [{patch: '[{\"op\": \"add\", \"path\": \"/spec/paused\", \"value\": true}]', target: {kind: Deployment}}]",
		"-", "transformers"},
	{"PatchTransformer", "path: patch.yaml", "patches: [{path: patch.yaml}]", "-", "transformers"},
	{"PatchJson6902Transformer",
		"target: {group: apps, version: v1, kind: Deployment, name: d}\njsonOp: '[{\"op\": \"add\", \"path\": \"/spec/paused\", \"value\": true}]'", "patchesJson6902: [{target: {group: apps, version: v1, kind: Deployment, name: d}, patch: '[{\"op\": \"add\", \"path\": \"/spec/paused\", \"value\": true}]'}]", "-", "transformers"},
	{"PatchStrategicMergeTransformer", "paths: [patch.yaml]", "patchesStrategicMerge: [patch.yaml]", "-", "transformers"},
	{"ReplacementTransformer",
		"replacements: [{source: {kind: ConfigMap, fieldPath: data.k}, targets: [{select: {kind: Deployment}, fieldPaths: [spec.template.spec.containers.0.image]}]}]", "replacements: [{source: {kind: ConfigMap, fieldPath: data.k}, targets: [{select: {kind: Deployment}, fieldPaths: [spec.template.spec.containers.0.image]}]}]", "-", "transformers"},
	{"ValueAddTransformer", "value: added\ntargets: [{selector: {kind: ConfigMap}, fieldPath: data/more}]", "", "-", "transformers"},
	{"HashTransformer", "", "", "-", "transformers"},
	{"ConfigMapGenerator", "metadata: {name: g}\nliterals: [a=b]\nfiles: [k=text.txt]\nenvs: [a.env]\noptions: {labels: {x: z}}",
		"configMapGenerator: [{name: g, literals: [a=b], files: [k=text.txt], envs: [a.env], options: {labels: {x: z}}}]",
		"-", "generators"},
	{"ConfigMapGenerator", "metadata: {name: cm}\nbehavior: merge\nliterals: [new=1]",
		"configMapGenerator: [{name: cm, behavior: merge, literals: [new=1]}]", "-", "generators"},
	{"SecretGenerator", "metadata: {name: s, namespace: nsp}\ntype: Opaque\nliterals: [a=b]",
		"secretGenerator: [{name: s, namespace: nsp, type: Opaque, literals: [a=b]}]", "-", "generators"},
	{"IAMPolicyGenerator", "cloud: gke\nkubernetesService: {namespace: nsp, name: k}\nserviceAccount: {name: sa, projectId: p}", "",
		"-", "generators"},
}

const annotationSpecs = `fieldSpecs:
- {path: metadata/annotations, create: true}
- {path: spec/template/metadata/annotations, create: true, kind: Deployment}`

const builtinBase = `apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec:
      containers:
      - name: c
        image: nginx:1
        envFrom: [{configMapRef: {name: cm}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cm}
data: {k: v}
---
apiVersion: v1
kind: Service
metadata: {name: d}
spec: {selector: {app: d}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: rb}
subjects: [{kind: ServiceAccount, name: default}, {kind: ServiceAccount, name: other}]
roleRef: {kind: Role, name: r, apiGroup: rbac.authorization.k8s.io}
`

// TestBuiltinsInComposition compares each built-in in a Composition with its equivalents in a
// Kustomization, and with kustomize if it is installed (BT-01, BT-02, BT-05, BT-06).
func TestBuiltinsInComposition(t *testing.T) {
	tested := map[string]bool{}
	for _, c := range builtinCases {
		tested[c.kind] = true
		t.Run(c.kind, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, "base/kustomization.yaml", "resources: [all.yaml]\n")
			put(t, dir, "base/all.yaml", builtinBase)
			item := "apiVersion: builtin\nkind: " + c.kind + "\n" + c.config + "\n"
			put(t, dir, "comp/composition.yaml", "kind: Composition\ntransformers:\n"+
				"- {apiVersion: builtin, kind: ResourceAccumulator, paths: [../base]}\n"+indented(item))
			same := []string{}
			if c.field != "" {
				put(t, dir, "field/kustomization.yaml", "resources: [../base]\n"+c.field+"\n")
				same = append(same, "field")
			}
			if c.in != "" {
				if !strings.Contains(item, "metadata:") {
					item += "metadata: {name: x}\n"
				}
				put(t, dir, "doc/kustomization.yaml", "resources: [../base]\n"+c.in+": [doc.yaml]\n")
				put(t, dir, "doc/doc.yaml", item+strings.TrimPrefix(c.doc, "-"))
				same = append(same, "doc")
			}
			for _, d := range append(same, "comp") {
				put(t, dir, d+"/patch.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {minReadySeconds: 3}\n")
				put(t, dir, d+"/text.txt", "text\n")
				put(t, dir, d+"/a.env", "E=1\n")
			}
			got := renderIn(t, dir, "comp")
			for _, d := range same {
				if want := renderIn(t, dir, d); got != want {
					t.Errorf("the Composition gives\n%s\nthe Kustomization %s\n%s", got, d, want)
				}
				if want, ok := kustomizeBuild(t, filepath.Join(dir, d)); ok && got != want {
					t.Errorf("the Composition gives\n%s\nkustomize with %s\n%s", got, d, want)
				}
			}
		})
	}
	for _, kind := range builtins.Kinds() {
		if !tested[kind] && !inScript(t, kind) {
			t.Errorf("%s is not tested: add a case for a kind of kustomize, a script for one of krmflow's own", kind)
		}
	}
}

// inScript reports whether a test script has a document of a kind.
func inScript(t *testing.T, kind string) bool {
	t.Helper()
	scripts, err := filepath.Glob("../testdata/script/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("found %d scripts: %v", len(scripts), err)
	}
	return slices.ContainsFunc(scripts, func(name string) bool {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(text), "kind: "+kind)
	})
}

func indented(item string) string {
	return "- " + strings.ReplaceAll(strings.TrimSuffix(item, "\n"), "\n", "\n  ") + "\n"
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
		t.Fatal(err)
	}
}

// renderIn builds one directory below dir.
func renderIn(t *testing.T, dir, name string) string {
	t.Helper()
	plan := Compile(t.Context(), []string{name}, Options{Cwd: dir, Reorder: "legacy"})
	if err := plan.Err(); err != nil {
		t.Fatal(err)
	}
	var out string
	errs := scheduler.Run(context.Background(), plan.Graph, scheduler.Options{Jobs: 1, Root: func(_ graph.Root, l *krm.List) error {
		out = string(l.AppendYAML(nil))
		return nil
	}})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return out
}

// kustomizeBuild runs kustomize v5.8.2, if that version is installed.
func kustomizeBuild(t *testing.T, dir string) (string, bool) {
	t.Helper()
	path, err := exec.LookPath("kustomize")
	if err != nil {
		return "", false
	}
	if version, err := exec.Command(path, "version").Output(); err != nil ||
		!slices.Contains(strings.Fields(string(version)), KustomizeVersion) {
		return "", false
	}
	out, err := exec.Command(path, "build", dir).Output()
	if err != nil {
		t.Fatalf("kustomize build: %v", err)
	}
	return string(out), true
}
