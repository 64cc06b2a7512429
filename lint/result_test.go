package lint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/lint"
)

// listOf returns the objects in text.
func listOf(t *testing.T, text string) *krm.List {
	t.Helper()
	rs, err := krm.Resources(&yaml.Source{File: "f.yaml", Data: []byte(text)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return krm.NewList(rs...)
}

// results returns the findings about list, one on each line.
func results(list *krm.List) string {
	var b strings.Builder
	named := func(name string, _ int32) (found []int32) {
		for i, r := range list.All() {
			if slices.ContainsFunc(r.Prev, func(p krm.ID) bool { return p.Name == name }) {
				found = append(found, int32(i))
			}
		}
		return found
	}
	lint.Result(list, named, func(code diag.Code, format string, args ...any) {
		fmt.Fprintf(&b, "%s %v\n", code, fmt.Errorf(format, args...))
	})
	return b.String()
}

func TestSizes(t *testing.T) {
	big := strings.Repeat("x", 1<<18)
	for _, test := range []struct{ name, text, want string }{
		{"annotation", "kind: A\nmetadata: {name: a, annotations: {b: " + big + "}}\n",
			"KF0235 f.yaml:2: metadata.annotations: the annotations of A a have 262,145 bytes; an API server accepts 256 KiB\n"},
		{"ConfigMap", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: " + big + big + big + big + "x\n",
			"KF0235 f.yaml:4: data: the data of v1 ConfigMap a has 1,048,577 bytes; an API server accepts 1 MiB\n"},
		{"Secret", "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata:\n  a: " + big + big + big + big + "xxxx\n", ""},
		{"binary data", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nbinaryData:\n  a: " + big + big + big + big + "xxxx\n", ""},
		{"other kind", "kind: A\nmetadata: {name: a}\ndata:\n  a: " + big + big + big + big + "x\n", ""},
	} {
		got := strings.Split(results(listOf(t, test.text)), "\n  ")[0]
		if test.want == "" && got != "" || !strings.HasPrefix(got, strings.TrimSuffix(test.want, "\n")) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// Findings about many objects end, and take a time that grows with the number of objects only.
func TestManyFindings(t *testing.T) {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: Service\nmetadata: {name: web}\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "---\napiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t%d}\nspec: {serviceName: web}\n", i)
	}
	list := listOf(t, b.String())
	list.Change(0, func(r *krm.Resource) { r.PushID(); r.SetName("p-web") })
	if n := strings.Count(results(list), "KF0220"); n != 101 {
		t.Errorf("%d findings, want 100 and one that tells the limit", n)
	}
}
