package builtins

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm"
	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/yaml"
)

// docs parses YAML documents into resources.
func docs(t testing.TB, text string) []*krm.Resource {
	t.Helper()
	var rs []*krm.Resource
	for doc := range strings.SplitSeq(strings.TrimPrefix(text, "---\n"), "\n---\n") {
		var node yaml.Node
		if err := yaml.Unmarshal([]byte(doc), &node); err != nil {
			t.Fatal(err)
		}
		if len(node.Content) > 0 {
			rs = append(rs, krm.NewResource(nodeValue(node.Content[0]), nil))
		}
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

func nodeValue(n *yaml.Node) krm.Value {
	switch n.Kind {
	case yaml.MappingNode:
		var fields []krm.Field
		for i := 0; i < len(n.Content); i += 2 {
			fields = append(fields, krm.Field{Key: n.Content[i].Value, Value: nodeValue(n.Content[i+1])})
		}
		return krm.MapOf(fields...)
	case yaml.SequenceNode:
		var items []krm.Value
		for _, c := range n.Content {
			items = append(items, nodeValue(c))
		}
		return krm.SeqOf(items...)
	case yaml.AliasNode:
		return nodeValue(n.Alias)
	}
	switch n.ShortTag() {
	case "!!null":
		return krm.NullValue
	case "!!bool":
		return krm.BoolValue(n.Value == "true")
	case "!!int":
		return krm.Number(krm.Int, n.Value)
	case "!!float":
		return krm.Number(krm.Float, n.Value)
	}
	return krm.Str(n.Value)
}

// render prints resources as kustomize does.
func render(t testing.TB, rs ...*krm.Resource) string {
	t.Helper()
	var b strings.Builder
	for i, r := range rs {
		if i > 0 {
			b.WriteString("---\n")
		}
		text, err := kyaml.Marshal(goValue(r.Value()))
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	return b.String()
}

func renderList(t testing.TB, list *krm.List) string {
	t.Helper()
	var rs []*krm.Resource
	for _, r := range list.All() {
		rs = append(rs, r)
	}
	return render(t, rs...)
}

func goValue(v krm.Value) any {
	switch v.Type() {
	case krm.Map:
		m := map[string]any{}
		for _, f := range v.Fields() {
			m[f.Key] = goValue(f.Value)
		}
		return m
	case krm.Seq:
		s := []any{}
		for _, x := range v.Items() {
			s = append(s, goValue(x))
		}
		return s
	case krm.Bool:
		return v.Text() == "true"
	case krm.Int, krm.Float:
		return json.Number(v.Text())
	case krm.String:
		return v.Text()
	}
	return nil
}

func noWarn(format string, args ...any) {}
