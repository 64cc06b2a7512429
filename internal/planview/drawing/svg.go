package drawing

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Dimensions in an SVG, in pixels.
const (
	margin     = 16
	padding    = 8
	titleSize  = 12
	textSize   = 11
	titleLine  = 15
	textLine   = 15
	markWidth  = 5
	headHeight = 26
)

// WriteSVG writes the drawing as a self-contained SVG. The colors follow the light or dark theme
// of the viewer. Text that does not fit into a box is in its tooltip.
func (d *Drawing) WriteSVG(w io.Writer) error {
	sizes := make([]size, len(d.boxes))
	for i, x := range d.boxes {
		sizes[i] = sizeOf(x)
	}
	l := d.arrange(sizes, func(e edge) int { return pixels(e.label(), textSize-1) })
	legend := d.legendSVG(max(l.w, 560))
	width := max(l.w, legend.w, pixels(d.title, titleSize)) + 2*margin
	top := margin + headHeight + legend.h
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\">\n", width, top+l.h+margin, width, top+l.h+margin)
	fmt.Fprintf(b, "<title>%s</title>\n<style>\n%s</style>\n", escapeXML(d.title), styleSheet())
	b.WriteString(
		`<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path class="head" d="M0 0L8 4L0 8z"/></marker></defs>` + "\n")
	b.WriteString("<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n")
	fmt.Fprintf(b, "<text class=\"t\" x=\"%d\" y=\"%d\">%s</text>\n", margin, margin+titleSize, escapeXML(d.title))
	fmt.Fprintf(b, "<g transform=\"translate(%d %d)\">\n%s</g>\n", margin, margin+headHeight-6, legend.text)
	fmt.Fprintf(b, "<g transform=\"translate(%d %d)\">\n", margin, top)
	for i, e := range d.edges {
		d.edgeSVG(b, e, l.routes[i])
	}
	for i, x := range d.boxes {
		boxSVG(b, x, l.boxes[i], sizes[i])
	}
	b.WriteString("</g>\n</svg>\n")
	return b.Flush()
}

func pixels(text string, size int) int { return (textWidth(text)*size + 99) / 100 }

// sizeOf returns the size of a box in pixels.
func sizeOf(x box) size {
	s := size{60, 2*padding + titleLine*len(x.title) + textLine*len(x.lines)}
	for _, t := range x.title {
		s.w = max(s.w, pixels(t, titleSize+1))
	}
	if x.note != "" {
		s.h += textLine
		s.w = max(s.w, pixels(x.note, textSize))
	}
	for _, l := range x.lines {
		w := pixels(l.text, textSize)
		if l.verb != plain {
			w += markWidth + 5
		}
		s.w = max(s.w, w)
	}
	s.w += 2 * padding
	return s
}

func boxSVG(b *bufio.Writer, x box, at point, s size) {
	class := looks[x.kind].name
	if x.root {
		class += " root"
	}
	round := 4
	if x.kind == composition {
		round = 10
	}
	b.WriteString("<g>")
	if x.tip != "" {
		fmt.Fprintf(b, "<title>%s</title>", escapeXML(x.tip))
	}
	if x.many {
		fmt.Fprintf(b, `<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="%d"/>`, class, at.x+4, at.y+4, s.w, s.h, round)
	}
	fmt.Fprintf(b, `<rect class="box %s" x="%d" y="%d" width="%d" height="%d" rx="%d"/>`+"\n", class, at.x, at.y, s.w, s.h, round)
	left, y := at.x+padding, at.y+padding
	for _, t := range x.title {
		fmt.Fprintf(b, `<text class="t" x="%d" y="%d">%s</text>`, left, y+titleSize-1, escapeXML(t))
		y += titleLine
	}
	if x.note != "" {
		fmt.Fprintf(b, `<text class="n" x="%d" y="%d">%s</text>`, left, y+textSize-1, escapeXML(x.note))
		y += textLine
	}
	for _, l := range x.lines {
		x := left
		if l.verb != plain {
			fmt.Fprintf(b, `<rect class="mark" fill="%s" x="%d" y="%d" width="%d" height="%d"/>`, looks[l.verb].fill, x, y+1, markWidth,
				textLine-3)
			x += markWidth + 5
		}
		fmt.Fprintf(b, `<text x="%d" y="%d">%s</text>`, x, y+textSize, escapeXML(l.text))
		y += textLine
	}
	b.WriteString("</g>\n")
}

