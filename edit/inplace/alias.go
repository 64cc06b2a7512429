package inplace

import (
	"strings"

	yaml3 "go.yaml.in/yaml/v3"
)

// expandAliases replaces the aliases in all fields but the given one with their values, so that
// the field can change alone. It returns nil if there are none.
func (d *Document) expandAliases(field string) *Document {
	if d.root == nil || d.root.Kind != yaml3.MappingNode {
		return nil
	}
	c := d.change()
	for i := 0; i+1 < len(d.root.Content); i += 2 {
		if d.root.Content[i].Value != field {
			c.expand(d.root.Content[i+1])
		}
	}
	if len(c.splices) == 0 {
		return nil
	}
	next, err := d.parse(c.apply())
	if err != nil || !next.value.Equal(d.value) {
		return nil
	}
	return next
}

func (c *change) expand(n *yaml3.Node) {
	if n.Kind == yaml3.AliasNode {
		c.splice(c.start(n), c.end(n), c.written(n))
	}
	for _, child := range n.Content {
		c.expand(child)
	}
}

// written returns a node on one line, without anchors and aliases. Scalars on one line keep
// their text.
func (c *change) written(n *yaml3.Node) string {
	var parts []string
	switch n.Kind {
	case yaml3.AliasNode:
		return c.written(n.Alias)
	case yaml3.SequenceNode:
		for _, item := range n.Content {
			parts = append(parts, c.written(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case yaml3.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			parts = append(parts, c.written(n.Content[i])+": "+c.written(n.Content[i+1]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	at := c.content(n)
	end := c.scalarEnd(n, at)
	if n.Style&(yaml3.LiteralStyle|yaml3.FoldedStyle) != 0 || strings.ContainsAny(string(c.data[at:end]), "\r\n") ||
		n.Style == 0 && strings.ContainsAny(n.Value, ",[]{}") {
		return doubleQuoted(n.Value)
	}
	return string(c.data[at:end])
}

// overrides reports whether a merge key (<<) in n provides a key that precedes it in the same
// mapping.
func overrides(n *yaml3.Node) bool {
	above := map[string]bool{}
	for i, child := range n.Content {
		if overrides(child) {
			return true
		}
		if n.Kind != yaml3.MappingNode || i%2 == 1 {
			continue
		}
		above[child.Value] = true
		if child.Tag == "!!merge" && merges(n.Content[i+1], above) {
			return true
		}
	}
	return false
}

// merges reports whether the value of a merge key contains one of the keys.
func merges(n *yaml3.Node, keys map[string]bool) bool {
	if n.Kind == yaml3.AliasNode {
		n = n.Alias
	}
	for i, child := range n.Content {
		if n.Kind == yaml3.SequenceNode && merges(child, keys) || n.Kind == yaml3.MappingNode && i%2 == 0 && keys[child.Value] {
			return true
		}
	}
	return false
}
