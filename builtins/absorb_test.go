package builtins

import (
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
)

func TestAbsorbLikeKustomize(t *testing.T) {
	base := `
apiVersion: v1
kind: ConfigMap
metadata:
  name: p-a
  namespace: now
  finalizers: [x]
  labels: {one: base, n: 1, nil: null}
  annotations:
    one: base
    b: true
    nil: null
    empty:
data: {k: base, n: 1, nested: {x: y}}
binaryData: {bin: AAAA}
immutable: true
---
apiVersion: v1
kind: Secret
metadata: {name: s}
type: special
data: {a: YQ==, b: Yg==}
stringData: {b: new, n: 12, long: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "1", namespace: "2"}
`
	for _, test := range []struct{ name, text string }{
		{"both",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: was, labels: {two: new, one: new}, annotations: {c: new}}\ndata: {k: new, l: new}\nbinaryData: {more: BBBB}\n"},
		{"by present name", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: p-a, namespace: now}\ndata: {k: new}\n"},
		{"nothing", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"},
		{"nothing into much", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: p-a, namespace: now}\n"},
		{"nulls", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: p-a, namespace: now, annotations: {one: null}}\ndata: {k: null}\n"},
		{"numbers", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 1, namespace: 2}\n"},
		{"secret", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: bmV3}\ntype: Opaque\n"},
		{"none", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: missing}\n"},
		{"wrong namespace", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: else}\n"},
	} {
		for _, behavior := range []string{"merge", "replace", "create", ""} {
			t.Run(test.name+" "+behavior, func(t *testing.T) {
				c := &refCase{}
				for i, text := range strings.Split(base, "\n---\n") {
					h := history{}
					if i == 0 {
						h = history{prev: []krm.ID{{GVK: krm.GVK{Kind: "ConfigMap"}, Name: "a", Namespace: "was"}}}
					}
					c.add(t, text, h)
				}
				list := krm.NewList(c.ours...)
				r := doc(t, test.text)
				r.Behavior = behavior
				err := Absorb(list, r, noWarn)
				wantErr := absorbTheirs(t, c.theirs, test.text, behavior)
				if (err != nil) != (wantErr != nil) {
					t.Fatalf("error %v, kustomize has %v", err, wantErr)
				}
				if err != nil {
					return
				}
				if err := new(Finish).Transform(list, noWarn); err != nil {
					t.Fatal(err)
				}
				c.theirs.RemoveBuildAnnotations()
				want, _ := c.theirs.AsYaml()
				if got := renderList(t, list); got != string(want) {
					t.Errorf("got\n%s\nkustomize has\n%s", got, want)
				}
			})
		}
	}
}

func absorbTheirs(t *testing.T, m resmap.ResMap, text, behavior string) error {
	t.Helper()
	factory := resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory())
	made, err := factory.NewResMapFromBytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r := made.Resources()[0]
	a := r.GetAnnotations()
	a["internal.config.kubernetes.io/generatorBehavior"] = behavior
	if err := r.SetAnnotations(a); err != nil {
		t.Fatal(err)
	}
	return m.AbsorbAll(made)
}

func TestAbsorbState(t *testing.T) {
	old := doc(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	old.PushID()
	old.SetName("p-a")
	old.Prefixes, old.RefVars, old.NeedsHash, old.Behavior = []string{"p-"}, []string{"V"}, true, "create"
	old.Origin, old.Transformations = &krm.Origin{Path: "old"}, []*krm.Origin{{Path: "t"}}
	for _, test := range []struct {
		behavior string
		hash     bool
		origin   string
	}{{"merge", true, "old"}, {"replace", false, "new"}} {
		r := doc(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
		r.Behavior, r.NeedsHash, r.Origin = test.behavior, test.hash, &krm.Origin{Path: "new"}
		list := krm.NewList(old)
		if err := Absorb(list, r, noWarn); err != nil {
			t.Fatal(err)
		}
		got := list.At(0)
		if got.ID().Name != "p-a" || got.OrigID().Name != "a" || got.Prefixes[0] != "p-" || got.RefVars[0] != "V" {
			t.Errorf("%s: the history of the resource is lost: %+v", test.behavior, got)
		}
		if got.NeedsHash != test.hash || got.Behavior != "create" || got.Origin.Path != test.origin || len(got.Transformations) != 1 {
			t.Errorf("%s: %+v", test.behavior, got)
		}
	}
}

func TestAbsorbErrors(t *testing.T) {
	for _, test := range []struct{ name, behavior, want string }{
		{"frontent", "merge", "found no v1 ConfigMap frontent to merge\n  did you mean \"frontend\"?"},
		{"frontend", "", "v1 ConfigMap frontend already exists\n  set the generator's behavior to merge or replace to change it"},
		{"renamed", "merge", "2 resources match v1 ConfigMap renamed: expected one to merge into\n  v1 ConfigMap x\n  v1 ConfigMap y"},
		{"elsewhere", "replace",
			"found no v1 ConfigMap elsewhere to replace\n  a resource with this name exists in a different namespace or with a different apiVersion"},
	} {
		rs := docs(t, `
apiVersion: v1
kind: ConfigMap
metadata: {name: frontend}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: x}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: y}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: elsewhere, namespace: n}
`)
		rs[1].Prev = []krm.ID{{GVK: krm.GVK{Kind: "ConfigMap"}, Name: "renamed"}}
		rs[2].Prev = rs[1].Prev
		r := doc(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+test.name+"}\n")
		r.Behavior = test.behavior
		if err := Absorb(krm.NewList(rs...), r, noWarn); err == nil || err.Error() != test.want {
			t.Errorf("error %q, want %q", err, test.want)
		}
	}
}
