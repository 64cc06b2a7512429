package convert

import (
	"cmp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// text returns a string node.
func text(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	return n
}

// mapping returns a mapping of alternating keys and nodes. Nil nodes are omitted.
func mapping(fields ...any) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := 0; i < len(fields); i += 2 {
		if v := fields[i+1].(*yaml.Node); v != nil {
			m.Content = append(m.Content, text(fields[i].(string)), v)
		}
	}
	return m
}

// inline returns a one-line mapping with the comments of its values at the end.
func inline(fields ...any) *yaml.Node {
	m := mapping(fields...)
	m.Style = yaml.FlowStyle
	for _, v := range m.Content {
		m.LineComment, v.LineComment = cmp.Or(m.LineComment, v.LineComment), ""
	}
	return m
}

func list(items ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: items}
}

// isEmpty reports whether a field with this value has no effect.
func isEmpty(n *yaml.Node) bool {
	switch {
	case n == nil:
		return true
	case n.Kind == yaml.ScalarNode:
		return n.ShortTag() == "!!null" || n.Value == ""
	}
	return len(n.Content) == 0
}

// isTrue reports whether n is the boolean true.
func isTrue(n *yaml.Node) bool {
	var on bool
	return n != nil && n.Decode(&on) == nil && on
}

// get returns a field of a mapping, or nil. Names are compared case-insensitively; an exact
// match takes precedence.
func get(m *yaml.Node, key string) *yaml.Node {
	if m == nil || m.Kind != yaml.MappingNode {
		return nil
	}
	var found *yaml.Node
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
		if strings.EqualFold(m.Content[i].Value, key) {
			found = m.Content[i+1]
		}
	}
	return found
}

// getText returns a scalar field of a mapping, or "".
func getText(m *yaml.Node, key string) string {
	if n := get(m, key); n != nil && n.Kind == yaml.ScalarNode && !isEmpty(n) {
		return n.Value
	}
	return ""
}

// put sets a field of a mapping, or removes it if v is nil.
func put(m *yaml.Node, key string, v *yaml.Node) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if strings.EqualFold(m.Content[i].Value, key) {
			m.Content = append(m.Content[:i:i], m.Content[i+2:]...)
			break
		}
	}
	if v != nil {
		m.Content = append(m.Content, text(key), v)
	}
}

// without returns a copy of a mapping without the given fields.
func without(m *yaml.Node, keys ...string) *yaml.Node {
	rest := *m
	rest.Content = append([]*yaml.Node(nil), m.Content...)
	for _, key := range keys {
		put(&rest, key, nil)
	}
	return &rest
}

// expanded returns a copy of n with aliases and merge keys expanded: parts of it move to places
// that their anchors do not cover.
func expanded(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	c := *n
	c.Anchor, c.Content = "", nil
	if c.ShortTag() == "!!timestamp" { // text fields read it verbatim, but documents as a time
		c.SetString(c.Value)
		c.Style = yaml.DoubleQuotedStyle
	}
	var merged []*yaml.Node
	for i := 0; i < len(n.Content); i++ {
		if n.Kind == yaml.MappingNode && i%2 == 0 && n.Content[i].ShortTag() == "!!merge" {
			merged = append(merged, expanded(n.Content[i+1]))
			i++
			continue
		}
		c.Content = append(c.Content, expanded(n.Content[i]))
	}
	for _, m := range merged {
		merge(&c, m)
	}
	return &c
}

// merge adds the fields of from, a mapping or a list of mappings, that m does not have.
func merge(m, from *yaml.Node) {
	if from.Kind == yaml.SequenceNode {
		for _, one := range from.Content {
			merge(m, one)
		}
		return
	}
	for i := 0; i+1 < len(from.Content); i += 2 {
		known := false
		for j := 0; j+1 < len(m.Content); j += 2 {
			known = known || m.Content[j].Value == from.Content[i].Value
		}
		if !known {
			m.Content = append(m.Content, from.Content[i], from.Content[i+1])
		}
	}
}

// lines joins comments with line feeds and skips empty ones.
func lines(comments ...string) string {
	var list []string
	for _, c := range comments {
		if c != "" {
			list = append(list, c)
		}
	}
	return strings.Join(list, "\n")
}
