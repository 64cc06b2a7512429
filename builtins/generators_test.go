package builtins

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/krmflow/krmflow/krm/yaml"
	yamlv3 "go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/yaml"
)

// yamlValue converts YAML into a Value without the parser of package krm.
func yamlValue(t testing.TB, text string) yaml.Value {
	t.Helper()
	var doc yamlv3.Node
	if err := yamlv3.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	if len(doc.Content) == 0 {
		return yaml.NullValue
	}
	return yamlNodeValue(doc.Content[0])
}

func yamlNodeValue(n *yamlv3.Node) yaml.Value {
	switch n.Kind {
	case yamlv3.MappingNode:
		var fields []yaml.Field
		for i := 0; i < len(n.Content); i += 2 {
			fields = append(fields, yaml.Field{Key: n.Content[i].Value, Value: yamlNodeValue(n.Content[i+1])})
		}
		return yaml.MapOf(fields...)
	case yamlv3.SequenceNode:
		var items []yaml.Value
		for _, c := range n.Content {
			items = append(items, yamlNodeValue(c))
		}
		return yaml.SeqOf(items...)
	}
	switch n.ShortTag() {
	case "!!null":
		if n.Value == "" {
			return yaml.OmittedNull
		}
		return yaml.NullValue
	case "!!bool":
		return yaml.BoolValue(n.Value == "true")
	case "!!int":
		return yaml.Number(yaml.Int, n.Value)
	case "!!float":
		return yaml.Number(yaml.Float, n.Value)
	}
	return yaml.Str(n.Value).WithQuotes(n.Style != 0)
}

// plainValue returns v in the types of encoding/json.
func plainValue(v yaml.Value) any {
	switch v.Type() {
	case yaml.Map:
		m := map[string]any{}
		for _, f := range v.Fields() {
			m[f.Key] = plainValue(f.Value)
		}
		return m
	case yaml.Seq:
		s := []any{}
		for _, x := range v.Items() {
			s = append(s, plainValue(x))
		}
		return s
	case yaml.Int, yaml.Float:
		return json.Number(v.Text())
	case yaml.Bool:
		return v.Text() == "true"
	case yaml.String:
		return v.Text()
	}
	return nil
}

// yamlText prints resources in a canonical form, for comparisons.
func yamlText(t testing.TB, values ...yaml.Value) string {
	t.Helper()
	var docs []string
	for _, v := range values {
		j, err := json.Marshal(plainValue(v))
		if err != nil {
			t.Fatal(err)
		}
		y, err := kyaml.JSONToYAML(j)
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, string(y))
	}
	return strings.Join(docs, "---\n")
}

// fileEnv reads files from a map.
func fileEnv(files map[string]string) Env {
	return Env{Read: func(path string) (*yaml.Source, error) {
		data, ok := files[path]
		if !ok {
			return nil, fmt.Errorf("%s: no such file", path)
		}
		return &yaml.Source{File: "dir/" + path, Data: []byte(data)}, nil
	}}
}

var generatorFiles = map[string]string{
	"e.env":    "\ufeffFOO=bar\n# c\n\n  BAZ = q \nQUOTED=\"a b\"\nNOVAL\n=skip\nEQ=a=b\r\nexport X=1\n",
	"sub/f":    "x: 1\ny: 2\n",
	"b.bin":    "\xff\xfe\x00bin",
	"l60":      strings.Repeat("a", 60),
	"l52":      strings.Repeat("a", 52),
	"l51":      strings.Repeat("a", 51),
	"long.bin": strings.Repeat("\xff", 200),
	"bad.env":  "A=hunter2\nB=hunter2\xff\n",
	"big.env":  "A=1\nB=" + strings.Repeat("x", 1<<16) + "\nC=2\n",
	"fits.env": "B=" + strings.Repeat("x", 1<<16-3) + "\nC=2\n",
}

