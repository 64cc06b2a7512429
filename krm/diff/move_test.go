package diff_test

import (
	"fmt"
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
