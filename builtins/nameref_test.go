package builtins

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm"
	"sigs.k8s.io/kustomize/api/filters/nameref"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
)

// refCase is one list of resources, in krmflow's and in kustomize's types.
type refCase struct {
	ours   []*krm.Resource
	theirs resmap.ResMap
}

// history is the recorded state of a resource. kustomize keeps it in annotations.
type history struct {
	prev               []krm.ID // oldest first; apiVersion is ignored
	prefixes, suffixes []string
}

func (c *refCase) add(t testing.TB, text string, h history) {
	t.Helper()
	r := doc(t, text)
	r.Prefixes, r.Suffixes, r.Prev = h.prefixes, h.suffixes, h.prev
	c.ours = append(c.ours, r)
	res, err := provider.NewDefaultDepProvider().GetResourceFactory().FromBytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	annotate := func(key string, values []string) {
		if len(values) > 0 {
			a := res.GetAnnotations()
			a["internal.config.kubernetes.io/"+key] = strings.Join(values, ",")
			if err := res.SetAnnotations(a); err != nil {
				t.Fatal(err)
			}
		}
	}
	var names, namespaces, kinds []string
	for _, id := range h.prev {
		names, namespaces, kinds = append(names, id.Name), append(namespaces, id.Namespace), append(kinds, id.Kind)
	}
	annotate("previousNames", names)
	annotate("previousNamespaces", namespaces)
	annotate("previousKinds", kinds)
	annotate("prefixes", h.prefixes)
	annotate("suffixes", h.suffixes)
	if c.theirs == nil {
		c.theirs = resmap.New()
	}
	if err := c.theirs.Append(res); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

// naive is kustomize's algorithm. It calls kustomize's own filter.
func (c *refCase) naive(refs *NameReferences) (string, error) {
	for _, r := range c.theirs.Resources() {
		candidates, err := c.theirs.SubsetThatCouldBeReferencedByResource(r)
		if err != nil {
			return "", err
		}
		for _, ref := range refs.All() {
			for _, fs := range ref.FieldSpecs {
				gvk := resid.NewGvk(fs.Group, fs.Version, fs.Kind)
				if id := r.OrgId(); !id.IsSelected(&gvk) {
					continue
				}
				err := r.ApplyFilter(nameref.Filter{
					Referrer:           r,
					NameFieldToUpdate:  types.FieldSpec{Gvk: gvk, Path: fs.Path},
					ReferralTarget:     resid.NewGvk(ref.Group, ref.Version, ref.Kind),
					ReferralCandidates: candidates,
				})
				if err != nil {
					return "", err
				}
			}
		}
	}
	c.theirs.RemoveBuildAnnotations()
	text, err := c.theirs.AsYaml()
	return string(text), err
}

func (c *refCase) compare(t *testing.T, refs *NameReferences) (failed bool) {
	t.Helper()
	input := render(t, c.ours...)
	list := krm.NewList(slices.Clone(c.ours)...)
	err := FixNameReferences(list, refs)
	want, wantErr := c.naive(refs)
	if (err != nil) != (wantErr != nil) {
		t.Errorf("error %v, kustomize has %v, for\n%s", err, wantErr, input)
		return true
	}
	if err == nil && renderList(t, list) != want {
		t.Errorf("got\n%s\nkustomize has\n%s", renderList(t, list), want)
		for _, r := range c.ours {
			t.Logf("%v <- %v prefixes %q suffixes %q", r.ID(), r.Prev, r.Prefixes, r.Suffixes)
		}
		return true
	}
	return false
}

// sampleRefs are references of every form: scalars, lists of scalars, mappings, lists of mappings,
// roleRefs, and fields that can refer to several kinds.
func sampleRefs() *NameReferences {
	return NewNameReferences([]NameReference{
		{Kind: "ConfigMap", Version: "v1", FieldSpecs: []FieldSpec{
			{Kind: "Deployment", Path: "spec/containers/envFrom/configMapRef/name"},
			{Kind: "Deployment", Path: "spec/name"},
			{Path: "spec/any"},
		}},
		{Kind: "Secret", Version: "v1", FieldSpecs: []FieldSpec{
			{Kind: "Deployment", Path: "spec/name"},
			{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Path: "rules/resourceNames"},
			{Kind: "Deployment", Path: "spec/ref"},
		}},
		{Kind: "ServiceAccount", Version: "v1", FieldSpecs: []FieldSpec{
			{Kind: "RoleBinding", Path: "subjects"},
			{Kind: "ClusterRoleBinding", Path: "subjects"},
			{Kind: "Deployment", Path: "spec/account"},
			{Kind: "Deployment", Path: "spec/ref/name"},
			{Kind: "Deployment", Path: "spec/none[]"},
			{Kind: "Deployment", Path: "spec/none"},
		}},
		{Kind: "Role", Group: "rbac.authorization.k8s.io", FieldSpecs: []FieldSpec{{Kind: "RoleBinding", Path: "roleRef/name"}}},
		{Kind: "ClusterRole", Group: "rbac.authorization.k8s.io", FieldSpecs: []FieldSpec{
			{Kind: "RoleBinding", Path: "roleRef/name"},
			{Kind: "ClusterRoleBinding", Path: "roleRef/name"},
		}},
		{Kind: "Namespace", Version: "v1", FieldSpecs: []FieldSpec{{Path: "spec/ns"}}},
	}...)
}

// randomCase generates a list in which names, namespaces, kinds, prefixes and suffixes often
// collide.
func randomCase(t testing.TB, rnd *rand.Rand, size int) *refCase {
	pick := func(s ...string) string { return s[rnd.IntN(len(s))] }
	some := func(s ...string) []string {
		var list []string
		for range rnd.IntN(3) {
			list = append(list, pick(s...))
		}
		return list
	}
	c := &refCase{}
	seen := map[krm.ID]bool{}
	for i := range size {
		kind := pick("ConfigMap", "Secret", "ServiceAccount", "Deployment", "RoleBinding", "Role", "ClusterRole", "ClusterRoleBinding",
			"Namespace", "Custom")
		version := map[string]string{"Deployment": "apps/v1", "Custom": "example.com/v1"}[kind]
		if strings.Contains(kind, "Role") {
			version = "rbac.authorization.k8s.io/v1"
		} else if version == "" {
			version = "v1"
		}
		var h history
		for range rnd.IntN(3) {
			was := kind
			if rnd.IntN(8) == 0 {
				was = "Secret"
			}
			h.prev = append(h.prev, krm.ID{
				GVK: krm.GVK{Kind: was}, Name: pick("a", "b", "c"), Namespace: pick("default", "ns1", "ns2", krm.ClusterScope),
			})
		}
		h.prefixes, h.suffixes = some("p", "q"), some("s", "z")
		var b strings.Builder
		fmt.Fprintf(&b, "apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n", version, kind, pick("a", "b", "c", "p-a", fmt.Sprint("n", i)))
		if ns := pick("", "", "ns1", "ns2", "default"); ns != "" {
			fmt.Fprintf(&b, "  namespace: %s\n", ns)
		}
		name := func() string { return pick("a", "b", "c", "p-a", "unknown") }
		switch kind {
		case "Deployment":
			fmt.Fprintf(&b, "spec:\n  name: %s\n  account: %s\n  ns: %s\n  any: [%s, %s]\n", name(), name(), name(), name(), name())
			fmt.Fprintf(&b, "  none: %s\n", pick("null", "[a, b]", "[]", "c", "[{name: c}]"))
			fmt.Fprintf(&b, "  ref: {name: %s, namespace: %s}\n", name(), pick("ns1", "default", krm.ClusterScope, `""`))
			fmt.Fprintf(&b, "  containers:\n  - envFrom:\n    - configMapRef: {name: %s}\n    - configMapRef: {name: %s}\n", name(), name())
		case "Custom":
			fmt.Fprintf(&b, "spec:\n  any: {name: %s}\n", name())
		case "ClusterRole":
			fmt.Fprintf(&b, "rules:\n- resourceNames: [%s, %s]\n", name(), name())
		case "RoleBinding", "ClusterRoleBinding":
			fmt.Fprintf(&b, "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: %s\n  name: %s\nsubjects:\n",
				pick("Role", "ClusterRole"), name())
			for range 1 + rnd.IntN(2) {
				fmt.Fprintf(&b, "- kind: ServiceAccount\n  name: %s\n", name())
				if ns := pick("", "ns1", "ns2", "default", `""`); ns != "" {
					fmt.Fprintf(&b, "  namespace: %s\n", ns)
				}
			}
		}
		if id := doc(t, b.String()).ID(); !seen[id.Key()] {
			seen[id.Key()] = true
			c.add(t, b.String(), h)
		}
	}
	return c
}

func TestNameReferencesLikeKustomize(t *testing.T) {
	for seed := range uint64(240) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		if randomCase(t, rnd, 2+rnd.IntN(30)*(1+rnd.IntN(3))).compare(t, sampleRefs()) {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestNameReferencesManyVariants has long lists of candidates that differ only in their prefixes
// and suffixes.
func TestNameReferencesManyVariants(t *testing.T) {
	refs := NewNameReferences(NameReference{Kind: "ConfigMap", FieldSpecs: []FieldSpec{{Kind: "Pod", Path: "spec/name"}}})
	updated := 0
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		affixes := func() []string {
			var list []string
			for range rnd.IntN(4) {
				list = append(list, []string{"p", "q", "r"}[rnd.IntN(3)])
			}
			return list
		}
		c := &refCase{}
		prev := func(kind string) []krm.ID {
			return []krm.ID{{GVK: krm.GVK{Kind: kind}, Name: "a", Namespace: "default"}}
		}
		seen := map[string]bool{}
		for i := range 40 {
			h := history{prev("ConfigMap"), affixes(), affixes()}
			// Without duplicate affixes, at least some references are unambiguous.
			if key := fmt.Sprint(h.prefixes, h.suffixes); !seen[key] {
				seen[key] = true
				c.add(t, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\n", i), h)
			}
		}
		c.add(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: pod}\nspec: {name: a}\n", history{prev("Pod"), affixes(), affixes()})
		if c.compare(t, refs) {
			t.Fatalf("seed %d", seed)
		}
		list := krm.NewList(c.ours...)
		if FixNameReferences(list, refs) == nil && list.At(list.Len()-1).Value().At("spec", "name").Text() != "a" {
			updated++
		}
	}
	if updated < 10 {
		t.Errorf("only %d of the references were updated: the test tests little", updated)
	}
}

func TestNameReferenceErrors(t *testing.T) {
	renamed := history{prev: []krm.ID{{GVK: krm.GVK{Kind: "ConfigMap"}, Name: "a", Namespace: "default"}}}
	maps := func(c *refCase) {
		c.add(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n", renamed)
		c.add(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\n", renamed)
	}
	for _, test := range []struct{ name, text, want string }{
		{"ambiguous", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {name: a}\n",
			`updating names in apps/v1 Deployment d: spec/name: "a" may refer to several resources: v1 ConfigMap x, v1 ConfigMap y`},
		{"no name", "apiVersion: e/v1\nkind: X\nmetadata: {name: d}\nspec: {any: {nam: a}}\n", `the mapping has no field "name"`},
		{"list in list", "apiVersion: e/v1\nkind: X\nmetadata: {name: d}\nspec: {any: [[a]]}\n", "found a list"},
		{"scalar on the way", "apiVersion: e/v1\nkind: X\nmetadata: {name: d}\nspec: 1\n", "spec/any: expected a mapping or a list"},
		{"namespace not a string",
			"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: d}\nsubjects: [{kind: ServiceAccount, name: x, namespace: 1}]\n", "the namespace of a service account is not a string"},
		{"namespace null",
			"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: d}\nsubjects: [{kind: ServiceAccount, name: x, namespace: null}]\n", "the namespace of a service account is not a string"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &refCase{}
			maps(c)
			c.add(t, test.text, history{})
			err := FixNameReferences(krm.NewList(slices.Clone(c.ours)...), sampleRefs())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
			c.compare(t, sampleRefs())
		})
	}
}

// TestNameReferencesShare checks that a resource without a reference to a renamed resource is not
// copied.
func TestNameReferencesShare(t *testing.T) {
	rs := docs(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec: {name: a, any: [{name: b}, c], account: x}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: new}
`)
	rs[1].Prev = []krm.ID{{GVK: krm.GVK{Kind: "ConfigMap"}, Name: "old", Namespace: "default"}}
	list := krm.NewList(slices.Clone(rs)...)
	if err := FixNameReferences(list, sampleRefs()); err != nil {
		t.Fatal(err)
	}
	for i, r := range list.All() {
		if r != rs[i] {
			t.Errorf("%s was copied", r.ID())
		}
	}
}

// benchList has n resources in groups of ten: workloads that refer to a ConfigMap, a Secret and a
// ServiceAccount of their group. With shared names, the groups differ only in their prefix.
func benchList(b *testing.B, n int, shared bool) *krm.List {
	var rs []*krm.Resource
	for i := range n / 10 {
		name := "app"
		if !shared {
			name = fmt.Sprint("app", i)
		}
		for k := range 10 {
			kind := []string{"ConfigMap", "Secret", "ServiceAccount", "Deployment"}[min(k, 3)]
			text := fmt.Sprintf("apiVersion: v1\nkind: %s\nmetadata: {name: %s-%d}\n", kind, name, k)
			if kind == "Deployment" {
				text = fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s-%d}
spec:
  template:
    spec:
      serviceAccountName: %[1]s-2
      containers:
      - name: c
        image: nginx
        envFrom: [{configMapRef: {name: %[1]s-0}}, {secretRef: {name: %[1]s-1}}]
      volumes: [{name: v, configMap: {name: %[1]s-0}}, {name: s, secret: {secretName: other}}]
`, name, k)
			}
			r := doc(b, text)
			r.PushID()
			r.SetName(fmt.Sprintf("p%d-%s", i, r.ID().Name))
			r.Prefixes = []string{fmt.Sprintf("p%d-", i)}
			rs = append(rs, r)
		}
	}
	return krm.NewList(rs...)
}

