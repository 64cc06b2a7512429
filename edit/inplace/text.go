package inplace

import (
	"bytes"
	"unicode/utf8"

	yaml3 "go.yaml.in/yaml/v3"
)

// A text locates lines and the nodes of the parsed YAML.
type text struct {
	data  []byte
	lines []int  // offset of each line
	wide  []bool // whether a line has multi-byte characters
	last  *cursor
}

// A cursor is the result of the last call of [text.start] for a line with multi-byte characters.
// With it, visiting nodes in order takes linear time even if they are on one line.
type cursor struct{ line, column, at int }

var bom = []byte("\xef\xbb\xbf")

func newText(data []byte) *text {
	t := &text{data: data}
	start := 0
	if bytes.HasPrefix(data, bom) {
		start = len(bom)
	}
	t.lines, t.wide = append(t.lines, start), append(t.wide, false)
	for i := start; i < len(data); {
		n := breakAt(data[i:])
		if n > 0 {
			t.lines, t.wide = append(t.lines, i+n), append(t.wide, false)
		} else if data[i] >= utf8.RuneSelf {
			t.wide[len(t.wide)-1] = true
		}
		i += max(n, 1)
	}
	return t
}

// Split splits a text into its YAML documents, each of which [Parse] accepts. It splits after a
// separator line, or before one that has content.
func Split(text []byte) (list [][]byte) {
	start, at := 0, 0
	for line := range bytes.Lines(text) {
		rest, separates := bytes.CutPrefix(line, []byte("---"))
		trimmed := bytes.TrimSpace(rest)
		switch {
		case !separates || len(rest) > 0 && !isSpace(rest[0]):
		case len(trimmed) == 0 || trimmed[0] == '#':
			list = append(list, text[start:at+len(line)])
			start = at + len(line)
		case at > start:
			list = append(list, text[start:at])
			start = at
		}
		at += len(line)
	}
	return append(list, text[start:])
}

// breakAt returns the length of the line break at the start of b, or 0. The characters are those
// that the YAML parser treats as line breaks.
func breakAt(b []byte) int {
	switch {
	case bytes.HasPrefix(b, []byte("\r\n")):
		return 2
	case b[0] == '\n' || b[0] == '\r':
		return 1
	case bytes.HasPrefix(b, []byte("\u0085")):
		return 2
	case bytes.HasPrefix(b, []byte("\u2028")) || bytes.HasPrefix(b, []byte("\u2029")):
		return 3
	}
	return 0
}

