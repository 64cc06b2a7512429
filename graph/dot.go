package graph

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// WriteDOT writes g in the DOT language, one cluster per layer. The same graph gives the same bytes. Node names are
// n0, n1, …, so that nothing a tree contains can change the structure of the drawing; all text is in escaped labels. failed
// are roots that have no nodes because something is wrong with them.
func (g *Graph) WriteDOT(w io.Writer, failed ...string) error {
	var b strings.Builder
	b.WriteString("digraph krmflow {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n")
	layers := map[string][]int{}
	var order []string
	for i, n := range g.Nodes {
		if _, ok := layers[n.Layer]; !ok {
			order = append(order, n.Layer)
		}
		layers[n.Layer] = append(layers[n.Layer], i)
	}
	for c, layer := range order {
		fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=%s;\n", c, quoteDOT(layer))
		for _, i := range layers[layer] {
			n := g.Nodes[i]
			label := n.Op.Verb()
			if field := strings.TrimPrefix(strings.TrimPrefix(n.ID, n.Layer), "#"); field != label {
				label += " " + field
			}
			if n.Summary != "" {
				label += "\n" + n.Summary
			}
			fmt.Fprintf(&b, "    n%d [label=%s];\n", i, quoteDOT(label))
		}
		b.WriteString("  }\n")
	}
	for i, n := range g.Nodes {
		for _, in := range n.Inputs {
			fmt.Fprintf(&b, "  n%d -> n%d;\n", in, i)
		}
		for _, id := range n.After {
			fmt.Fprintf(&b, "  n%d -> n%d [style=dashed];\n", id, i)
		}
	}
	for i, r := range g.Roots {
		fmt.Fprintf(&b, "  r%d [label=%s, shape=note];\n  n%d -> r%d;\n", i, quoteDOT(r.Dir), r.Node, i)
	}
	for i, dir := range failed {
		fmt.Fprintf(&b, "  f%d [label=%s, shape=note, color=red];\n", i, quoteDOT(dir+"\nfailed"))
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// quoteDOT returns text as a quoted string. Control characters other than line ends are shown escaped.
func quoteDOT(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"':
			b.WriteString(`\"`)
		case r == '\\':
			b.WriteString(`\\`)
		case r == '\n':
			b.WriteString(`\n`)
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' || r == unicode.ReplacementChar:
			fmt.Fprintf(&b, `\\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
