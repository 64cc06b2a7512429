package drawing

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// evil is text that, unescaped, would change the structure of a drawing or control the terminal
// that shows it.
const evil = `a"]; evil [label="<b>&amp;#quot;` + "`end`" + `|{x}--> y;%%{init}%% ]]> --></title><script>` + "\n\r\t\x1b[31m\u202e\ufffe" +
	`\N\` + "\xff"

func evilDrawing() *Drawing {
	return &Drawing{
		title: clean(evil), legend: true,
		boxes: []box{
			{title: []string{clean(evil)}, note: clean(evil), kind: component,
				lines: []line{{text: clean(evil), verb: loads}, {text: clean(evil)}}, tip: clean(evil) + "\n" + clean(evil)},
			{title: []string{"b"}, kind: composition, root: true, many: true},
		},
		edges: []edge{{from: 0, to: 1, ways: []string{clean(evil)}, len: 1}},
	}
}

// L04: a name cannot change the structure of a drawing.
func TestNamesAreEscaped(t *testing.T) {
	for name, form := range forms {
		text := written(t, evilDrawing(), form)
		if i := strings.IndexAny(text, "\r\x1b\u202e"); i >= 0 || !utf8.ValidString(text) {
			t.Errorf("%s: byte %d could steer a terminal", name, i)
		}
	}
	checkMermaid(t, written(t, evilDrawing(), (*Drawing).WriteMermaid), 3, 1)
	elements := 0
	for _, e := range parseXML(t, written(t, evilDrawing(), (*Drawing).WriteSVG)) {
		switch e.Name.Local {
		case "script":
			t.Error("svg: a name is a script")
		case "text":
			elements++
		}
	}
	if elements == 0 {
		t.Error("svg: no text")
	}
	out := dot(t, written(t, evilDrawing(), (*Drawing).WriteDOT), "-Tplain")
	if nodes, edges := strings.Count(out, "\nnode "), strings.Count(out, "\nedge "); nodes != 3 || edges != 1 {
		t.Errorf("dot: %d nodes and %d edges:\n%s", nodes, edges, out)
	}
}

// dot runs graphviz.
func dot(t *testing.T, text string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("dot"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("there is no dot (graphviz) to draw with")
	}
	cmd := exec.CommandContext(t.Context(), "dot", args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), &out, &errs
	if err := cmd.Run(); err != nil || strings.Contains(errs.String(), "Error") {
		t.Fatalf("dot: %v\n%s", err, errs.String())
	}
	return out.String()
}

var svgSize = regexp.MustCompile(`<svg width="(\d+)(?:pt)?" height="(\d+)(?:pt)?"`)

// Graphviz draws everything, in a readable size.
func TestDotDraws(t *testing.T) {
	for name, plan := range pictures(t) {
		for _, o := range []Options{{Legend: true, Fold: true}, {Legend: true}, {Steps: true, Fold: true, Legend: true}, {Steps: true}} {
			out := dot(t, written(t, draw(t, plan, o), (*Drawing).WriteDOT), "-Tsvg")
			m := svgSize.FindStringSubmatch(out)
			if m == nil {
				t.Fatalf("%s: dot drew\n%.300s", name, out)
			}
			w, _ := strconv.Atoi(m[1])
			h, _ := strconv.Atoi(m[2])
			t.Logf("%s, steps %t, fold %t: %d x %d points", name, o.Steps, o.Fold, w, h)
			limit := 6000
			if o.Fold && !o.Steps {
				limit = 1200
			}
			if w > limit || h > limit {
				t.Errorf("%s, %+v: %d x %d points", name, o, w, h)
			}
		}
	}
}

// parseXML returns the elements of a document.
func parseXML(t *testing.T, text string) (all []xml.StartElement) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		switch token, err := d.Token(); e := token.(type) {
		case xml.StartElement:
			all = append(all, e.Copy())
		case nil:
			if err != io.EOF {
				t.Fatal(err)
			}
			return all
		}
	}
}

// attr returns an attribute of an element as a number, or as text with 0.
func attr(e xml.StartElement, name string) (string, int) {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			n, _ := strconv.Atoi(a.Value)
			return a.Value, n
		}
	}
	return "", 0
}

// An SVG contains every layer, all boxes are inside, and no two overlap.
func TestSVG(t *testing.T) {
	for name, plan := range pictures(t) {
		for _, o := range []Options{{Legend: true, Fold: true}, {Legend: true}, {Steps: true, Fold: true}, {Steps: true, Legend: true}} {
			d := draw(t, plan, o)
			text := written(t, d, (*Drawing).WriteSVG)
			type rect struct{ x, y, w, h int }
			var boxes []rect
			elements := parseXML(t, text)
			_, width := attr(elements[0], "width")
			_, height := attr(elements[0], "height")
			for _, e := range elements {
				if class, _ := attr(e, "class"); strings.HasPrefix(class, "box ") {
					var r rect
					_, r.x = attr(e, "x")
					_, r.y = attr(e, "y")
					_, r.w = attr(e, "width")
					_, r.h = attr(e, "height")
					boxes = append(boxes, r)
				}
			}
			if len(boxes) != len(d.boxes) {
				t.Errorf("%s: %d of %d boxes", name, len(boxes), len(d.boxes))
			}
			for i, a := range boxes {
				if a.x < 0 || a.y < 0 || a.x+a.w+margin > width || a.y+a.h+margin > height {
					t.Errorf("%s, %+v: box %d is outside", name, o, i)
				}
				for j, b := range boxes[:i] {
					if a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h {
						t.Errorf("%s, %+v: boxes %d and %d overlap: %v %v", name, o, i, j, a, b)
					}
				}
			}
			for _, l := range plan.Layers().All() {
				if !o.Fold && !o.Steps && !strings.Contains(text, escapeXML(l.File)) {
					t.Errorf("%s: %s is missing", name, l.File)
				}
			}
			t.Logf("%s, steps %t, fold %t: %d x %d pixels", name, o.Steps, o.Fold, width, height)
			if width > 6000 || height > 6000 {
				t.Errorf("%s, %+v: %d x %d pixels", name, o, width, height)
			}
		}
	}
}

// The valid lines of a flowchart. A label contains no character with a meaning in Mermaid or HTML,
// except line breaks and numeric entities.
var (
	mermaidLabel = `"(?:[^"#;:&<>\x60\\\[\]{}|*_~%]|#\d+;|<br/>)*"`
	mermaidLines = []*regexp.Regexp{
		regexp.MustCompile(`^flowchart LR$`),
		regexp.MustCompile(`^  %% [^{}]*$`),
		regexp.MustCompile(
			`^  classDef [A-Za-z]+ fill:#[0-9a-f]{6},stroke:#[0-9a-f]{6},stroke-width:\dpx,color:#000000(,stroke-dasharray:[0-9. ]+)?$`),
		regexp.MustCompile(`^  (?:n\d+|legend)\[` + mermaidLabel + `\](:::[A-Za-z]+)?$`),
		regexp.MustCompile(`^  n\d+ (?:-->|-\.->|==>)(?:\|` + mermaidLabel + `\|)? n\d+$`),
	}
)

