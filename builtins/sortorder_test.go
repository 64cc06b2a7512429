package builtins

import (
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// legacyLess is kustomize's order, computed in the simplest way.
func legacyLess(a, b krm.ID, first, last []string) bool {
	rank := func(kind string) int {
		n := 0
		for i, k := range first {
			if k == kind {
				n = i - len(first)
			}
		}
		for i, k := range last {
			if k == kind {
				n = i + 1
			}
		}
		return n
	}
	or := func(s, empty string) string {
		if s == "" {
			return empty
		}
		return s
	}
	gvk := func(g krm.GVK) string { return or(g.Group, "~G") + "_" + or(g.Version, "~V") + "_" + or(g.Kind, "~K") }
	if a.GVK == b.GVK {
		return or(a.Namespace, "~X")+"|"+or(a.Name, "~N") < or(b.Namespace, "~X")+"|"+or(b.Name, "~N")
	}
	if i, j := rank(a.Kind), rank(b.Kind); i != j {
		return i < j
	}
	if a.Kind == "Namespace" && b.Kind == "Namespace" && (a.Group == "" || b.Group == "") {
		return gvk(a.GVK) > gvk(b.GVK)
	}
	return gvk(a.GVK) < gvk(b.GVK)
}

func TestSortOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	pick := func(s ...string) yaml.Value { return yaml.Str(s[rnd.IntN(len(s))]) }
	for range 100 {
		var rs []*krm.Resource
		seen := map[krm.ID]bool{}
		for range 60 {
			r := krm.NewResource(yaml.MapOf(
				yaml.Field{Key: "apiVersion", Value: pick("v1", "v2", "a/v1", "zz/v1", "")},
				yaml.Field{Key: "kind", Value: pick("Namespace", "ConfigMap", "Deployment", "Custom", "MutatingWebhookConfiguration",
					"Zebra")},
				yaml.Field{Key: "metadata", Value: yaml.MapOf(
					yaml.Field{Key: "name", Value: pick("a", "b", "a-b", "~", "A")},
					yaml.Field{Key: "namespace", Value: pick("", "n", "n-1", "n~", "~", "m")},
				)},
			), nil)
			if !seen[r.ID().Key()] {
				seen[r.ID().Key()] = true
				rs = append(rs, r)
			}
		}
		first, last := []string{"Zebra", "Namespace"}, []string{"ConfigMap", "Custom"}
		s := SortOrderTransformer{SortOptions: &SortOptions{Order: "legacy", LegacySortOptions: &LegacySortOptions{first, last}}}
		if rnd.IntN(2) == 0 {
			first, last = []string{"Namespace", "ConfigMap", "Deployment"}, []string{"MutatingWebhookConfiguration"}
			s.SortOptions = LegacyOrder()
		}
		list := krm.NewList(rs...)
		want := list.Clone()
		sorted := make([]*krm.Resource, 0, want.Len())
		for _, r := range want.All() {
			sorted = append(sorted, r)
		}
		sort.SliceStable(sorted, func(i, j int) bool { return legacyLess(sorted[i].ID(), sorted[j].ID(), first, last) })
		if err := s.Configure(Env{}); err != nil {
			t.Fatal(err)
		}
		if err := s.Transform(list, noWarn); err != nil {
			t.Fatal(err)
		}
		for i, r := range list.All() {
			if r != sorted[i] {
				t.Fatalf("at %d: %s, want %s", i, r.ID(), sorted[i].ID())
			}
		}
	}
}

func TestSortOptionsErrors(t *testing.T) {
	for _, test := range []struct {
		options *SortOptions
		want    string
	}{
		{nil, ""},
		{&SortOptions{Order: "fifo"}, ""},
		{&SortOptions{Order: "legacy", LegacySortOptions: &LegacySortOptions{}}, ""},
		{&SortOptions{}, `order must be legacy or fifo, not ""`},
		{&SortOptions{Order: "fifo", LegacySortOptions: &LegacySortOptions{}}, "legacySortOptions is set, but order is fifo"},
	} {
		err := (&SortOrderTransformer{test.options}).Configure(Env{})
		if (err == nil) != (test.want == "") || err != nil && said(err) != test.want {
			t.Errorf("%+v: error %v, want %q", test.options, err, test.want)
		}
	}
}
