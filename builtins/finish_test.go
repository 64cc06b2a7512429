package builtins

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"sigs.k8s.io/kustomize/api/resource"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

func TestOriginTextLikeKustomize(t *testing.T) {
	words := []string{
		"", "a", "base/deployment.yaml", "../base/kustomization.yaml", "../../x y/z.yaml", "true", "y", "1.0", "1234567", "12e4567",
		"0x1f", "null", "~",
		"https://github.com/kubernetes-sigs/kustomize", "v1.0.6", "main", "a: b", "a #b", "- x", "[x]", "*x", "'q'", `"q"`, "..", ".", "./a", ".inf",
		"../.inf", "2001-01-01", "é/ü.yaml", "trailing ", "@x", "builtin", "example.com/v1", "1:20", "/.inf", "x\ty", "=",
		"<<", strings.Repeat("long word ", 20) + "x",
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	pick := func() string {
		if rnd.IntN(2) == 0 {
			return ""
		}
		return words[rnd.IntN(len(words))]
	}
	var ours []*krm.Origin
	var theirs resource.Transformations
	for i := range 600 {
		version, kind, name, namespace := pick(), pick(), pick(), pick()
		o := &krm.Origin{Path: pick(), Repo: pick(), Ref: pick(), ConfiguredIn: pick()}
		if i < len(words) {
			o = &krm.Origin{Path: words[i]}
			version, kind, name, namespace = "", "", "", ""
		}
		o.ConfiguredBy = krm.ID{GVK: krm.ParseGVK(version, kind), Name: name, Namespace: namespace}
		k := &resource.Origin{
			Path: o.Path, Repo: o.Repo, Ref: o.Ref, ConfiguredIn: o.ConfiguredIn,
			ConfiguredBy: kyaml.ResourceIdentifier{
				TypeMeta: kyaml.TypeMeta{APIVersion: o.ConfiguredBy.APIVersion(), Kind: kind},
				NameMeta: kyaml.NameMeta{Name: name, Namespace: namespace},
			},
		}
		want, err := k.String()
		if err != nil {
			t.Fatal(err)
		}
		if got := OriginText(o); got != want {
			t.Fatalf("got\n%s\nkustomize has\n%s", got, want)
		}
		ours, theirs = append(ours, o), append(theirs, k)
	}
	want, err := theirs.String()
	if err != nil {
		t.Fatal(err)
	}
	if got := TransformationsText(ours); got != want {
		t.Errorf("the list differs")
	}
}

func TestOriginsAndTransformationsAreRecorded(t *testing.T) {
	rs := docs(t, "kind: A\nmetadata: {name: a, annotations: {n: 1, \"null\": null, s: x}}\n---\nkind: B\nmetadata: {name: b}\n")
	rs[0].Origin = &krm.Origin{Path: "a.yaml"}
	list := krm.NewList(rs...)
	config := doc(t, "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: x, namespace: ns}\n")
	if PluginOrigin(config) != nil {
		t.Error("an origin was made up")
	}
	config.Origin = &krm.Origin{Path: "t.yaml", Repo: "r", Ref: "f"}
	o := PluginOrigin(config)
	if want := "repo: r\nref: f\nconfiguredIn: t.yaml\nconfiguredBy:\n  apiVersion: builtin\n  kind: PrefixTransformer\n  name: x\n  namespace: ns\n"; OriginText(o) != want {
		t.Errorf("got %q, want %q", OriginText(o), want)
	}
	RecordTransformation(list, nil)
	RecordOrigin(list, nil)
	RecordTransformation(list, o) // b was made by o
	RecordOrigin(list, &krm.Origin{Path: "late"})
	RecordTransformation(list, o)
	if a := list.At(0); a.Origin.Path != "a.yaml" || len(a.Transformations) != 2 {
		t.Errorf("a: %+v", a)
	}
	if got := list.At(0).Annotations(); got.Get("n").Type() != yaml.String || got.Get("null").Text() != "null" {
		t.Errorf("annotations %s, want strings", yaml.AppendJSON(nil, got))
	}
	if b := list.At(1); b.Origin != o || len(b.Transformations) != 1 {
		t.Errorf("b: %+v", b)
	}
}

// TestFinishMatchesKustomize expects the output of kustomize v5.8.2.
func TestFinishMatchesKustomize(t *testing.T) {
	input := `
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  annotations:
    i: 1
    o: 012
    b: true
    e:
    f: 1.10
    "null": null
    config.kubernetes.io/index: "3"
    config.kubernetes.io/path: x.yaml
    config.kubernetes.io/origin: zzz
    internal.config.kubernetes.io/foo: keep
    internal.config.kubernetes.io/seqindent: wide
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: b
  annotations: {}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: c
  annotations:
---
apiVersion: v1
kind: FooList
x: 1
---
apiVersion: v1
kind: BarList
metadata:
x: 1
---
apiVersion: v1
kind: BazList
metadata: {}
x: 1
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: loc
  annotations: {config.kubernetes.io/local-config: "False"}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: loc2
  annotations: {config.kubernetes.io/local-config: null}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: stays
  annotations: {config.kubernetes.io/local-config: false}
`
	want := `apiVersion: v1
kind: ConfigMap
metadata:
  annotations:
    b: "true"
    e: ""
    f: "1.10"
    i: "1"
    internal.config.kubernetes.io/foo: keep
    "null": "null"
    o: "012"
  name: a
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: b
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: c
---
apiVersion: v1
kind: ConfigMap
metadata:
  annotations:
    config.kubernetes.io/local-config: "false"
  name: stays
---
apiVersion: v1
kind: BarList
metadata: null
x: 1
---
apiVersion: v1
kind: BazList
metadata: {}
x: 1
---
apiVersion: v1
kind: FooList
metadata: {}
x: 1
`
	list := krm.NewList(docs(t, input)...)
	f := Finish{Sort: LegacyOrder()}
	if err := f.Transform(list, noWarn); err != nil {
		t.Fatal(err)
	}
	if got := renderList(t, list); got != want {
		t.Errorf("got\n%s", got)
	}
	before := list.At(0)
	if err := f.Transform(list, noWarn); err != nil || list.At(0) != before {
		t.Errorf("error %v; what needs no change was copied", err)
	}
}

func TestFinishMetadata(t *testing.T) {
	input := `
kind: A
metadata: {name: a, labels: {x: 1}}
---
kind: B
metadata: {name: b, labels: null, annotations: {}}
---
kind: C
metadata: {name: c, annotations: {config.kubernetes.io/origin: hand-made, z: 1}}
`
	want := `kind: A
metadata:
  annotations:
    alpha.config.kubernetes.io/transformations: |
      - configuredIn: k.yaml
    config.kubernetes.io/origin: |
      path: a.yaml
  labels:
    app.kubernetes.io/managed-by: kustomize-v5.8.2
    x: 1
  name: a
---
kind: B
metadata:
  annotations: {}
  labels:
    app.kubernetes.io/managed-by: kustomize-v5.8.2
  name: b
---
kind: C
metadata:
  annotations:
    config.kubernetes.io/origin: hand-made
    z: "1"
  labels:
    app.kubernetes.io/managed-by: kustomize-v5.8.2
  name: c
`
	rs := docs(t, input)
	rs[0].Origin, rs[0].Transformations = &krm.Origin{Path: "a.yaml"}, []*krm.Origin{{ConfiguredIn: "k.yaml"}}
	list := krm.NewList(rs...)
	f := Finish{ManagedBy: "kustomize-v5.8.2", OriginAnnotations: true, TransformerAnnotations: true}
	if err := f.Transform(list, noWarn); err != nil {
		t.Fatal(err)
	}
	if got := renderList(t, list); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestFinishErrors(t *testing.T) {
	for _, test := range []struct{ text, without, want string }{
		{"kind: A\nmetadata: {name: a}\n", "kind", "the kind is missing"},
		{"kind: A\nmetadata: {name: a}\n", "metadata", "metadata.name is missing"},
		{"kind: A\nmetadata: {name: a, labels: x}\n", "", "metadata.labels must be a mapping, not a string"},
		{"kind: A\nmetadata: {name: a}\n---\nkind: A\nmetadata: {name: a, namespace: default}\n", "", "duplicate resource"},
	} {
		f := Finish{ManagedBy: "x", Sort: LegacyOrder()}
		rs := docs(t, test.text)
		rs[0].SetValue(rs[0].Value().Without(test.without))
		if err := f.Transform(krm.NewList(rs...), noWarn); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q in it", err, test.want)
		}
	}
}

func TestSameResources(t *testing.T) {
	before := "kind: A\nmetadata: {name: a}\nspec: {x: 1}\n---\nkind: B\nmetadata: {name: b, labels: {l: m}}\n"
	for _, test := range []struct{ after, want string }{
		{"kind: B\nmetadata: {name: b, labels: {l: m}}\n---\nkind: A\nmetadata: {name: a}\nspec: {x: 1}\n", ""},
		{"kind: A\nmetadata: {name: a, labels: {validated-by: v}}\nspec: {x: 1}\n---\nkind: B\nmetadata: {name: b, labels: {validated-by: v, l: m}}\n", ""},
		{"kind: A\nmetadata: {name: a}\nspec: {x: 1}\n", "it removed B b"},
		{"kind: A\nmetadata: {name: a}\nspec: {x: 2}\n---\nkind: B\nmetadata: {name: b, labels: {l: m}}\n", "it changed A a"},
		{before + "---\nkind: C\nmetadata: {name: c}\n", "it added C c"},
		{before + "---\nkind: B\nmetadata: {name: b, labels: {l: m}}\n", "it returned B b 2 times"},
	} {
		err := SameResources(krm.NewList(docs(t, before)...), krm.NewList(docs(t, test.after)...))
		if (err == nil) != (test.want == "") || err != nil && !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
}

func BenchmarkFinish(b *testing.B) {
	list := benchList(b, 10_000, false)
	config := DefaultConfig()
	f := Finish{NameReference: config.NameReference, VarReference: config.VarReference, Sort: LegacyOrder()}
	for b.Loop() {
		if err := f.Transform(list.Clone(), noWarn); err != nil {
			b.Fatal(err)
		}
	}
}
