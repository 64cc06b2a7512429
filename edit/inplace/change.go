package inplace

import (
	"bytes"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/krm/yaml"
	yaml3 "go.yaml.in/yaml/v3"
)

// A change collects replacements in a text.
type change struct {
	*text
	style   style
	eol     string
	splices []splice

	keepBlanks   bool // keep blank lines around removed text, which may be part of a scalar
	keepComments bool // keep comments above removed entries
}

// A splice replaces the text from start to end.
type splice struct {
	start, end int
	with       string
}

func (c *change) splice(start, end int, with string) {
	c.splices = append(c.splices, splice{start, end, with})
}

// lines inserts lines before the line at an offset, which may be the end of the text. Each line
// is indented by column.
func (c *change) lines(at int, lines []string, column int) {
	c.splice(at, at, strings.Join(indented(lines, column), c.eol)+c.eol)
}

// apply returns the text with all splices applied. Splices with the same start keep their order.
func (c *change) apply() []byte {
	slices.SortStableFunc(c.splices, func(a, b splice) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, s := range c.splices {
		out = append(out, c.data[at:max(s.start, at)]...)
		out = append(out, s.with...)
		at = max(at, s.end)
	}
	return append(out, c.data[at:]...)
}

// value changes the value of an entry from old to v within the extent of the entry. If it
// returns an error, the change has no effect.
func (c *change) value(e entry, old, v yaml.Value, flow bool) error {
	n := e.node
	before := len(c.splices)
	err := errOpaque
	flow = flow || n.Style&yaml3.FlowStyle != 0
	switch {
	case old.Equal(v):
		return nil
	case old.IsScalar() && v.IsScalar():
		err = c.scalar(n, v, flow)
	case n.Kind == yaml3.MappingNode && len(n.Content) > 0 && v.Len() > 0 && v.Type() == yaml.Map:
		err = c.mapping(n, old, v, flow)
	case n.Kind == yaml3.SequenceNode && len(n.Content) > 0 && v.Len() > 0 && v.Type() == yaml.Seq:
		err = c.list(n, old, v, flow)
	}
	if err != nil {
		c.splices = c.splices[:before]
	}
	return err
}

func (c *change) scalar(n *yaml3.Node, v yaml.Value, flow bool) error {
	// The scalar already has several lines in double quotes, so the new value can be quoted as
	// well.
	lines := n.Style&yaml3.DoubleQuotedStyle != 0 && strings.Contains(n.Value, "\n")
	switch {
	case n.Kind != yaml3.ScalarNode || n.Anchor != "":
		return errOpaque
	case n.Style == yaml3.LiteralStyle && v.Type() == yaml.String:
		return c.literal(n, v.Text())
	case n.Style&(yaml3.TaggedStyle|yaml3.LiteralStyle|yaml3.FoldedStyle) != 0 || isLiteral(v) && !lines:
		return errOpaque
	}
	c.splice(c.content(n), c.scalarEnd(n, c.content(n)), likeBefore(n, v, flow))
	return nil
}

// literal changes the lines of a literal block scalar. It keeps the header, so the trailing line
// breaks must not change.
func (c *change) literal(n *yaml3.Node, text string) error {
	at := c.content(n)
	first := c.lineOf(at) + 1
	for first < len(c.text.lines) && len(bytes.TrimSpace(c.line(first))) == 0 {
		first++
	}
	lines, was := strings.TrimRight(text, "\n"), strings.TrimRight(n.Value, "\n")
	breaks := len(text) - len(lines)
	switch {
	case first == len(c.text.lines) || lines == "" || isSpace(lines[0]) || bytes.ContainsAny(c.data[at:c.lineEnd(at)], "123456789+"):
		return errOpaque
	case breaks > 1 || breaks != len(n.Value)-len(was):
		return errOpaque
	}
	content := indented(strings.Split(lines, "\n"), indentOf(c.line(first)))
	c.splice(c.text.lines[first], c.scalarEnd(n, at), strings.Join(content, c.eol))
	return nil
}

// anew rewrites the value of a field, in block style or, if flow is set, in flow style. column
// is the column of the mapping.
func (c *change) anew(e entry, v yaml.Value, column int, flow bool) error {
	colon, err := c.colon(e)
	if err != nil {
		return err
	}
	lines := c.style.field("k", v)
	switch {
	case flow:
		c.splice(colon, e.end, " "+inline(v, true))
	case c.lineOf(colon) == c.lineOf(e.end) && c.isRest(e.end):
		c.splice(colon, e.end, lines[0][2:])
		if len(lines) > 1 {
			c.lines(c.lineEnd(e.end), lines[1:], column)
		}
	case c.isRest(e.end):
		head := lines[0][2:]
		if c.isRest(colon) { // keep the comment after the key
			head += string(bytes.TrimRight(c.data[colon:c.lineEnd(colon)], "\r\n"))
		}
		c.splice(colon, c.lineEnd(e.end), strings.Join(append([]string{head}, indented(lines[1:], column)...), c.eol)+c.eol)
	default:
		return errOpaque
	}
	return nil
}

// mapping changes the fields of a non-empty mapping. At least one field must be kept.
func (c *change) mapping(n *yaml3.Node, old, v yaml.Value, flow bool) error {
	entries, err := c.fields(n)
	if err != nil {
		return err
	}
	kept := entries[:0:0]
	var gone []int
	for i, e := range entries {
		key := e.key.Value
		was, is := old.Get(key), v.Get(key)
		switch {
		case e.key.Tag == "!!merge": // [Document.written] checks the merged keys
		case !was.Exists():
			return errOpaque // an alias, or a key that is not a string
		case !is.Exists():
			gone = append(gone, i)
			continue
		// Of duplicate keys, the last one takes precedence.
		case slices.ContainsFunc(entries[i+1:], func(o entry) bool { return o.key.Value == key }):
		case c.value(e, was, is, flow) != nil:
			if err := c.anew(e, is, columnOf(n), flow); err != nil {
				return err
			}
		}
		kept = append(kept, e)
	}
	var added []yaml.Field
	for _, f := range v.Fields() {
		if !old.Get(f.Key).Exists() {
			added = append(added, f)
		}
	}
	if len(kept) == 0 {
		return errOpaque
	}
	if err := c.cut(n, entries, gone, flow); err != nil {
		return err
	}
	return c.addFields(n, kept[len(kept)-1], added, flow)
}

// addFields adds fields after an entry of a mapping.
func (c *change) addFields(n *yaml3.Node, after entry, added []yaml.Field, flow bool) error {
	for _, f := range added {
		switch {
		case flow:
			c.splice(after.end, after.end, c.between(n)+plain(f.Key, true)+": "+inline(f.Value, true))
		case !c.isRest(after.end):
			return errOpaque
		default:
			c.lines(c.lineEnd(after.end), c.style.field(f.Key, f.Value), columnOf(n))
		}
	}
	return nil
}

// between returns the separator before a new entry in flow style. The entry gets a line of its
// own if the last one has.
func (c *change) between(n *yaml3.Node) string {
	last := n.Content[len(n.Content)-1]
	if n.Kind == yaml3.MappingNode {
		last = n.Content[len(n.Content)-2]
	}
	at := c.start(last)
	if space := c.data[c.lineStart(at):at]; last.Line > n.Line && len(bytes.TrimSpace(space)) == 0 {
		return "," + c.eol + string(space)
	}
	return ", "
}

// cut removes entries of a list or mapping with their comments: the lines directly above, and
// the lines below that are indented as part of the entry. At least one entry must be kept.
func (c *change) cut(n *yaml3.Node, entries []entry, gone []int, flow bool) error {
	for _, i := range gone {
		e := entries[i]
		if flow {
			c.cutInline(entries, i, gone)
			continue
		}
		switch {
		case c.ownLines(e):
			// Comments above the first item of a list are removed with it. Those above the first
			// field of a mapping belong to the mapping and stay.
			from := c.lineStart(e.dash)
			if i > 0 {
				from = c.lineEnd(entries[i-1].end)
			} else if n.Kind == yaml3.SequenceNode {
				from = 0
			}
			start := c.lineStart(e.dash)
			if !c.keepComments {
				start = c.comments(c.lineOf(e.dash), from)
			}
			c.cutLines(start, c.commentsBelow(e))
		// The first field follows the dash of a list item.
		case i == 0 && len(entries) > 1 && c.isRest(e.end) && !slices.Contains(gone, 1):
			c.splice(e.dash, entries[1].dash, "")
		default:
			return errOpaque
		}
	}
	return nil
}

// cutLines removes the lines from start to end. One of the surrounding blank lines is kept, and
// none at the end of the file.
func (c *change) cutLines(start, end int) {
	isBlank := func(i int) bool { return i >= 0 && len(bytes.TrimSpace(c.line(i))) == 0 }
	above := c.lineOf(start) - 1
	switch {
	case c.keepBlanks || !isBlank(above):
	case end < len(c.data) && isBlank(c.lineOf(end)):
		end = c.lineEnd(end)
	case end == len(c.data):
		for isBlank(above) {
			start = c.text.lines[above]
			above--
		}
	}
	c.splice(start, end, "")
}

// commentsBelow returns the end of an entry that has its own lines, including the comments below
// that are indented as part of it.
func (c *change) commentsBelow(e entry) int {
	column := e.dash - c.lineStart(e.dash)
	i := c.lineOf(e.end) + 1
	for ; i < len(c.text.lines); i++ {
		if line := bytes.TrimLeft(c.line(i), " "); indentOf(c.line(i)) <= column || len(line) == 0 || line[0] != '#' {
			return c.text.lines[i]
		}
	}
	return len(c.data)
}

// cutInline removes an entry in flow style and one comma. If the entry is alone on its lines and
// a later entry is kept, it removes these lines, including a trailing comment. Otherwise it
// removes the comma before the entry if an earlier entry is kept.
func (c *change) cutInline(entries []entry, i int, gone []int) {
	e, stays := entries[i], func(j int) bool { return !slices.Contains(gone, j) }
	comma := c.skip(e.end)
	alone := comma < len(c.data) && c.data[comma] == ',' && c.lineOf(comma) == c.lineOf(e.end) && c.isRest(comma+1) &&
		len(bytes.TrimSpace(c.data[c.lineStart(e.dash):e.dash])) == 0
	for j := i + 1; alone && j < len(entries); j++ {
		if stays(j) {
			c.splice(c.lineStart(e.dash), c.lineEnd(comma), "")
			return
		}
	}
	for j := range i {
		if stays(j) {
			c.splice(entries[i-1].end, e.end, "")
			return
		}
	}
	c.splice(e.dash, entries[i+1].dash, "")
}
