package builtins

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"sigs.k8s.io/kustomize/api/hasher"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

func TestHashLikeKustomize(t *testing.T) {
	texts := []string{
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {}\nbinaryData: {}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {b: x, a: \"<&>\\u2028é\\t\\n\\r\\b\\f\\0\\\"\\\\\"}\nbinaryData: {k: AAAA}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: text\nbinaryData: text\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: [a]\nbinaryData: [a]\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: null\nimmutable: true\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: 1, b: 0.5, c: true, d: null, e: [1, x], f: {z: 1, a: 2}, g: 1e30, h: 1e-9, i: 0x1F, j: -0.0000001}\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ntype: Opaque\ndata: {a: AAAA}\nstringData: {b: x}\n",
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 100 { // values as generators make them
		var b strings.Builder
		fmt.Fprintf(&b, "apiVersion: v1\nkind: %s\nmetadata: {name: x}\ndata:\n", []string{"ConfigMap", "Secret"}[rnd.IntN(2)])
		for i := range 3 {
			fmt.Fprintf(&b, "  k%d: %q\n", i, strings.Repeat(string(rune(rnd.IntN(0x3000)+1)), rnd.IntN(4)))
		}
		texts = append(texts, strings.ReplaceAll(b.String(), "\\x", "\\u00"))
	}
	for _, text := range texts {
		node, err := kyaml.Parse(text)
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		want, err := new(hasher.Hasher).Hash(node)
		if err != nil {
			t.Fatal(err)
		}
		if got := nameHash(appendHashed(nil, doc(t, text).Value())); got != want {
			t.Errorf("hash %s, kustomize has %s, of %s\nhashed: %s", got, want, text, appendHashed(nil, doc(t, text).Value()))
		}
	}
}

// TestAsFloats compares asFloats with an edit of each field and item, on random data. Data without
// long integers must not be copied.
func TestAsFloats(t *testing.T) {
	var convert func(v yaml.Value) yaml.Value
	convert = func(v yaml.Value) yaml.Value {
		if v.Type() == yaml.Int && len(v.Text()) > 15 {
			return asFloats(v)
		}
		for _, f := range v.Fields() {
			v = v.With(f.Key, convert(f.Value))
		}
		for i, item := range v.Items() {
			v = v.WithItem(i, convert(item))
		}
		return v
	}
	rnd := rand.New(rand.NewPCG(2, 1))
	var value func(depth int) yaml.Value
	value = func(depth int) yaml.Value {
		switch n := rnd.IntN(4); {
		case n == 0:
			return yaml.Str(fmt.Sprint(rnd.IntN(100)))
		case n == 1 || depth == 0:
			return yaml.Number(yaml.Int, fmt.Sprint(rnd.Int64()>>rnd.IntN(63)))
		case n == 2:
			return yaml.SeqOf(value(depth-1), value(depth-1))
		}
		return yaml.MapOf(yaml.Field{Key: "a", Value: value(depth - 1)}, yaml.Field{Key: "b", Value: value(depth - 1)})
	}
	for range 300 {
		v := value(5)
		got, want := asFloats(v), convert(v)
		if !got.Equal(want) || want.Equal(v) != got.Same(v) {
			t.Fatalf("%s: got %s, want %s", yaml.AppendJSON(nil, v), yaml.AppendJSON(nil, got), yaml.AppendJSON(nil, want))
		}
	}
}

func TestHashTransformer(t *testing.T) {
	rs := docs(t, `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: ns}
data: {k: v}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
---
apiVersion: example.com/v1
kind: Custom
metadata: {name: c}
`)
	rs[0].NeedsHash, rs[2].NeedsHash = true, true
	list := krm.NewList(slices.Clone(rs)...)
	var warnings []string
	warn := told(&warnings)
	if err := new(HashTransformer).Transform(list, warn); err != nil {
		t.Fatal(err)
	}
	if got := list.At(0).ID().Name; got != "a-bdg947hgcc" {
		t.Errorf("name %q", got)
	}
	if prev := list.At(0).PrevID(0); prev.Name != "a" || prev.Namespace != "ns" || prev.Kind != "ConfigMap" {
		t.Errorf("previous identity %v", prev)
	}
	if list.At(1) != rs[1] {
		t.Error("a resource that needs no hash was changed")
	}
	if rs[0].ID().Name != "a" {
		t.Error("the caller's resource was changed")
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "Custom") {
		t.Errorf("warnings %q", warnings)
	}
}