// lineOf returns the index of the line that contains offset.
func (t *text) lineOf(offset int) int {
	lo, hi := 0, len(t.lines)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; t.lines[mid] <= offset {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// lineStart returns the offset of the line that contains offset, and lineEnd the offset of the
// next line.
func (t *text) lineStart(offset int) int { return t.lines[t.lineOf(offset)] }

func (t *text) lineEnd(offset int) int {
	if i := t.lineOf(offset) + 1; i < len(t.lines) {
		return t.lines[i]
	}
	return len(t.data)
}

// line returns line i without its line break.
func (t *text) line(i int) []byte {
	end := len(t.data)
	if i+1 < len(t.lines) {
		end = t.lines[i+1]
	}
	return bytes.TrimRight(t.data[t.lines[i]:end], "\r\n")
}

// start returns the offset of a node, including its tag or anchor.
func (t *text) start(n *yaml3.Node) int {
	if n.Line < 1 || n.Line > len(t.lines) {
		return len(t.data)
	}
	at := t.lines[n.Line-1]
	if !t.wide[n.Line-1] {
		return min(at+n.Column-1, len(t.data))
	}
	column := 1
	if c := t.last; c != nil && c.line == n.Line && c.column <= n.Column {
		column, at = c.column, c.at
	}
	for ; column < n.Column && at < len(t.data); column++ {
		_, size := utf8.DecodeRune(t.data[at:])
		at += size
	}
	if t.last != nil {
		*t.last = cursor{n.Line, column, at}
	}
	return at
}

// content returns the offset of a node without its tag and anchor.
func (t *text) content(n *yaml3.Node) int {
	at := t.start(n)
	for at < len(t.data) && n.Kind != yaml3.AliasNode && (t.data[at] == '&' || t.data[at] == '!') {
		for at < len(t.data) && !isSpace(t.data[at]) && !isFlow(t.data[at]) {
			at++
		}
		if n.Kind == yaml3.ScalarNode && n.Value == "" && n.Style&^yaml3.TaggedStyle == 0 {
			continue
		}
		at = t.skip(at)
	}
	return at
}

// skip returns the offset of the next byte that is not a space or part of a comment.
func (t *text) skip(at int) int {
	for at < len(t.data) {
		switch {
		case isSpace(t.data[at]):
			at++
		case t.data[at] == '#':
			at = t.lineEnd(at)
		default:
			return at
		}
	}
	return at
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isFlow(c byte) bool  { return c == ',' || c == ']' || c == '}' || c == '[' || c == '{' }

// isRest reports whether the rest of the line after an offset is blank or a comment.
func (t *text) isRest(at int) bool {
	rest := bytes.TrimRight(t.data[at:t.lineEnd(at)], " \t\r\n")
	trimmed := bytes.TrimLeft(rest, " \t")
	return len(trimmed) == 0 || trimmed[0] == '#' && len(trimmed) < len(rest)
}

// end returns the offset after the last byte of a node.
func (t *text) end(n *yaml3.Node) int {
	at := t.content(n)
	switch n.Kind {
	case yaml3.AliasNode:
		for at < len(t.data) && !isSpace(t.data[at]) && !isFlow(t.data[at]) {
			at++
		}
	case yaml3.ScalarNode:
		return t.scalarEnd(n, at)
	case yaml3.MappingNode, yaml3.SequenceNode:
		if n.Style&yaml3.FlowStyle == 0 {
			if len(n.Content) == 0 {
				return at
			}
			return t.end(n.Content[len(n.Content)-1])
		}
		at++
		if len(n.Content) > 0 {
			at = t.end(n.Content[len(n.Content)-1])
		}
		for at < len(t.data) && t.data[at] != ']' && t.data[at] != '}' {
			at = t.skip(at + 1)
		}
		at = min(at+1, len(t.data))
	}
	return at
}

func (t *text) scalarEnd(n *yaml3.Node, at int) int {
	switch {
	case n.Style&yaml3.DoubleQuotedStyle != 0:
		for at++; at < len(t.data) && t.data[at] != '"'; at++ {
			if t.data[at] == '\\' {
				at++
			}
		}
		return min(at+1, len(t.data))
	case n.Style&yaml3.SingleQuotedStyle != 0:
		for at++; at < len(t.data); at++ {
			if t.data[at] != '\'' {
				continue
			}
			if at+1 == len(t.data) || t.data[at+1] != '\'' {
				break
			}
			at++
		}
		return min(at+1, len(t.data))
	case n.Style&(yaml3.LiteralStyle|yaml3.FoldedStyle) != 0:
		return t.blockEnd(at)
	}
	return t.plainEnd(n.Value, at)
}

// plainEnd returns the end of a plain scalar, which can span several lines.
func (t *text) plainEnd(value string, at int) int {
	for i := 0; i < len(value) && at < len(t.data); {
		if !isSpace(value[i]) {
			i++
			at++
			continue
		}
		for i < len(value) && isSpace(value[i]) {
			i++
		}
		for at < len(t.data) && isSpace(t.data[at]) {
			at++
		}
	}
	return at
}

// blockEnd returns the end of a block scalar whose header is at an offset. It is the end of the
// last non-blank line, without its line break. With a keep indicator, trailing blank lines are
// included.
func (t *text) blockEnd(at int) int {
	head := t.lineOf(at)
	end := t.lines[head] + len(t.line(head))
	keeps := bytes.HasPrefix(bytes.TrimLeft(t.data[at+1:t.lineEnd(at)], "123456789"), []byte("+"))
	least := 0 // indentation of the first line of content
	for i := head + 1; i < len(t.lines); i++ {
		line := t.line(i)
		if len(bytes.TrimLeft(line, " ")) == 0 {
			if keeps {
				end = t.lines[i] + len(line)
			}
			continue
		}
		indent := indentOf(line)
		if least == 0 {
			if indent <= indentOf(t.line(head)) {
				break
			}
			least = indent
			// With an indentation indicator, the first lines may be indented further.
			if bytes.ContainsAny(t.data[at:t.lineEnd(at)], "123456789") {
				least = indentOf(t.line(head)) + 1
			}
		}
		if indent < least {
			break
		}
		end = t.lines[i] + len(line)
	}
	return end
}

// indentOf returns the number of leading spaces of a line.
func indentOf(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }

// comments returns the start of the comment lines directly above a line with the same
// indentation, but not before the offset from.
func (t *text) comments(line, from int) int {
	first := line
	indent := indentOf(t.line(line))
	for first > 0 && t.lines[first-1] >= from {
		above := t.line(first - 1)
		if indentOf(above) != indent || len(above) == indent || above[indent] != '#' {
			break
		}
		first--
	}
	return t.lines[first]
}
