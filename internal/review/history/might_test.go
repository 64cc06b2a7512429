package history

import (
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm/yaml"
)

func field(t *testing.T, text string) Field {
	t.Helper()
	f, err := ParseField(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// An operation of a JSON patch sets a field if it sets the field itself, a part of it, or a parent
// of it.
func TestPatchPathsMatchFields(t *testing.T) {
	const value = `{op: add, path: /spec/template, value: {spec: {containers: [{name: web, image: x}]}}}`
	for _, c := range []struct {
		op, field string
		want      bool
	}{
		{"{path: /spec/replicas}", "spec.replicas", true},
		{"{path: /spec/replicas}", "spec.replica", false},
		{"{path: /spec/replica}", "spec.replicas", false},
		{"{path: /spec/replicas}", "spec", true},
		{"{path: /spec}", "spec.replicas", false},
		{"{path: /metadata/labels/a.b~1c}", "metadata.labels.a.b/c", true},
		{"{path: /metadata/labels/a.b~1c}", `metadata.labels["a.b/c"]`, true},
		{"{path: /spec/containers/0/image}", "spec.containers[name=web].image", true},
		{"{path: /spec/containers/0/image}", "spec.containers[3].image", true},
		{"{path: /spec/containers/-}", "spec.containers[3]", true},
		{"{path: /spec/containers/name}", "spec.containers[3]", false},
		{value, "spec.template.spec.containers[name=web].image", true},
		{value, "spec.template.spec.containers[name=web].args", false},
		{value, "spec.template.spec.volumes", false},
		{"{path: ''}", "spec", false},
		{"{}", "spec", false},
	} {
		op, err := (&yaml.Source{Data: []byte(c.op)}).Value()
		if err != nil {
			t.Fatal(err)
		}
		if got := field(t, c.field).pointed(op); got != c.want {
			t.Errorf("%s sets %s: %t", c.op, c.field, got)
		}
	}
}

// Field paths are read in the same syntax as in replacements.
func TestLikeComparesFieldSpellings(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"spec.containers[name=web].image", "spec.containers.[name=web].image", true},
		{"spec.containers[0].image", "spec.containers.*.image", true},
		{"spec.containers[name=web].image", "spec.containers.0.image", true},
		{"/spec/containers/0/image", "spec.containers.0.image", true},
		{"metadata.annotations.a", "metadata.annotations.b", false},
		{"spec.containers[0]", "spec.containers.0.image", false},
		{"spec", "spec.[", false},
	} {
		if got := field(t, c.a).like(c.b); got != c.want {
			t.Errorf("%s is like %s: %t", c.a, c.b, got)
		}
	}
}

// Every text is a valid field that can be read again from its printed form, or an error. Nothing
// panics.
func FuzzParseField(f *testing.F) {
	for _, text := range []string{"a.b[0].c", "/a/~1/0", `a["b"]`, "a.[x=y]", "a[*].b", ".", "[", `"`, "a..b", ".[", "[=]"} {
		f.Add(text)
	}
	v, err := (&yaml.Source{Data: []byte("a: {b: [{c: 1, x: y}], '': 2}")}).Value()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		field, err := ParseField(text)
		if err != nil {
			return
		}
		paths, _ := field.All(v)
		for _, path := range paths {
			if !At(v, path).Exists() {
				t.Errorf("%q leads to %v, where nothing is", text, path)
			}
		}
		if path, ok := field.In(v); ok && !At(v, path).Exists() {
			t.Errorf("%q leads to %v, where nothing is", text, path)
		}
		field.like(text)
		field.pointed(v)
	})
}

func TestLongField(t *testing.T) {
	if _, err := ParseField(strings.Repeat("a.", maxField)); err == nil {
		t.Error("a field without end is read")
	}
}