func (d *Drawing) edgeSVG(b *bufio.Writer, e edge, r route) {
	var path strings.Builder
	fmt.Fprintf(&path, "M%d %d", r[0].x, r[0].y)
	for i := 1; i < len(r); i += 2 {
		from, to := r[i], r[i+1]
		middle := (from.x + to.x) / 2
		fmt.Fprintf(&path, "H%dC%d %d %d %d %d %d", from.x, middle, from.y, middle, to.y, to.x, to.y)
	}
	b.WriteString("<g>")
	fmt.Fprintf(b, "<title>%s</title>", escapeXML(d.edgeTip(e)))
	fmt.Fprintf(b, `<path class="e"%s d="%s" marker-end="url(#arrow)"/>`, e.stroke().svg(), path.String())
	if text := e.label(); text != "" {
		from, to := r[len(r)-2], r[len(r)-1]
		fmt.Fprintf(b, `<text class="l" x="%d" y="%d">%s</text>`, (from.x+to.x)/2, (from.y+to.y)/2+3, escapeXML(text))
	}
	b.WriteString("</g>\n")
}

// svg returns the SVG attributes of the line style.
func (s stroke) svg() string {
	switch {
	case s == thick:
		return ` stroke-width="2.5"`
	case s.dash != "":
		return fmt.Sprintf(` stroke-dasharray="%s"`, s.dash)
	}
	return ""
}

// legendBox is the rendered legend. Its rows are wrapped to the width of the drawing.
type legendBox struct {
	size
	text string
}

func (d *Drawing) legendSVG(width int) (box legendBox) {
	if !d.legend {
		return box
	}
	var b strings.Builder
	x, y := 0, 0
	for _, k := range d.keys() {
		mark := 0
		if k.class != plain || k.stroke.name != "" {
			mark = 24
		}
		w := mark + 6 + pixels(k.text, textSize)
		if x > 0 && x+w > width {
			x, y = 0, y+textLine+3
		}
		switch {
		case k.class >= loads:
			fmt.Fprintf(&b, `<rect class="mark" fill="%s" x="%d" y="%d" width="%d" height="12"/>`, looks[k.class].fill, x+16, y, markWidth)
		case k.class != plain:
			fmt.Fprintf(&b, `<rect class="%s" x="%d" y="%d" width="20" height="12" rx="3"/>`, looks[k.class].name, x, y)
		case mark > 0:
			fmt.Fprintf(&b, `<path class="e"%s d="M%d %dh22" marker-end="url(#arrow)"/>`, k.stroke.svg(), x, y+6)
		}
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\">%s</text>\n", x+mark+4, y+10, escapeXML(k.text))
		x += w + 14
		box.w = max(box.w, x)
	}
	return legendBox{size{box.w, y + textLine + 12}, b.String()}
}

// styleSheet returns the style sheet with the light and dark colors.
func styleSheet() string {
	var light, dark strings.Builder
	light.WriteString(
		"text{font:11px system-ui,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1f2328}.t{font-weight:bold;font-size:12px}.n{font-style:italic}\n")
	light.WriteString(
		".l{font-size:10px;text-anchor:middle;stroke:#fff;stroke-width:3px;paint-order:stroke}.page{fill:#fff}.e{fill:none;stroke:#666}.head{fill:#666}.root{stroke-width:3}\n")
	dark.WriteString("text{fill:#e6edf3}.l{stroke:#0d1117}.page{fill:#0d1117}.e{stroke:#9aa4ae}.head{fill:#9aa4ae}")
	for _, k := range []class{plain, kustomization, component, composition, failedRoot} {
		x := looks[k]
		dash := ""
		if x.border != "" {
			dash = ";stroke-dasharray:" + strings.ReplaceAll(x.border, " ", ",")
		}
		fmt.Fprintf(&light, ".%s{fill:%s;stroke:%s%s}", x.name, x.fill, x.stroke, dash)
		fmt.Fprintf(&dark, ".%s{fill:%s}", x.name, x.darkFill)
	}
	return light.String() + "\n@media (prefers-color-scheme:dark){" + dark.String() + "}\n"
}
