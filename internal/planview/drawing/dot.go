package drawing

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteDOT writes the drawing in the DOT language. The nodes are named n0, n1, … and all text is
// escaped. The class attribute of a box lists the verbs of its steps.
func (d *Drawing) WriteDOT(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b,
		"digraph krmflow {\n  graph [rankdir=LR, ranksep=0.6, nodesep=0.2, pack=24, packmode=\"node\", fontname=\"sans-serif\", fontsize=11, labelloc=t, label=%s];\n", quoteDOT(d.title))
	b.WriteString("  node [shape=box, style=filled, fontname=\"sans-serif\", fontsize=10, margin=\"0.08,0.05\"];\n")
	b.WriteString("  edge [color=\"#666666\", fontname=\"sans-serif\", fontsize=9, arrowsize=0.7];\n")
	for i, x := range d.boxes {
		fmt.Fprintf(b, "  n%d [%s, label=<%s>, tooltip=%s];\n", i, boxStyle(x), tableDOT(x), quoteDOT(x.tip))
	}
	for _, e := range d.edges {
		fmt.Fprintf(b, "  n%d -> n%d", e.from, e.to)
		attrs := []string{"tooltip=" + quoteDOT(d.edgeTip(e))}
		if l := e.label(); l != "" {
			attrs = append(attrs, "label="+quoteDOT(l))
		}
		if s := e.stroke(); s != solid {
			attrs = append(attrs, "style="+s.dot)
		}
		if e.len > 1 {
			attrs = append(attrs, fmt.Sprintf("minlen=%d", e.len))
		}
		fmt.Fprintf(b, " [%s];\n", strings.Join(attrs, ", "))
	}
	if d.legend {
		d.legendDOT(b)
	}
	b.WriteString("}\n")
	return b.Flush()
}

// edgeTip returns the tooltip of an edge.
func (d *Drawing) edgeTip(e edge) string {
	tip := strings.Join(d.boxes[e.from].title, "") + " → " + strings.Join(d.boxes[e.to].title, "")
	if ways := strings.Join(e.ways, ", "); ways != asInput {
		tip += ": " + ways
	}
	return tip
}

// boxStyle returns the attributes for the border and background of a box.
func boxStyle(x box) string {
	style := "filled"
	if looks[x.kind].border != "" {
		style += ",dashed"
	}
	if x.kind == composition {
		style += ",rounded"
	}
	more := ""
	if x.root {
		more = ", penwidth=2.5"
	}
	if x.many {
		more += ", peripheries=2"
	}
	if len(x.verbs) > 0 {
		more += fmt.Sprintf(", class=%q", strings.Join(x.verbs, " "))
	}
	return fmt.Sprintf("style=%q, fillcolor=%q, color=%q%s", style, looks[x.kind].fill, looks[x.kind].stroke, more)
}

// tableDOT returns the label of a box: its name, its note and one row per line, with a colored
// mark for lines that have a verb.
func tableDOT(x box) string {
	var b strings.Builder
	b.WriteString(`<table border="0" cellborder="0" cellspacing="0" cellpadding="1">`)
	for _, t := range x.title {
		fmt.Fprintf(&b, `<tr><td align="left"><b>%s</b></td></tr>`, escapeXML(t))
	}
	if x.note != "" {
		fmt.Fprintf(&b, `<tr><td align="left"><i>%s</i></td></tr>`, escapeXML(x.note))
	}
	for _, l := range x.lines {
		if l.verb == plain {
			fmt.Fprintf(&b, `<tr><td align="left">%s</td></tr>`, escapeXML(l.text))
			continue
		}
		fmt.Fprintf(&b, `<tr><td align="left">%s%s</td></tr>`, markDOT(l.verb), escapeXML(l.text))
	}
	b.WriteString(`</table>`)
	return b.String()
}

func markDOT(c class) string { return `<font color="` + looks[c].stroke + `">■</font>&#160;` }

func (d *Drawing) legendDOT(b *bufio.Writer) {
	b.WriteString(
		`  legend [shape=plain, style="", label=<<table border="1" color="#999999" cellborder="0" cellspacing="2" cellpadding="2">`)
	for _, k := range d.keys() {
		switch {
		case k.class != plain:
			fmt.Fprintf(b, `<tr><td align="left">%s%s</td></tr>`, markDOT(k.class), escapeXML(k.text))
		case k.stroke.name != "":
			fmt.Fprintf(b, `<tr><td align="left">%s: %s</td></tr>`, escapeXML(k.stroke.dot+" line"), escapeXML(k.text))
		default:
			fmt.Fprintf(b, `<tr><td align="left">%s</td></tr>`, escapeXML(k.text))
		}
	}
	b.WriteString("</table>>];\n")
}

// quoteDOT returns text as a quoted string. Line breaks are the only control characters the text
// may contain.
func quoteDOT(text string) string {
	return `"` + dotText.Replace(text) + `"`
}

var dotText = strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\n", `\n`)

// escapeXML escapes text for XML and for HTML-like labels in DOT. Line breaks are the only
// control characters the text may contain.
func escapeXML(text string) string { return xmlText.Replace(text) }

var xmlText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;", "\n", "&#10;", "\ufffe", "�",
	"\uffff", "�")