func BenchmarkFixNameReferences(b *testing.B) {
	refs := DefaultConfig().NameReference
	for _, shared := range []bool{false, true} {
		list := benchList(b, 10_000, shared)
		b.Run(map[bool]string{false: "own names", true: "shared names"}[shared], func(b *testing.B) {
			for b.Loop() {
				if err := FixNameReferences(list.Clone(), refs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestNameReferenceStyle has names that are unquoted numbers.
func TestNameReferenceStyle(t *testing.T) {
	prev := func(name string) []krm.ID {
		return []krm.ID{{GVK: krm.GVK{Kind: "Secret"}, Name: name, Namespace: "7"}}
	}
	for _, spec := range []string{
		"name: 3", "name: '3'", "name: \"3\"", "name: a", "name: 'a'", "ref: {name: 3}", "ref: {name: 3, namespace: 7}",
		"ref: {name: '3', namespace: 7}", "ref: {name: a, namespace: '7'}",
		"ref: {name: a, namespace: null}", "any: [{name: 3}, a, 3, '3']",
	} {
		c := &refCase{}
		c.add(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: '13', namespace: '12'}\n", history{prev: prev("3")})
		c.add(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: 1e3, namespace: '12'}\n", history{prev: prev("a")})
		c.add(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: '12'}\n",
			history{prev: []krm.ID{{GVK: krm.GVK{Kind: "ConfigMap"}, Name: "3", Namespace: "7"}}})
		c.add(t, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: '12'}\nspec: {"+spec+"}\n", history{})
		c.compare(t, sampleRefs())
	}
}
