// Follows api/filters/replacement/replacement.go.

package builtins

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
	yamlv3 "go.yaml.in/yaml/v3"
)

// editDocument returns text, which is a YAML or JSON document, with the value copied to the
// fields at path. Outside these fields, a YAML document keeps its style and comments; a JSON
// document is reformatted. ok is false if the document has no field at path.
func (c *copier) editDocument(text string, path []pathPart) (edited string, ok bool) {
	doc, err := parseDocument(text)
	if err != nil {
		return "", false
	}
	e := editor[*yamlv3.Node]{tree: nodeTree{c}, create: c.create()}
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

// countIn returns the number of fields at path in the document text.
func (c *copier) countIn(text string, path []pathPart) (int, error) {
	doc, err := parseDocument(text)
	if err != nil {
		return 0, err
	}
	e := editor[*yamlv3.Node]{tree: nodeTree{c}, create: c.create()}
	_, n, err := e.edit(doc.Content[0], path)
	return n, err
}

func parseDocument(text string) (*yamlv3.Node, error) {
	var doc yamlv3.Node
	if err := yamlv3.Unmarshal([]byte(text), &doc); err != nil {
		return nil, diag.ReplacementTargetField.Errorf("the embedded text is not valid YAML")
	}
	if len(doc.Content) == 0 {
		return nil, diag.ReplacementTargetField.Errorf("the embedded text is empty")
	}
	return &doc, nil
}

// asJSON converts a YAML document to JSON.
func asJSON(text string, indent bool) (string, error) {
	var data any
	if err := yamlv3.Unmarshal([]byte(text), &data); err != nil {
		return "", err
	}
	out, err := json.Marshal(data)
	if indent && err == nil {
		out, err = json.MarshalIndent(data, "", "  ")
	}
	return string(out), err
}

// printNode formats n like the files that kustomize writes.
func printNode(n *yamlv3.Node) (string, error) {
	var buf bytes.Buffer
	e := yamlv3.NewEncoder(&buf)
	e.SetIndent(2)
	e.CompactSeqIndent()
	if err := e.Encode(n); err != nil {
		return "", err
	}
	err := e.Close()
	return buf.String(), err
}

// yamlForm formats v as YAML, for comparison with the patterns in field paths.
func yamlForm(v yaml.Value) string {
	text, err := printNode(valueNode(v))
	if err != nil {
		return v.Text()
	}
	return strings.TrimSpace(text)
}

// valueNode converts v to a node.
func valueNode(v yaml.Value) *yamlv3.Node {
	n := &yamlv3.Node{Kind: yamlv3.ScalarNode, Value: v.SourceText()}
	switch v.Type() {
	case yaml.Map:
		n.Kind = yamlv3.MappingNode
		for _, f := range v.Fields() {
			n.Content = append(n.Content, valueNode(yaml.Str(f.Key)), valueNode(f.Value))
		}
	case yaml.Seq:
		n.Kind = yamlv3.SequenceNode
		for _, item := range v.Items() {
			n.Content = append(n.Content, valueNode(item))
		}
	case yaml.String:
		n.Tag = "!!str"
		if v.Quoted() && !strings.Contains(n.Value, "\n") {
			n.Style = yamlv3.DoubleQuotedStyle
		}
	}
	return n
}

// nodeTree edits the nodes of a document in place.
type nodeTree struct{ *copier }

func (nodeTree) typ(n *yamlv3.Node) yaml.Type {
	switch {
	case n.Kind == yamlv3.MappingNode:
		return yaml.Map
	case n.Kind == yamlv3.SequenceNode:
		return yaml.Seq
	case n.Kind != yamlv3.ScalarNode:
		return yaml.None
	case n.Tag == "!!null":
		return yaml.Null
	}
	return yaml.String
}

func (nodeTree) field(n *yamlv3.Node, key string) (*yamlv3.Node, bool) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1], true
		}
	}
	return nil, false
}

func (nodeTree) items(n *yamlv3.Node) []*yamlv3.Node { return n.Content }

func (t nodeTree) withField(n *yamlv3.Node, key string, x *yamlv3.Node) *yamlv3.Node {
	if _, ok := t.field(n, key); !ok {
		n.Content = append(n.Content, t.plain(key), x)
	}
	return n
}

func (nodeTree) withItems(n *yamlv3.Node, items []*yamlv3.Node) *yamlv3.Node {
	n.Content = items
	return n
}

func (t nodeTree) empty(typ yaml.Type) *yamlv3.Node {
	switch typ {
	case yaml.Map:
		return &yamlv3.Node{Kind: yamlv3.MappingNode}
	case yaml.Seq:
		return &yamlv3.Node{Kind: yamlv3.SequenceNode}
	}
	return t.fresh("")
}

// fresh is the same as plain, because a node without a tag gets its type from its text.
func (t nodeTree) fresh(text string) *yamlv3.Node { return t.plain(text) }

func (nodeTree) plain(text string) *yamlv3.Node {
	return &yamlv3.Node{Kind: yamlv3.ScalarNode, Value: text}
}

func (nodeTree) matches(part *pathPart, n *yamlv3.Node) bool {
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

func (t nodeTree) within(n *yamlv3.Node, path []pathPart) (int, error) {
	return t.countIn(n.Value, path)
}

func (t nodeTree) set(n *yamlv3.Node) (*yamlv3.Node, error) {
	switch {
	case n.Kind == yamlv3.ScalarNode:
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
