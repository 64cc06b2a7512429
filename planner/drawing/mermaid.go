package drawing

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// What GitHub and others draw of Mermaid without settings of their own.
const (
	mermaidEdges = 500
	mermaidText  = 50000
)

// WriteMermaid writes the drawing as a flowchart. One that is larger than what is drawn without settings is an error.
func (d *Drawing) WriteMermaid(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString("flowchart LR\n")
	fmt.Fprintf(&b, "  %%%% %s\n", strings.NewReplacer("{", "(", "}", ")").Replace(d.title))
	used := map[string]bool{}
	class := func(k class, root bool) string {
		name := strings.ToLower(looks[k].name)
		if root {
			name += "Root"
		}
		if !used[name] {
			used[name] = true
			width := 1
			if root {
				width = 3
			}
			dash := ""
			if looks[k].border != "" {
				dash = ",stroke-dasharray:" + looks[k].border
			}
			fmt.Fprintf(&b, "  classDef %s fill:%s,stroke:%s,stroke-width:%dpx,color:#000000%s\n", name, looks[k].fill, looks[k].stroke, width, dash)
		}
		return name
	}
	for i, x := range d.boxes {
		name := class(x.kind, x.root)
		fmt.Fprintf(&b, "  n%d[\"%s\"]:::%s\n", i, textMermaid(x), name)
	}
	edges := d.edges
	for _, e := range edges {
		label := ""
		if l := strings.Join(e.ways, ", "); l != "" && l != asResource {
			label = `|"` + escapeMermaid(l) + `"|`
		}
		fmt.Fprintf(&b, "  n%d %s%s n%d\n", e.from, e.stroke().mermaid, label, e.to)
	}
	if d.legend {
		d.legendMermaid(&b)
	}
	if len(edges) > mermaidEdges || b.Len() > mermaidText {
		e := diag.Errorf(diag.Pos{}, "", "the drawing has %s and %s: Mermaid draws no more than %s and %s", diag.Count(len(edges), "edge"), diag.Count(b.Len(), "byte"),
			diag.Count(mermaidEdges, "edge"), diag.Count(mermaidText, "byte"))
		return e.Hint("draw less with --root, --to or --from, or all of it with -o svg")
	}
	_, err := b.WriteTo(w)
	return err
}

func textMermaid(x box) string {
	var lines []string
	for _, t := range x.title {
		lines = append(lines, escapeMermaid(t))
	}
	if x.note != "" {
		lines = append(lines, "("+escapeMermaid(x.note)+")")
	}
	for _, l := range x.lines {
		lines = append(lines, escapeMermaid(l.text))
	}
	return strings.Join(lines, "<br/>")
}

func (d *Drawing) legendMermaid(b *bytes.Buffer) {
	var lines []string
	for _, k := range d.keys() {
		switch {
		case k.stroke.name != "":
			lines = append(lines, escapeMermaid(k.stroke.dot+" line: "+k.text))
		case k.class >= loads:
			continue // it has no marks for lines
		default:
			lines = append(lines, escapeMermaid(k.text))
		}
	}
	fmt.Fprintf(b, "  legend[\"%s\"]\n", strings.Join(lines, "<br/>"))
}

// escapeMermaid returns clean text as it stands in a quoted label. Every mark that Mermaid, its Markdown or HTML may take for something
// else is written by its number.
func escapeMermaid(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune("\"#;:&<>`\\[]{}|*_~%", r) {
			fmt.Fprintf(&b, "#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
