package function_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// kustomizeBase is the input of the functions below, before a name prefix is added.
const kustomizeBase = `apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {n: 012}}
data: {x: "012"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
---
apiVersion: v1
kind: Pod
metadata: {name: d}
spec: {containers: [{name: c, envFrom: [{configMapRef: {name: a}}, {configMapRef: {name: b}}, {configMapRef: {name: c}}]}]}
n: [012, 1.10, 0x1F, 1e3, 2001-01-01, ~, TRUE, .5, 1_000]
folded: >
  a

    b
  c
literal: |
  x
   y
`

// TestFunctionsLikeKustomize runs functions on renamed resources and compares the result of the
// build with kustomize's, including updated name references.
func TestFunctionsLikeKustomize(t *testing.T) {
	if version, err := exec.Command("kustomize", "version").Output(); err != nil || strings.TrimSpace(string(version)) != "v5.8.2" {
		t.Skip("kustomize v5.8.2 is not on PATH")
	}
	for _, tt := range []struct{ name, field, script string }{
		{"unchanged", "transformers", "cat"},
		{"renamed", "transformers", `sed 's/^    name: p-b$/    name: p-z/'`},
		{"swapped", "transformers",
			`sed 's/^    name: p-a$/    name: X/; s/^    name: p-b$/    name: p-a/; s/^    name: X$/    name: p-b/'`},
		{"new item", "transformers",
			`sed 's/^items:/items:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: new, annotations: {kustomize.config.k8s.io\/needs-hash: "true"}}}/'`},
		{"new local item", "transformers",
			`sed 's/^items:/items:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: new, annotations: {config.kubernetes.io\/local-config: "true"}}}/'`},
		{"written anew", "transformers", "cat <<EOF\n" + `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- {apiVersion: v1, kind: Pod, metadata: {name: p-d, annotations: {n: 1}}, spec: {containers: [{name: c, envFrom: [{configMapRef: {name: a}}]}]}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: p-a}, x: 012}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: q}, x: {y: }, z: ~}
` + "EOF\n"},
		{"bare documents", "transformers", "cat <<EOF\n---\n" + `apiVersion: v1
kind: ConfigMap
metadata: {name: new, labels: {}, annotations: {}}
---
# nothing
---
apiVersion: v1
kind: ConfigMap
metadata: {name: p-a, annotations: {config.kubernetes.io/path: x, internal.config.kubernetes.io/index: '7'}}
folded: >-
  a

    b
  c
n: [012, 1.10, 0x1F, 1e3, 2001-01-01, ~, TRUE, .5, 1_000]
` + "EOF\n"},
		{"lists in lists", "transformers",
			`echo "{apiVersion: v1, kind: ConfigMapList, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: p-b}, data: {x: 012}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: new}}]}"`},
		{"JSON", "transformers",
			`echo '{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"p-c"},"x":1.50}]}'`},
		{"generated", "generators", "cat <<EOF\n" + `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: g, annotations: {kustomize.config.k8s.io/needs-hash: "true", n: 1}}, data: {x: "1"}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: h, annotations: {kustomize.config.k8s.io/behavior: create}}}
- {apiVersion: v1, kind: Pod, metadata: {name: i}, spec: {containers: [{name: c, envFrom: [{configMapRef: {name: g}}]}]}}
` + "EOF\n"},
		{"configuration echoed", "generators", "cat"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			want := kustomizeBuild(t, dir, tt.field, tt.script)
			got := build(t, dir, tt.field == "generators")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func kustomizeBuild(t *testing.T, dir, field, script string) string {
	t.Helper()
	for name, text := range map[string]string{
		"base/kustomization.yaml": "resources: [a.yaml]\nnamePrefix: p-\n",
		"base/a.yaml":             kustomizeBase,
		"kustomization.yaml":      "resources: [base]\n" + field + ": [fn.yaml]\nsortOptions: {order: fifo}\n",
		"fn.yaml":                 "apiVersion: x/v1\nkind: T\nmetadata:\n  name: t\n  annotations:\n    config.kubernetes.io/function: 'exec: {path: ./fn.sh}'\n",
		"fn.sh":                   "#!/bin/sh\n" + script + "\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("kustomize", "build", "--enable-alpha-plugins", "--enable-exec", dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	return string(out)
}

// build runs the steps of that tree's plan, but calls the function itself.
func build(t *testing.T, dir string, generator bool) string {
	t.Helper()
	rs, err := krm.Resources(&yaml.Source{File: "a.yaml", Data: []byte(kustomizeBase)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	list := krm.NewList(rs...)
	prefix := &builtins.PrefixTransformer{Prefix: "p-", FieldSpecs: builtins.DefaultConfig().NamePrefix}
	if err := prefix.Configure(builtins.Env{}); err != nil {
		t.Fatal(err)
	}
	if err := prefix.Transform(list, nil); err != nil {
		t.Fatal(err)
	}
	config, err := krm.Resources(&yaml.Source{File: "fn.yaml", Data: []byte("apiVersion: x/v1\nkind: T\nmetadata:\n  name: t\n")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := function.WireOptions{Name: "t"}
	in := list
	if generator {
		o.Role, in = function.GeneratorRole, nil
	}
	cmd := exec.Command(filepath.Join(dir, "fn.sh"))
	cmd.Stdin = strings.NewReader(function.EncodeResourceList(in, config[0].Value(), o).String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	reply, err := function.DecodeResourceList(yaml.Chunks{out}, in, o)
	if err != nil {
		t.Fatal(err)
	}
	if generator {
		for _, r := range reply.List.All() {
			if err := list.Append(r); err != nil {
				t.Fatal(err)
			}
		}
	} else {
		list = reply.List
	}
	finish := builtins.Finish{NameReference: builtins.DefaultConfig().NameReference}
	if err := finish.Transform(list, nil); err != nil {
		t.Fatal(err)
	}
	return string(list.AppendYAML(nil))
}
