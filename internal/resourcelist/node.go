package resourcelist

import (
	"strings"

	yaml3 "go.yaml.in/yaml/v3"
)

// String returns a node for a text.
func String(s string) *yaml3.Node {
	return &yaml3.Node{Kind: yaml3.ScalarNode, Tag: "!!str", Value: s}
}

// Map returns a mapping of keys, which are texts, and nodes.
func Map(pairs ...any) *yaml3.Node {
	n := &yaml3.Node{Kind: yaml3.MappingNode, Tag: "!!map"}
	for i := 0; i < len(pairs); i += 2 {
		n.Content = append(n.Content, String(pairs[i].(string)), pairs[i+1].(*yaml3.Node))
	}
	return n
}

// Field returns the value of a field of a mapping, with what an alias stands for in its place; nil if there is none.
func Field(n *yaml3.Node, path ...string) *yaml3.Node {
	for _, key := range path {
		n = field(n, key)
	}
	return n
}

func field(n *yaml3.Node, key string) *yaml3.Node {
	if n = mapping(n); n == nil {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return resolved(n.Content[i+1])
		}
	}
	return nil
}

// Text returns the text of a scalar field, "" if there is none.
func Text(n *yaml3.Node, path ...string) string {
	if v := Field(n, path...); v != nil && v.Kind == yaml3.ScalarNode && !isNull(v) {
		return v.Value
	}
	return ""
}

// Annotation returns the annotation of a resource, "" if it has none.
func Annotation(n *yaml3.Node, key string) string { return Text(n, "metadata", "annotations", key) }

// SetAnnotation gives a resource an annotation.
func SetAnnotation(n *yaml3.Node, key, value string) {
	text := String(value)
	text.Style = yaml3.SingleQuotedStyle
	set(child(child(n, "metadata"), "annotations"), key, text)
}

// RemoveAnnotations takes annotations from a resource, and the field for them if nothing is left of it.
func RemoveAnnotations(n *yaml3.Node, keys ...string) {
	meta := mapping(Field(n, "metadata"))
	list := mapping(Field(meta, "annotations"))
	if list == nil {
		return
	}
	before := len(list.Content)
	for _, key := range keys {
		remove(list, key)
	}
	if len(list.Content) == 0 && before > 0 {
		remove(meta, "annotations")
	}
}

// remove takes a field from a mapping. The comments above and below it stay with what comes next.
func remove(n *yaml3.Node, key string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; k.Value == key {
			if i+2 < len(n.Content) {
				n.Content[i+2].HeadComment = joined(k.HeadComment, n.Content[i+2].HeadComment)
			} else if i > 0 {
				last := n.Content[i-2]
				last.FootComment = joined(last.FootComment, joined(k.HeadComment, k.FootComment))
			}
			n.Content = append(n.Content[:i], n.Content[i+2:]...)
			return
		}
	}
}

// child returns the mapping in a field, which is made if it is not there.
func child(n *yaml3.Node, key string) *yaml3.Node {
	if m := mapping(field(n, key)); m != nil {
		return m
	}
	m := Map()
	set(n, key, m)
	return m
}

func set(n *yaml3.Node, key string, v *yaml3.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content[i+1] = v
			return
		}
	}
	if len(n.Content) == 0 {
		n.Style &^= yaml3.FlowStyle
	} else if last := n.Content[len(n.Content)-2]; last.FootComment != "" { // it is below the mapping, and stays there
		defer func(foot string) { n.Content[len(n.Content)-2].FootComment = foot }(last.FootComment)
		last.FootComment = ""
	}
	n.Content = append(n.Content, String(key), v)
}

func mapping(n *yaml3.Node) *yaml3.Node {
	if n = resolved(n); n == nil || n.Kind != yaml3.MappingNode {
		return nil
	}
	return n
}

// resolved returns what an alias stands for, and every other node itself.
func resolved(n *yaml3.Node) *yaml3.Node {
	for n != nil && n.Kind == yaml3.AliasNode {
		n = n.Alias
	}
	return n
}

func isNull(n *yaml3.Node) bool { return n.Kind == yaml3.ScalarNode && n.ShortTag() == "!!null" }

// Wide reports whether the items of a list in a resource are indented, by the first list in it.
func Wide(n *yaml3.Node) bool {
	wide, _ := indented(n)
	return wide
}

func indented(n *yaml3.Node) (wide, known bool) {
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml3.MappingNode && n.Style&yaml3.FlowStyle == 0; i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if v.Kind == yaml3.SequenceNode && v.Style&yaml3.FlowStyle == 0 && len(v.Content) > 0 {
			return v.Column > k.Column, true
		}
		if wide, known := indented(v); known {
			return wide, true
		}
	}
	return false, false
}

// FileName returns the name that a resource's file gets by a pattern: %n stands for the name, %k for the kind and %s for the namespace, in lower
// case. What would be more than one part of a path is replaced.
func FileName(pattern string, n *yaml3.Node) string {
	part := func(s string) string {
		s = strings.Map(func(r rune) rune {
			if r < ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
				return '-'
			}
			return r
		}, strings.ToLower(s))
		if s == ".." || s == "." {
			return "-"
		}
		return s
	}
	return strings.NewReplacer("%n", part(Text(n, "metadata", "name")), "%k", part(Text(n, "kind")), "%s", part(Text(n, "metadata", "namespace"))).Replace(pattern)
}
