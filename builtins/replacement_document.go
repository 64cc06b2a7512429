package builtins

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/krmflow/krmflow/krm"
	"go.yaml.in/yaml/v3"
)

// editDocument returns text, a YAML or JSON document, with the value in the fields at path. The rest of a YAML document
// keeps its style and comments; JSON is written anew. ok is false if there is no such field.
func (c *copier) editDocument(text string, path []pathPart) (edited string, ok bool) {
	doc, err := parseDocument(text)
	if err != nil {
		return "", false
	}
	e := editor[*yaml.Node]{tree: nodeTree{c}, create: c.create()}
	_, n, err := e.edit(doc.Content[0], path)
	if err != nil || n == 0 {
		return "", false
	}
	edited, err = printNode(doc)
	if err != nil {
		return "", false
	}
	if first := strings.TrimSpace(text)[0]; first == '{' || first == '[' {
		edited, err = asJSON(edited, strings.Contains(text, "\n") && strings.Contains(text, "  "))
		return edited, err == nil
	}
	return strings.TrimSpace(edited), true
}

// countIn returns the number of fields that path leads to in the document in text.
func (c *copier) countIn(text string, path []pathPart) (int, error) {
	doc, err := parseDocument(text)
	if err != nil {
		return 0, err
	}
	e := editor[*yaml.Node]{tree: nodeTree{c}, create: c.create()}
	_, n, err := e.edit(doc.Content[0], path)
	return n, err
}

func parseDocument(text string) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, errors.New("the text on the way is no YAML")
	}
	if len(doc.Content) == 0 {
		return nil, errors.New("the text on the way is empty")
	}
	return &doc, nil
}

// asJSON converts a YAML document.
func asJSON(text string, indent bool) (string, error) {
	var data any
	if err := yaml.Unmarshal([]byte(text), &data); err != nil {
		return "", err
	}
	out, err := json.Marshal(data)
	if indent && err == nil {
		out, err = json.MarshalIndent(data, "", "  ")
	}
	return string(out), err
}

// printNode returns n in the form that kustomize's files have.
func printNode(n *yaml.Node) (string, error) {
	var buf bytes.Buffer
	e := yaml.NewEncoder(&buf)
	e.SetIndent(2)
	e.CompactSeqIndent()
	if err := e.Encode(n); err != nil {
		return "", err
	}
	err := e.Close()
	return buf.String(), err
}

// yamlForm returns v as YAML: what patterns in field paths are matched with.
func yamlForm(v krm.Value) string {
	text, err := printNode(valueNode(v))
	if err != nil {
		return v.Text()
	}
	return strings.TrimSpace(text)
}

// valueNode converts v.
func valueNode(v krm.Value) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: v.SourceText()}
	switch v.Type() {
	case krm.Map:
		n.Kind = yaml.MappingNode
		for _, f := range v.Fields() {
			n.Content = append(n.Content, valueNode(krm.Str(f.Key)), valueNode(f.Value))
		}
	case krm.Seq:
		n.Kind = yaml.SequenceNode
		for _, item := range v.Items() {
			n.Content = append(n.Content, valueNode(item))
		}
	case krm.String:
		n.Tag = "!!str"
		if v.Quoted() && !strings.Contains(n.Value, "\n") {
			n.Style = yaml.DoubleQuotedStyle
		}
	}
	return n
}

// nodeTree edits the nodes of a document in their place.
type nodeTree struct{ *copier }

func (nodeTree) typ(n *yaml.Node) krm.Type {
	switch {
	case n.Kind == yaml.MappingNode:
		return krm.Map
	case n.Kind == yaml.SequenceNode:
		return krm.Seq
	case n.Kind != yaml.ScalarNode:
		return krm.None
	case n.Tag == "!!null":
		return krm.Null
	}
	return krm.String
}

func (nodeTree) field(n *yaml.Node, key string) (*yaml.Node, bool) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1], true
		}
	}
	return nil, false
}

func (nodeTree) items(n *yaml.Node) []*yaml.Node { return n.Content }

func (t nodeTree) withField(n *yaml.Node, key string, x *yaml.Node) *yaml.Node {
	if _, ok := t.field(n, key); !ok {
		n.Content = append(n.Content, t.plain(key), x)
	}
	return n
}

func (nodeTree) withItems(n *yaml.Node, items []*yaml.Node) *yaml.Node {
	n.Content = items
	return n
}

func (t nodeTree) empty(typ krm.Type) *yaml.Node {
	switch typ {
	case krm.Map:
		return &yaml.Node{Kind: yaml.MappingNode}
	case krm.Seq:
		return &yaml.Node{Kind: yaml.SequenceNode}
	}
	return t.fresh("")
}

// A node without a tag has no type but that of its text.
func (t nodeTree) fresh(text string) *yaml.Node { return t.plain(text) }

func (nodeTree) plain(text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: text} }

func (nodeTree) matches(part *pathPart, n *yaml.Node) bool {
	text, err := printNode(n)
	if err != nil {
		return false
	}
	text = strings.TrimSpace(text)
	if part.re == nil {
		return strings.Contains(text, part.value)
	}
	return part.re.MatchString(text)
}

func (t nodeTree) within(n *yaml.Node, path []pathPart) (int, error) { return t.countIn(n.Value, path) }

func (t nodeTree) set(n *yaml.Node) (*yaml.Node, error) {
	switch {
	case n.Kind == yaml.ScalarNode:
		n.Value = t.text(n.Value)
	case t.opts.Delimiter != "":
		return n, errDelimiter
	case t.value.untyped:
		*n = *t.plain(t.value.Text())
	default:
		*n = *valueNode(t.value.Value)
	}
	return n, nil
}