func checkMermaid(t *testing.T, text string, nodes, edges int) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		matched := -1
		for i, r := range mermaidLines {
			if r.MatchString(line) {
				matched = i
			}
		}
		switch matched {
		case -1:
			t.Errorf("mermaid: %q", line)
		case 3:
			nodes--
		case 4:
			edges--
		}
	}
	if nodes != 0 || edges != 0 {
		t.Errorf("mermaid: %d nodes and %d edges are missing in\n%s", nodes, edges, text)
	}
}

func TestMermaidIsWellFormed(t *testing.T) {
	for _, plan := range pictures(t) {
		for _, o := range []Options{{Fold: true, Legend: true}, {Steps: true, Fold: true}} {
			d := draw(t, plan, o)
			n := len(d.boxes)
			if o.Legend {
				n++
			}
			checkMermaid(t, written(t, d, (*Drawing).WriteMermaid), n, len(d.edges))
		}
	}
	many := &Drawing{}
	for i := range mermaidEdges + 2 {
		many.boxes = append(many.boxes, box{title: []string{fmt.Sprint(i)}})
		if i > 0 {
			many.edges = append(many.edges, edge{from: i - 1, to: i, ways: []string{asInput}})
		}
	}
	var b bytes.Buffer
	err := many.WriteMermaid(&b)
	if err == nil || !strings.Contains(err.Error(), "has 501 edges and") || !strings.Contains(err.Error(), "--root") || b.Len() > 0 {
		t.Errorf("501 edges: %v, %d bytes", err, b.Len())
	}
}
