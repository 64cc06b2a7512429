package names

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

func object(apiVersion, kind, ns, name, data string) *krm.Resource {
	meta := []yaml.Field{{Key: "name", Value: yaml.Str(name)}}
	if ns != "" {
		meta = append(meta, yaml.Field{Key: "namespace", Value: yaml.Str(ns)})
	}
	return krm.NewResource(yaml.MapOf(yaml.Field{Key: "apiVersion", Value: yaml.Str(apiVersion)},
		yaml.Field{Key: "kind", Value: yaml.Str(kind)},
		yaml.Field{Key: "metadata", Value: yaml.MapOf(meta...)}, yaml.Field{Key: "data", Value: yaml.Str(data)}), nil)
}

func configMap(name, data string) *krm.Resource { return object("v1", "ConfigMap", "", name, data) }

func fileNames(t *testing.T, rs ...*krm.Resource) []string {
	t.Helper()
	names, err := Of(krm.NewList(rs...))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// The expected names are the files written by kustomize build -o.
func TestFileNamesOfKustomize(t *testing.T) {
	got := fileNames(t,
		object("apps/v1", "Deployment", "prod", "Web", ""),
		object("v1", "ConfigMap", "", "web", ""),
		object("rbac.authorization.k8s.io/v1", "ClusterRole", "", "system:x", ""),
		object("example.com/v1beta1", "Thing", "Team", "a.b", ""),
		object("v1", "Namespace", "", "prod", ""))
	want := []string{"prod_apps_v1_deployment_web.yaml", "default_v1_configmap_web.yaml",
		"rbac.authorization.k8s.io_v1_clusterrole_system:x.yaml", "team_example.com_v1beta1_thing_a.b.yaml", "v1_namespace_prod.yaml"}
	if !slices.Equal(got, want) {
		t.Errorf("several namespaces:\n%q, want\n%q", got, want)
	}
	got = fileNames(t,
		object("apps/v1", "Deployment", "default", "Web", ""),
		object("v1", "ConfigMap", "", "web", ""),
		object("rbac.authorization.k8s.io/v1", "ClusterRole", "", "system:x", ""))
	want = []string{"apps_v1_deployment_web.yaml", "v1_configmap_web.yaml", "rbac.authorization.k8s.io_v1_clusterrole_system:x.yaml"}
	if !slices.Equal(got, want) {
		t.Errorf("one namespace:\n%q, want\n%q", got, want)
	}
}

func TestFileNamesMadeSafe(t *testing.T) {
	long := strings.Repeat("é", 150)
	for _, test := range []struct {
		r    *krm.Resource
		want string // # is replaced by the hash
	}{
		{configMap("../../../pwn", ""), "v1_configmap_..%2F..%2F..%2Fpwn.yaml"},
		{configMap("a\x00b", ""), "v1_configmap_a%00b.yaml"},
		{object(".hidden/v1", "K", "", "x", ""), "%2Ehidden_v1_k_x.yaml"},
		{object("../v1", "K", "", "x", ""), "%2E._v1_k_x.yaml"},
		{object("con.example.com/v1", "K", "", "x", ""), "con-#.example.com_v1_k_x.yaml"},
		{object("COM1.io/v1", "K", "", "x", ""), "com1-#.io_v1_k_x.yaml"},
		{object("com.io/v1", "K", "", "x", ""), "com.io_v1_k_x.yaml"},
		{configMap(strings.Repeat("x", 237), ""), "v1_configmap_" + strings.Repeat("x", 237) + ".yaml"},
		{configMap(strings.Repeat("x", 238), ""), "v1_configmap_" + strings.Repeat("x", 187) + "-#.yaml"},
		{configMap(long, ""), "v1_configmap_" + strings.Repeat("é", 93) + "-#.yaml"},
		{configMap("", ""), "v1_configmap_.yaml"},
	} {
		want := strings.ReplaceAll(test.want, "#", identityHash(test.r.ID().Key(), 0))
		if got := fileNames(t, test.r)[0]; got != want {
			t.Errorf("%.40q: %q, want %q", test.r.ID().Name, got, want)
		}
	}
}

func TestFileNamesClash(t *testing.T) {
	rs := []*krm.Resource{
		object("rbac.authorization.k8s.io/v1", "ClusterRole", "", "Foo", ""),
		object("rbac.authorization.k8s.io/v1", "ClusterRole", "", "foo", ""),
		object("rbac.authorization.k8s.io/v1", "ClusterRole", "", "bar", ""),
		configMap("k", ""), configMap("\u212a", ""), // the Kelvin sign is an upper-case k
		configMap("", ""), configMap("", ""), // the same identity
	}
	names := fileNames(t, rs...)
	if names[2] != "rbac.authorization.k8s.io_v1_clusterrole_bar.yaml" {
		t.Errorf("a unique name became %q", names[2])
	}
	wantDistinct(t, names)
	// The name depends on the identity, not on the order.
	slices.Reverse(rs)
	again := fileNames(t, rs...)
	slices.Reverse(again)
	if !slices.Equal(names[:5], again[:5]) {
		t.Errorf("in another order %q, was %q", again, names)
	}
}

func wantDistinct(t *testing.T, names []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, name := range names {
		if folded := strings.ToLower(strings.ToUpper(name)); seen[folded] {
			t.Errorf("%q twice", name)
		} else {
			seen[folded] = true
		}
	}
}

// TestFileNamesProperty draws names from a small adversarial alphabet.
func TestFileNamesProperty(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "A", "b", "/", ".", "..", "\x00", "_", "-", "%2F", "con", "ſ", "s", "\n", "\x1b", "\xff", "é",
		"É", strings.Repeat("x", 120), strings.Repeat("é", 60)}
	text := func(n int) string {
		var b strings.Builder
		for range rng.IntN(n) {
			b.WriteString(parts[rng.IntN(len(parts))])
		}
		return b.String()
	}
	for range 300 {
		l := krm.NewList()
		for range rng.IntN(60) {
			group := ""
			if rng.IntN(3) == 0 {
				group = text(3) + "/"
			}
			l.Append(object(group+"v1", "K"+text(2), text(2), text(4), ""))
		}
		names, err := Of(l)
		if err != nil {
			t.Fatal(err)
		}
		wantDistinct(t, names)
		count := map[string]int{}
		prefix := spansNamespaces(l)
		for _, r := range l.All() {
			count[FoldCase(escape(kustomizeName(r.ID(), prefix)))]++
		}
		for i, name := range names {
			if !Valid(name) || filepath.Base(name) != name || len(name) > 255 || !utf8.ValidString(name) ||
				!strings.HasSuffix(name, ".yaml") {
				t.Fatalf("unsafe name %q", name)
			}
			plain := kustomizeName(l.At(i).ID(), prefix)
			safe := len(plain) <= 255 && !strings.ContainsAny(plain, "/\x00") && plain[0] != '.' && !reservedOnWindows(plain)
			if safe && count[FoldCase(plain)] == 1 && name != plain {
				t.Fatalf("%q became %q", plain, name)
			}
		}
	}
}

func BenchmarkFileNames(b *testing.B) {
	l := krm.NewList()
	for i := range 1000 {
		l.Append(object("apps/v1", "Deployment", fmt.Sprint("ns", i%7), fmt.Sprint("name-", i), ""))
	}
	for b.Loop() {
		Of(l)
	}
}