// TestGeneratorsMatchKustomize expects kustomize's output.
func TestGeneratorsMatchKustomize(t *testing.T) {
	text := `
generatorOptions:
  labels: {g: "1", l: global}
  annotations: {ga: x}
configMapGenerator:
- name: a
  namespace: ns
  envs: [e.env]
  literals: [k=v, "q='x'", 'dq="y"', "half='z", "e=", "two=a=b", "one='", "ml=a\nb"]
  files: [sub/f, key=sub/f, b.bin, long.bin]
  options: {labels: {l: local}, immutable: true, disableNameSuffixHash: true}
- name: empty
  behavior: merge
secretGenerator:
- name: s
  env: e.env
  literals: [k=v, "e="]
  files: [l60, l52, l51, b.bin, long.bin]
  type: kubernetes.io/x
- name: s2
  behavior: nonsense
`
	want := `apiVersion: v1
binaryData:
  b.bin: //4AYmlu
  long.bin: |
    //////////////////////////////////////////////////////////////////////
    //////////////////////////////////////////////////////////////////////
    //////////////////////////////////////////////////////////////////////
    ////////////////////////////////////////////////////////8=
data:
  'BAZ ': ' q '
  EQ: a=b
  FOO: bar
  NOVAL: ""
  QUOTED: '"a b"'
  dq: "y"
  e: ""
  export X: "1"
  f: |
    x: 1
    y: 2
  half: '''z'
  k: v
  key: |
    x: 1
    y: 2
  ml: |-
    a
    b
  one: ''''
  q: x
  two: a=b
immutable: true
kind: ConfigMap
metadata:
  annotations:
    ga: x
  labels:
    g: "1"
    l: local
  name: a
  namespace: ns
---
apiVersion: v1
kind: ConfigMap
metadata:
  annotations:
    ga: x
  labels:
    g: "1"
    l: global
  name: empty
---
apiVersion: v1
data:
  'BAZ ': IHEg
  EQ: YT1i
  FOO: YmFy
  NOVAL: ""
  QUOTED: ImEgYiI=
  b.bin: //4AYmlu
  e: ""
  export X: MQ==
  k: dg==
  l51: YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh
  l52: |
    YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYQ
    ==
  l60: |
    YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYW
    FhYWFhYWFh
  long.bin: |
    //////////////////////////////////////////////////////////////////////
    //////////////////////////////////////////////////////////////////////
    //////////////////////////////////////////////////////////////////////
    ////////////////////////////////////////////////////////8=
kind: Secret
metadata:
  annotations:
    ga: x
  labels:
    g: "1"
    l: global
  name: s
type: kubernetes.io/x
---
apiVersion: v1
data: {}
kind: Secret
metadata:
  annotations:
    ga: x
  labels:
    g: "1"
    l: global
  name: s2
type: Opaque
`
	var k struct {
		GeneratorOptions   *GeneratorOptions
		ConfigMapGenerator []ConfigMapArgs
		SecretGenerator    []SecretArgs
	}
	if errs := yaml.Decode(yamlValue(t, text), &k); errs != nil {
		t.Fatal(errs)
	}
	var gens []Generator
	for _, args := range k.ConfigMapGenerator {
		gens = append(gens, args.Generator(k.GeneratorOptions))
	}
	for _, args := range k.SecretGenerator {
		gens = append(gens, args.Generator(k.GeneratorOptions))
	}
	var got []yaml.Value
	var states []string
	for _, g := range gens {
		if err := g.Configure(fileEnv(generatorFiles)); err != nil {
			t.Fatal(err)
		}
		rs, err := g.Generate()
		if err != nil || len(rs) != 1 {
			t.Fatal(rs, err)
		}
		got = append(got, rs[0].Value())
		states = append(states, fmt.Sprintf("%s %t %s", rs[0].ID().Name, rs[0].NeedsHash, rs[0].Behavior))
	}
	if diff := cmp.Diff(want, yamlText(t, got...)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a false ", "empty true merge", "s true ", "s2 true "}, states); diff != "" {
		t.Errorf("states: -want +got\n%s", diff)
	}
}

