package inplace

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/krmflow/krmflow/krm/yaml"
	yaml3 "go.yaml.in/yaml/v3"
)

// A style is the formatting of a file, applied to added text.
type style struct {
	indent int    // of the fields of a mapping
	dash   int    // of the dashes of a list below its key
	gap    string // between a dash and the item
	moved  []moved
}

// A moved value is a value that an edit removes. If the same value is added elsewhere, its text
// is moved.
type moved struct {
	value  yaml.Value
	isItem bool
	head   []string // comments above an item
	lines  []string // without indentation
	used   bool
}

// find returns the text of a moved value, or nil. Each text is returned only once.
func (s *style) find(v yaml.Value) *moved {
	for i := range s.moved {
		if m := &s.moved[i]; !m.used && m.value.Equal(v) {
			m.used = true
			return m
		}
	}
	return nil
}

// block returns the lines of a list or mapping in block style, without indentation.
func (s *style) block(v yaml.Value) []string {
	if m := s.find(v); m != nil {
		return slices.Clone(m.lines)
	}
	var lines []string
	for _, item := range v.Items() {
		lines = append(lines, s.item(item)...)
	}
	for _, f := range v.Fields() {
		lines = append(lines, s.field(f.Key, f.Value)...)
	}
	return lines
}

// field returns the lines of a field of a mapping.
func (s *style) field(key string, v yaml.Value) []string {
	head := plain(key, false) + ":"
	switch {
	case isBlock(v):
		by := s.indent
		if v.Items() != nil {
			by = s.dash
		}
		return append([]string{head}, indented(s.block(v), by)...)
	case isLiteral(v):
		lines := s.literal(v)
		return append([]string{head + " " + lines[0]}, indented(lines[1:], s.indent)...)
	}
	return []string{head + " " + inline(v, false)}
}

// item returns the lines of an item of a list.
func (s *style) item(v yaml.Value) []string {
	var head, lines []string
	m := s.find(v)
	switch {
	case m != nil && m.isItem:
		head, lines = m.head, m.lines
	case isBlock(v):
		lines = s.block(v)
	case isLiteral(v):
		lines = literal(v.Text())
	default:
		lines = []string{inline(v, false)}
	}
	lines = indented(lines, 1+len(s.gap))
	lines[0] = "-" + s.gap + lines[0][1+len(s.gap):]
	return slices.Concat(head, lines)
}

// literal returns the lines of a block scalar. A moved scalar keeps its text.
func (s *style) literal(v yaml.Value) []string {
	if m := s.find(v); m != nil && m.isItem && len(m.lines) > 1 {
		return m.lines
	}
	return literal(v.Text())
}

// indented returns lines with by spaces added, or -by spaces removed if by is negative. Blank
// lines get no indentation.
func indented(lines []string, by int) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		switch {
		case by > 0 && strings.TrimSpace(line) != "":
			out[i] = strings.Repeat(" ", by) + line
		case by < 0:
			out[i] = line[min(-by, indentOf([]byte(line))):]
		default:
			out[i] = line
		}
	}
	return out
}

// isBlock reports whether v is a non-empty list or mapping.
func isBlock(v yaml.Value) bool { return len(v.Items()) > 0 || len(v.Fields()) > 0 }

// isLiteral reports whether v is a multi-line string that a literal block scalar can represent
// in any position. Strings that end with blank lines are excluded, because blank lines after the
// scalar would become part of it.
func isLiteral(v yaml.Value) bool {
	s := v.Text()
	if v.Type() != yaml.String || !strings.Contains(s, "\n") || strings.ContainsAny(s[:1], " \n\t") || strings.HasSuffix(s, "\n\n") {
		return false
	}
	for line := range strings.SplitSeq(s, "\n") {
		if strings.TrimRight(line, " \t") != line {
			return false
		}
	}
	return isPrintable(strings.ReplaceAll(s, "\n", ""))
}

func isPrintable(s string) bool {
	for _, r := range s {
		if r != '\t' && !unicode.IsPrint(r) || r == utf8.RuneError {
			return false
		}
	}
	return true
}

// literal returns the lines of a literal block scalar. The first one is the header.
func literal(s string) []string {
	if text, ok := strings.CutSuffix(s, "\n"); ok {
		return append([]string{"|"}, strings.Split(text, "\n")...)
	}
	return append([]string{"|-"}, strings.Split(s, "\n")...)
}

// inline returns a value on one line, with lists and mappings in flow style. flow reports
// whether the value is nested in flow style.
func inline(v yaml.Value, flow bool) string {
	switch v.Type() {
	case yaml.Seq:
		parts := make([]string, v.Len())
		for i, item := range v.Items() {
			parts[i] = inline(item, true)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case yaml.Map:
		parts := make([]string, v.Len())
		for i, f := range v.Fields() {
			parts[i] = plain(f.Key, true) + ": " + inline(f.Value, true)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case yaml.String:
		if v.Quoted() {
			return doubleQuoted(v.Text())
		}
		return plain(v.Text(), flow)
	}
	return v.SourceText()
}

// plain returns a string, without quotes if possible.
func plain(s string, flow bool) string {
	if flow && strings.ContainsAny(s, ",[]{}:") || !isPrintable(s) {
		return doubleQuoted(s)
	}
	return yaml.ScalarText(s)
}

// doubleQuoted returns a string in double quotes.
func doubleQuoted(s string) string {
	var b bytes.Buffer
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			fmt.Fprintf(&b, `\u%04X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// likeBefore returns a scalar in the quoting style of the node it replaces, if possible.
func likeBefore(n *yaml3.Node, v yaml.Value, flow bool) string {
	s := v.Text()
	if v.Type() != yaml.String {
		return inline(v, flow)
	}
	switch {
	case n.Style&yaml3.DoubleQuotedStyle != 0:
		return doubleQuoted(s)
	case n.Style&yaml3.SingleQuotedStyle != 0 && isPrintable(s):
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return plain(s, flow)
}
