package drawing

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/krmflow/krmflow/diag"
)

// The limits of Mermaid's default configuration, which GitHub uses.
const (
	mermaidEdges = 500
	mermaidText  = 50000
)

// WriteMermaid writes the drawing as a Mermaid flowchart. It returns an error, and writes
// nothing, if the drawing exceeds Mermaid's default limits.
func (d *Drawing) WriteMermaid(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "flowchart LR\n  %%%% %s\n", strings.NewReplacer("{", "(", "}", ")").Replace(d.title))
	used := map[string]bool{}
	for i, x := range d.boxes {
		name, definition := classMermaid(x)
		if !used[name] {
			used[name] = true
			fmt.Fprintf(&b, "  classDef %s %s\n", name, definition)
		}
		fmt.Fprintf(&b, "  n%d[\"%s\"]:::%s\n", i, textMermaid(x), name)
	}
	for _, e := range d.edges {
		label := ""
		if l := strings.Join(e.ways, ", "); l != asInput && l != asResource {
			label = `|"` + escapeMermaid(l) + `"|`
		}
		fmt.Fprintf(&b, "  n%d %s%s n%d\n", e.from, e.stroke().mermaid, label, e.to)
	}
	if d.legend {
		d.legendMermaid(&b)
	}
	if letters := utf8.RuneCount(b.Bytes()); len(d.edges) > mermaidEdges || letters > mermaidText {
		e := diag.Errorf(diag.Pos{}, "", "the drawing has %s and %s: Mermaid draws no more than %s and %s",
			diag.Count(len(d.edges), "edge"),
			diag.Count(letters, "character"), diag.Count(mermaidEdges, "edge"), diag.Count(mermaidText, "character"))
		return e.Hint("draw less with --root, --to or --from, or all of it with -o svg")
	}
	_, err := b.WriteTo(w)
	return err
}

// classMermaid returns the name and the definition of the class of a box.
func classMermaid(x box) (name, definition string) {
	look, width := looks[x.kind], 1
	name = strings.ToLower(look.name)
	if x.root {
		name, width = name+"Root", 3
	}
	definition = fmt.Sprintf("fill:%s,stroke:%s,stroke-width:%dpx,color:#000000", look.fill, look.stroke, width)
	if look.border != "" {
		definition += ",stroke-dasharray:" + look.border
	}
	return name, definition
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
		case k.stroke == dashed, k.stroke == thick, k.stroke == dotted:
			continue // the edges have labels
		case k.stroke == solid:
			lines = append(lines, escapeMermaid(k.stroke.dot+" line: "+k.text))
		case k.class >= loads:
			continue // the lines have no marks
		default:
			lines = append(lines, escapeMermaid(k.text))
		}
	}
	fmt.Fprintf(b, "  legend[\"%s\"]\n", strings.Join(lines, "<br/>"))
}

// escapeMermaid escapes text for a quoted label. Every character with a meaning in Mermaid, its
// Markdown or HTML becomes a numeric entity.
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
