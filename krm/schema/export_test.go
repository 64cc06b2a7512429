package schema

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/krmflow/krmflow/krm/yaml"
)

// TestDefinitionsAreComplete parses the exported definitions and compares the result with the table
// for all kinds.
func TestDefinitionsAreComplete(t *testing.T) {
	text, err := json.Marshal(map[string]any{"definitions": Definitions()})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := (&yaml.Source{Data: text}).Value()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(doc)
	if err != nil {
		t.Fatal(err)
	}
	compared := map[[2]any]bool{}
	var compare func(path string, a, b Node)
	compare = func(path string, a, b Node) {
		if key := [2]any{a.id, b.doc}; compared[key] || t.Failed() {
			return
		} else {
			compared[key] = true
		}
		if a.Exists() != b.Exists() || a.Strategy() != b.Strategy() || !slices.Equal(a.MergeKeys(), b.MergeKeys()) {
			t.Errorf("%s: got %t, %q, %q, want %t, %q, %q", path, b.Exists(), b.Strategy(), b.MergeKeys(), a.Exists(), a.Strategy(),
				a.MergeKeys())
			return
		}
		if !a.Exists() {
			return
		}
		n := schemaNodes[a.id]
		for _, p := range schemaProps[n.first : n.first+n.count] {
			name := schemaNames[p.name]
			compare(path+"."+name, a.Field(name), b.Field(name))
		}
		compare(path+".*", a.Field("\x00"), b.Field("\x00"))
		compare(path+"[]", a.Elem(), b.Elem())
	}
	kinds := 0
	for _, k := range schemaKinds {
		g := Kind{k.group, k.version, k.kind}
		if a := (*Schema)(nil).For(g); a.Exists() {
			kinds++
			b := s.For(g)
			if g.Group == "kustomize.config.k8s.io" {
				b = Node{schema: s, doc: s.kinds[g]} // For prefers the built-in schema
			}
			compare(g.Kind, a, b)
		}
	}
	if kinds < 250 || len(compared) < 1000 {
		t.Errorf("compared %d kinds, %d nodes", kinds, len(compared))
	}
}

func TestKubernetesFindsOtherVersions(t *testing.T) {
	for _, tc := range []struct {
		kind  Kind
		known bool
	}{
		{Kind{"apps", "v1", "Deployment"}, true},
		{Kind{"autoscaling", "v2", "HorizontalPodAutoscaler"}, true},
		{Kind{"example.com", "v2", "HorizontalPodAutoscaler"}, false},
		{Kind{"apps", "v1", "Rollout"}, false},
	} {
		if got := Kubernetes(tc.kind).Exists(); got != tc.known {
			t.Errorf("%v: got %t, want %t", tc.kind, got, tc.known)
		}
	}
}
