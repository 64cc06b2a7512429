package catalogs

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// yamlText is the text of a file of YAML and what it is parsed to. Fields are cut out of the text at the places that their nodes tell;
// all other bytes stay as they are.
type yamlText struct {
	text  string
	lines []int // where each line begins, and the end of the text
	docs  []*yaml.Node
	cuts  []span
}

// A span is a part of a text, in bytes.
type span struct{ from, to int }

var errOddText = errors.New("the file is not in UTF-8 with usual line ends")

func parseText(text string) (*yamlText, error) {
	if !utf8.ValidString(text) || strings.ContainsAny(strings.ReplaceAll(text, "\r\n", "\n"), "\r\u0085\u2028\u2029\x00") {
		return nil, errOddText
	}
	t := &yamlText{text: text, lines: []int{0}}
	for i := range len(text) {
		if text[i] == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	t.lines = append(t.lines, len(text))
	d := yaml.NewDecoder(strings.NewReader(text))
	for {
		var doc yaml.Node
		if err := d.Decode(&doc); errors.Is(err, io.EOF) {
			return t, nil
		} else if err != nil {
			return nil, err
		}
		t.docs = append(t.docs, &doc)
	}
}

// result returns the text without what was cut, nil if that would change anything but the fields: the nodes without them must be what
// it is parsed to.
func (t *yamlText) result() []byte {
	slices.SortFunc(t.cuts, func(a, b span) int { return a.from - b.from })
	var b bytes.Buffer
	at := 0
	for _, c := range t.cuts {
		if c.from < at || c.to < c.from || c.to > len(t.text) {
			return nil
		}
		b.WriteString(t.text[at:c.from])
		at = c.to
	}
	b.WriteString(t.text[at:])
	again, err := parseText(b.String())
	if err != nil || !slices.EqualFunc(t.docs, again.docs, sameNode) {
		return nil
	}
	return b.Bytes()
}

func sameNode(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Tag == b.Tag && a.Value == b.Value && a.Anchor == b.Anchor && slices.EqualFunc(a.Content, b.Content, sameNode)
}

// removeField takes the field whose key is m.Content[i] out of m and of the text.
func (t *yamlText) removeField(m *yaml.Node, i int) {
	if m.Style&yaml.FlowStyle != 0 {
		t.cuts = append(t.cuts, t.flowField(m, i))
	} else {
		t.cuts = append(t.cuts, t.blockField(m, i))
	}
	m.Content = slices.Delete(slices.Clone(m.Content), i, i+2)
}

// blockField returns the lines of a field, with comments behind it that are indented like a part of it. Where it follows a dash the next
// field takes its place.
func (t *yamlText) blockField(m *yaml.Node, i int) span {
	key := m.Content[i]
	from, indent := t.offset(key), key.Column-1
	line := t.lineAt(t.end(m.Content[i+1], indent))
	for t.isComment(line+1) && t.indent(line+1) > indent {
		line++
	}
	to := t.lines[min(line+1, len(t.lines)-1)]
	first := t.lines[key.Line-1]
	if strings.Trim(t.text[first:from], " \ufeff") == "" {
		return span{from - len(strings.TrimLeft(t.text[first:from], "\ufeff")), to}
	}
	if i+2 < len(m.Content) {
		if next := t.offset(m.Content[i+2]); next >= to && strings.TrimSpace(t.text[to:next]) == "" {
			return span{from, next}
		}
	}
	return span{from, from + len(strings.TrimRight(t.text[from:to], "\r\n"))}
}

// flowField returns a field between braces with one comma beside it, and its lines if nothing else is on them.
func (t *yamlText) flowField(m *yaml.Node, i int) span {
	from, to := t.offset(m.Content[i]), t.end(m.Content[i+1], -1)
	after := to + len(t.text[to:]) - len(strings.TrimLeft(t.text[to:], " \t\r\n"))
	if after == len(t.text) || t.text[after] != ',' {
		before := strings.TrimRight(t.text[:from], " \t\r\n")
		if strings.HasSuffix(before, ",") {
			from = len(before) - 1
		}
		return span{from, to}
	}
	to = after + 1
	first, next := t.lines[t.lineAt(from)], t.lines[t.lineAt(to)+1]
	if strings.TrimSpace(t.text[first:from]) == "" && strings.TrimSpace(t.text[to:next]) == "" {
		return span{first, next}
	}
	return span{from, to + len(t.text[to:]) - len(strings.TrimLeft(t.text[to:], " "))}
}

// end returns where the text of n ends, or its last line: which, does not matter to a field in block style. What is indented more than
// indent belongs to n, if it is in block style; -1 stands for a field between braces.
func (t *yamlText) end(n *yaml.Node, indent int) int {
	at := t.offset(n)
	if n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		_, value, _ := strings.Cut(t.text[at:], " ")
		at = len(t.text) - len(strings.TrimLeft(value, " "))
	}
	switch {
	case n.Kind != yaml.ScalarNode && len(n.Content) > 0 && n.Style&yaml.FlowStyle == 0:
		return t.end(n.Content[len(n.Content)-1], indent)
	case n.Kind == yaml.MappingNode, n.Kind == yaml.SequenceNode:
		return t.bracketEnd(at)
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return t.quoteEnd(at)
	case indent < 0:
		return at + len(strings.TrimRight(t.text[at:at+plainLength(t.text[at:])], " \t\r\n"))
	}
	last := t.lineAt(at)
	for line := last + 1; line < len(t.lines)-1; line++ {
		switch blank := strings.TrimSpace(t.line(line)) == ""; {
		case blank:
		case t.indent(line) <= indent:
			return t.lines[last]
		case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 || !t.isComment(line):
			last = line
		}
	}
	return t.lines[last]
}

