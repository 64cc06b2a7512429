package main

import (
	"math/rand/v2"
	"strings"
)

// A node is a YAML value to be written. A scalar is the literal text in the file. Text with line
// breaks is a block scalar; all of its lines except the first are indented when they are
// written.
type node struct {
	scalar string
	fields []field // of a mapping
	items  []*node // of a list
	kind   byte    // 's', 'm' or 'l'
}

type field struct {
	key   string
	value *node
}

func text(s string) *node           { return &node{kind: 's', scalar: s} }
func list(items ...*node) *node     { return &node{kind: 'l', items: items} }
func mapping(fields ...field) *node { return &node{kind: 'm', fields: fields} }
func texts(words ...string) *node {
	l := list()
	for _, w := range words {
		l.items = append(l.items, text(w))
	}
	return l
}

// object returns a mapping of alternating keys and values. A value is a node or the text of a
// scalar.
func object(pairs ...any) *node {
	m := mapping()
	for i := 0; i+1 < len(pairs); i += 2 {
		m.set(pairs[i].(string), pairs[i+1])
	}
	return m
}

// set adds a field unless the mapping has it.
func (n *node) set(key string, value any) {
	for _, f := range n.fields {
		if f.key == key {
			return
		}
	}
	v, ok := value.(*node)
	if !ok {
		v = text(value.(string))
	}
	n.fields = append(n.fields, field{key, v})
}

// block returns a block scalar.
func block(header, text string) *node {
	return &node{kind: 's', scalar: header + "\n" + strings.TrimSuffix(text, "\n")}
}

// A writer writes nodes in random styles.
type writer struct {
	*rand.Rand
	b    strings.Builder
	flow float64 // probability of flow style
}

func (r *random) yaml(n *node) string {
	w := writer{Rand: r.Rand, flow: 0.05}
	if r.chance(0.3) {
		w.flow = 0.3
	}
	if n.kind == 's' {
		return n.scalar + "\n"
	}
	w.nested(n, 0)
	return w.b.String()
}

// nested writes a mapping or list in block style, or in flow style if it is empty.
func (w *writer) nested(n *node, indent int) {
	if len(n.fields)+len(n.items) == 0 {
		w.b.WriteString(w.inline(n) + "\n")
		return
	}
	for i, f := range n.fields {
		if i > 0 {
			w.indent(indent)
		}
		w.b.WriteString(f.key + ":")
		w.value(f.value, indent, f.value.kind == 'l' && w.IntN(2) == 0)
	}
	for i, item := range n.items {
		if i > 0 {
			w.indent(indent)
		}
		w.b.WriteString("-")
		if (item.kind != 's') && !w.inFlow(item) {
			w.b.WriteString(" ")
			w.nested(item, indent+2)
			continue
		}
		w.value(item, indent, false)
	}
}

// value writes the value after a key or dash at column indent. If left is set, a list is not
// indented relative to its key.
func (w *writer) value(n *node, indent int, left bool) {
	switch {
	case n.kind == 's' && n.scalar == "":
		w.b.WriteString("\n")
	case n.kind == 's':
		pad := strings.Repeat(" ", indent+2)
		lines := strings.Split(n.scalar, "\n")
		w.b.WriteString(" " + lines[0] + "\n")
		for _, line := range lines[1:] {
			if line != "" {
				line = pad + line
			}
			w.b.WriteString(line + "\n")
		}
	case w.inFlow(n):
		w.b.WriteString(" " + w.inline(n) + "\n")
	default:
		if !left {
			indent += 2
		}
		w.b.WriteString("\n")
		w.indent(indent)
		w.nested(n, indent)
	}
}

func (w *writer) inFlow(n *node) bool {
	return len(n.fields)+len(n.items) == 0 || !n.hasBlock() && w.Float64() < w.flow
}

// hasBlock reports whether n contains a value that flow style cannot represent.
func (n *node) hasBlock() bool {
	if strings.Contains(n.scalar, "\n") {
		return true
	}
	for _, f := range n.fields {
		if f.value.hasBlock() {
			return true
		}
	}
	for _, item := range n.items {
		if item.hasBlock() || item.kind == 's' && item.scalar == "" {
			return true
		}
	}
	return false
}

func (w *writer) inline(n *node) string {
	var parts []string
	switch n.kind {
	case 'm':
		for _, f := range n.fields {
			parts = append(parts, strings.TrimSuffix(f.key+": "+w.inline(f.value), " "))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case 'l':
		for _, item := range n.items {
			parts = append(parts, w.inline(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return n.scalar
}

func (w *writer) indent(n int) { w.b.WriteString(strings.Repeat(" ", n)) }
