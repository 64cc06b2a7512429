package builtins

import (
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// docs parses YAML documents into resources.
func docs(t testing.TB, text string) []*krm.Resource {
	t.Helper()
	rs, err := krm.Resources(&yaml.Source{Data: []byte(text)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

// doc parses one YAML document.
func doc(t testing.TB, text string) *krm.Resource {
	t.Helper()
	rs := docs(t, text)
	if len(rs) != 1 {
		t.Fatalf("got %d documents, want 1", len(rs))
	}
	return rs[0]
}

// render prints resources as a build does.
func render(t testing.TB, rs ...*krm.Resource) string {
	t.Helper()
	return string(krm.NewList(rs...).AppendYAML(nil))
}

func renderList(t testing.TB, list *krm.List) string {
	t.Helper()
	return string(list.AppendYAML(nil))
}

func noWarn(_ diag.Code, format string, args ...any) {}