func TestGeneratorMistakes(t *testing.T) {
	for _, test := range []struct{ config, want string }{
		{"{literals: [a=b]}", "name is missing"},
		{"{name: s, literals: [ok=hunter2, hunter2]}", "literals[1]: must be of the form key=value"},
		{"{name: s, literals: [=hunter2]}", "literals[0]: must be of the form key=value"},
		{"{name: s, literals: [a=hunter2, a=hunter2]}", `literals[1]: key "a" is already given by literals[0]`},
		{"{name: s, envs: [e.env], literals: [FOO=hunter2]}", `literals[0]: key "FOO" is already given by dir/e.env:1`},
		{"{name: s, files: [sub/f, ./sub/f]}", `files[1]: ./sub/f: no such file`},
		{"{name: s, files: [sub/f, f=b.bin]}", `files[1]: key "f" is already given by files[0]`},
		{"{name: s, files: [=f.txt]}", "files[0]: no key before '='"},
		{"{name: s, files: [a=]}", "files[0]: no path after '='"},
		{"{name: s, files: [a=b=c]}", "files[0]: must be of the form path or key=path, with no further '='"},
		{"{name: s, files: [nope]}", "files[0]: nope: no such file"},
		{"{name: s, envs: [nope]}", "envs[0]: nope: no such file"},
		{"{name: s, envs: [bad.env]}", "dir/bad.env:2: envs[0]: line is not valid UTF-8"},
		{"{name: s, envs: [big.env]}", "dir/big.env:2: envs[0]: the line is longer than 64 KiB\n" +
			"  use files for longer values: KEY=PATH"},
		{"{name: s, envs: [fits.env]}", ""},
	} {
		for _, g := range []Generator{&ConfigMapGenerator{}, &SecretGenerator{}} {
			if errs := (yaml.Decoding{AllowUnknown: true}).Decode(yamlValue(t, test.config), g); errs != nil {
				t.Fatal(errs)
			}
			got := ""
			if err := g.Configure(fileEnv(generatorFiles)); err != nil {
				got = err.Error()
			}
			if !says(got, test.want) {
				t.Errorf("%s:\n got %q\nwant %q", test.config, got, test.want)
			}
			if strings.Contains(got, "hunter2") {
				t.Errorf("%s: the message shows a value: %s", test.config, got)
			}
		}
	}
}

// TestGeneratorDocument checks that a configuration document can have the name and the namespace in
// its metadata, and that its unknown field env is ignored.
func TestGeneratorDocument(t *testing.T) {
	var g SecretGenerator
	config := "{apiVersion: builtin, kind: SecretGenerator, metadata: {name: n, namespace: ns}, env: missing, type: t, literals: [a=b]}"
	if errs := (yaml.Decoding{AllowUnknown: true}).Decode(yamlValue(t, config), &g); errs != nil {
		t.Fatal(errs)
	}
	if err := g.Configure(fileEnv(nil)); err != nil {
		t.Fatal(err)
	}
	rs, _ := g.Generate()
	if id := rs[0].ID(); id.Name != "n" || id.Namespace != "ns" || id.Kind != "Secret" {
		t.Error(id)
	}
}

func TestMergeGeneratorOptions(t *testing.T) {
	local := &GeneratorOptions{Labels: map[string]string{"a": "local", "b": "local"}, Immutable: true}
	global := &GeneratorOptions{Labels: map[string]string{"a": "global", "c": "global"}, DisableNameSuffixHash: true}
	want := &GeneratorOptions{
		Labels:                map[string]string{"a": "local", "b": "local", "c": "global"},
		Annotations:           map[string]string{},
		DisableNameSuffixHash: true,
		Immutable:             true,
	}
	if diff := cmp.Diff(want, MergeGeneratorOptions(local, global)); diff != "" {
		t.Error(diff)
	}
	if len(local.Labels) != 2 || len(global.Labels) != 2 {
		t.Error("an argument was changed")
	}
	if MergeGeneratorOptions(nil, global) != global || MergeGeneratorOptions(local, nil) != local {
		t.Error("nil is not neutral")
	}
}

// TestIAMPolicyGenerator expects kustomize's output.
func TestIAMPolicyGenerator(t *testing.T) {
	config := `
apiVersion: builtin
kind: IAMPolicyGenerator
metadata: {name: x}
cloud: gke
kubernetesService: {name: k8s-sa-name, namespace: namespace}
serviceAccount: {name: gsa-name, projectId: project-id}
`
	want := `apiVersion: v1
kind: ServiceAccount
metadata:
  annotations:
    iam.gke.io/gcp-service-account: gsa-name@project-id.iam.gserviceaccount.com
  name: k8s-sa-name
  namespace: namespace
`
	g := New("IAMPolicyGenerator").(Generator)
	if errs := (yaml.Decoding{AllowUnknown: true}).Decode(yamlValue(t, config), g); errs != nil {
		t.Fatal(errs)
	}
	if err := g.Configure(Env{}); err != nil {
		t.Fatal(err)
	}
	rs, _ := g.Generate()
	if diff := cmp.Diff(want, yamlText(t, rs[0].Value())); diff != "" {
		t.Error(diff)
	}
	if rs[0].NeedsHash {
		t.Error("the name would get a hash")
	}
	if err := (&IAMPolicyGenerator{Cloud: "aws"}).Configure(Env{}); err == nil {
		t.Error("aws is accepted")
	}
}