// plainLength returns the length of a scalar without quotes between braces.
func plainLength(s string) int {
	for i := range len(s) {
		if strings.IndexByte(",]}", s[i]) >= 0 || s[i] == '#' && i > 0 && isSpace(s[i-1]) {
			return i
		}
	}
	return len(s)
}

// bracketEnd returns where the list or mapping ends that begins with a bracket or brace at i.
func (t *yamlText) bracketEnd(i int) int {
	depth := 0
	for i < len(t.text) {
		c, begins := t.text[i], i > 0 && (isSpace(t.text[i-1]) || strings.IndexByte("{[,:", t.text[i-1]) >= 0)
		switch {
		case (c == '"' || c == '\'') && begins:
			i = t.quoteEnd(i)
			continue
		case c == '#' && i > 0 && isSpace(t.text[i-1]):
			i = t.lines[t.lineAt(i)+1]
			continue
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return i
}

// quoteEnd returns where the scalar ends that begins with a quote at i.
func (t *yamlText) quoteEnd(i int) int {
	if i >= len(t.text) {
		return i
	}
	quote := t.text[i]
	for i++; i < len(t.text); i++ {
		switch c := t.text[i]; {
		case c == '\\' && quote == '"', c == quote && quote == '\'' && strings.HasPrefix(t.text[i+1:], "'"):
			i++
		case c == quote:
			return i + 1
		}
	}
	return len(t.text)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// offset returns where n begins.
func (t *yamlText) offset(n *yaml.Node) int {
	if n.Line < 1 || n.Line >= len(t.lines) {
		return len(t.text)
	}
	at := t.lines[n.Line-1]
	if n.Line == 1 && strings.HasPrefix(t.text, "\ufeff") {
		at += len("\ufeff")
	}
	for column := 1; column < n.Column && at < len(t.text); column++ {
		_, size := utf8.DecodeRuneInString(t.text[at:])
		at += size
	}
	return at
}

// lineAt returns the number of the line, from 0, that has the byte at i.
func (t *yamlText) lineAt(i int) int {
	line, found := slices.BinarySearch(t.lines[:len(t.lines)-1], i)
	if !found {
		line--
	}
	return line
}

func (t *yamlText) line(n int) string {
	if n+1 >= len(t.lines) {
		return ""
	}
	return t.text[t.lines[n]:t.lines[n+1]]
}

func (t *yamlText) indent(line int) int {
	text := t.line(line)
	return len(text) - len(strings.TrimLeft(text, " "))
}

func (t *yamlText) isComment(line int) bool {
	return strings.HasPrefix(strings.TrimLeft(t.line(line), " \t"), "#")
}
