package diff_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/diff"
	"github.com/krmflow/krmflow/krm/yaml"
)

// services returns a list of Services with the given namespace/name pairs.
func services(t *testing.T, names ...string) *krm.List {
	t.Helper()
	var b strings.Builder
	for _, n := range names {
		namespace, name, _ := strings.Cut(n, "/")
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: %s}\n", name, namespace)
	}
	rs, err := krm.Resources(&yaml.Source{File: "all.yaml", Data: []byte(b.String())}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return krm.NewList(rs...)
}

func TestRelocations(t *testing.T) {
	for _, c := range []struct {
		name     string
		old, now []string
		want     []string
	}{
		{"namespace", []string{"a/x", "a/y"}, []string{"b/x", "b/y"}, []string{"moved from namespace a to b"}},
		{"two namespaces", []string{"a/x", "a/y", "c/x", "c/z"}, []string{"b/x", "b/y", "d/x", "d/z"},
			[]string{"moved from namespace a to b", "moved from namespace c to d"}},
		{"changed prefix", []string{"a/dev-x1", "a/dev-y2", "a/dev-z3"}, []string{"a/prod-x1", "a/prod-y2", "a/prod-z3"},
			[]string{"renamed from dev-* to prod-*"}},
		{"changed suffix", []string{"a/cart-v1", "a/web-v1", "a/redis-v1"}, []string{"a/cart-v2", "a/web-v2", "a/redis-v2"},
			[]string{"renamed from *1 to *2"}},
		{"both", []string{"a/web", "a/cart"}, []string{"b/x-web", "b/x-cart"},
			[]string{"moved from namespace a to b and renamed from * to x-*"}},
		{"single", []string{"a/x"}, []string{"b/x"}, nil},
		{"unrelated", []string{"a/cart", "a/web", "a/redis"}, []string{"a/mysql", "a/queue", "a/search"}, nil},
		{"some stay", []string{"a/x", "a/y", "a/z"}, []string{"a/z", "b/x", "b/y"}, []string{"moved from namespace a to b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			changes := diff.ListsWithMoves(services(t, c.old...), services(t, c.now...), nil)
			var got []string
			for _, m := range changes.Relocations {
				got = append(got, m.String())
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			for _, r := range changes.Resources {
				if len(c.want) > 0 && (r.What != diff.Relocated || r.Remains()) {
					t.Errorf("%s: %s, remaining changes: %t", r.ID(), r.What, r.Remains())
				}
			}
		})
	}
}

// Names that have much in common, but no pattern, must not cost much memory, although each removed
// resource is compared with each added one.
func TestSimilarNamesAreCheap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	names := func(n int) (list []string) {
		for range n {
			text := make([]byte, 8)
			for i := range text {
				text[i] = "bcdfghjklmnpqrstvwxz2456789"[random.IntN(27)]
			}
			list = append(list, "a/service-"+string(text)+"-config")
		}
		return list
	}
	for _, n := range []int{250, 2000} {
		old, now := services(t, names(n)...), services(t, names(n)...)
		if allocated := testing.AllocsPerRun(1, func() { diff.ListsWithMoves(old, now, nil) }); allocated > 1_000_000 {
			t.Errorf("%d removed and added resources: %v allocations", n, allocated)
		}
	}
}

// follows returns the fields that moves explain, and those that they do not explain.
func follows(t *testing.T, old, now string) (explained, remaining []string) {
	t.Helper()
	list := func(text string) *krm.List {
		rs, err := krm.Resources(&yaml.Source{File: "all.yaml", Data: []byte(text)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return krm.NewList(rs...)
	}
	for _, r := range diff.ListsWithMoves(list(old), list(now), nil).Resources {
		for _, e := range r.Edits {
			if field := r.ID().Kind + " " + e.Path.String(); e.Moves {
				explained = append(explained, field)
			} else {
				remaining = append(remaining, field)
			}
		}
	}
	return explained, remaining
}

func TestOnlyReferencesFollow(t *testing.T) {
	const text = `
apiVersion: v1
kind: Service
metadata: {name: a, namespace: NS}
---
apiVersion: v1
kind: Service
metadata: {name: b, namespace: NS}
---
apiVersion: x/v1
kind: X
metadata: {name: x}
spec:
  image: registry.NS:5000/app:NS
  images: [{name: app, newTag: NS}]
  log: NS
  namespace: NS
  hosts: [a.NS.svc, "http://a.NS.svc.cluster.local:80/NS", a.NS-1.svc, NS.svc]
  port: "b.NS:8080"
  args: [--namespace=NS, --namespace=NS-x]
  matchLabels: {kubernetes.io/metadata.name: NS}
`
	explained, remaining := follows(t, strings.ReplaceAll(text, "NS", "staging"), strings.ReplaceAll(text, "NS", "prod"))
	if got, want := fmt.Sprint(explained), "[Service metadata.namespace Service metadata.namespace X spec.args[0] X spec.hosts[0]"+
		" X spec.matchLabels.\"kubernetes.io/metadata.name\" X spec.namespace X spec.port]"; got != want {
		t.Errorf("explained\n%s, want\n%s", got, want)
	}
	if got, want := fmt.Sprint(remaining), "[X spec.args[1] X spec.hosts[1] X spec.hosts[2] X spec.hosts[3] X spec.image"+
		" X spec.images[name=app].newTag X spec.log]"; got != want {
		t.Errorf("not explained\n%s, want\n%s", got, want)
	}
}

// A name that several kinds have may lead to different new names.
func TestNamesOfSeveralKinds(t *testing.T) {
	object := func(kind, prefix string) (text string) {
		for _, name := range []string{"a", "b", "c"} {
			text += "---\napiVersion: v1\nkind: " + kind + "\nmetadata: {name: " + prefix + "-" + name + "}\n"
		}
		return text
	}
	pod := func(account, config string) string {
		return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {serviceAccountName: " + account + "-a, volumes: [{configMap: {name: " +
			config + "-a}}], nodeName: dev-a, hostname: " + config + "-b}\n"
	}
	old := object("ConfigMap", "dev") + object("ServiceAccount", "dev") + pod("dev", "dev")
	for _, c := range []struct{ now, want string }{
		{object("ConfigMap", "prod") + object("ServiceAccount", "stage") + pod("prod", "prod"),
			"[Pod spec.hostname Pod spec.serviceAccountName Pod spec.volumes[0].configMap.name]"},
		{object("ConfigMap", "prod") + object("ServiceAccount", "dev") + pod("prod", "prod"),
			"[Pod spec.hostname Pod spec.serviceAccountName Pod spec.volumes[0].configMap.name]"},
		{object("ConfigMap", "prod") + object("ServiceAccount", "prod") + pod("prod", "prod"), "[Pod spec.hostname]"},
	} {
		explained, remaining := follows(t, old, c.now)
		if got := fmt.Sprint(remaining); got != c.want {
			t.Errorf("not explained: %s, want %s", got, c.want)
		}
		if n := len(explained) - strings.Count(fmt.Sprint(explained), "metadata.name"); n != 0 && c.want != "[Pod spec.hostname]" {
			t.Errorf("explained: %s", explained)
		}
		if !slices.Contains(explained, "ConfigMap metadata.name") {
			t.Errorf("explained: %s, without the names of ConfigMaps", explained)
		}
	}
}
