package yaml

import (
	"strings"
	"unicode/utf8"
)

// breakAt starts a new line at column indent.
func (e *emitter) breakAt(indent int) {
	e.newline()
	e.indent(indent)
}

// plain writes a plain scalar that may need folding. A line is folded only at a single space.
func (e *emitter) plain(s string, indent int) {
	col := e.column()
	for {
		n := strings.IndexByte(s, ' ')
		if n < 0 {
			e.dst = append(e.dst, s...)
			return
		}
		e.dst = append(e.dst, s[:n]...)
		col += utf8.RuneCountInString(s[:n])
		k := n + 1
		for s[k] == ' ' {
			k++
		}
		if k == n+1 && col > foldAt {
			e.breakAt(indent)
			col = indent
		} else {
			e.dst = append(e.dst, s[n:k]...)
			col += k - n
		}
		s = s[k:]
	}
}

// single writes a text in single quotes. The text may contain Unicode line breaks, but not others.
func (e *emitter) single(s string, indent int) {
	e.dst = append(e.dst, '\'')
	col := e.column()
	space, broken := false, false
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == ' ' {
			if indent >= 0 && !space && col > foldAt && i > 0 && i < len(s)-1 && s[i+1] != ' ' {
				e.breakAt(indent)
				col = indent
			} else {
				e.dst = append(e.dst, c)
				col++
			}
			space = true
			continue
		}
		if isSeparator(s, i) {
			e.dst = append(e.dst, s[i:i+3]...)
			i += 2
			col, broken = 0, true
			continue
		}
		if broken {
			e.indent(indent)
			col = indent
		}
		space, broken = false, false
		if c == '\'' {
			e.dst = append(e.dst, c)
			col++
		}
		if c&0xC0 != 0x80 {
			col++
		}
		e.dst = append(e.dst, c)
	}
	e.dst = append(e.dst, '\'')
}

// isSeparator reports whether U+2028 or U+2029 is at i.
func isSeparator(s string, i int) bool {
	return s[i] == 0xE2 && (strings.HasPrefix(s[i:], "\u2028") || strings.HasPrefix(s[i:], "\u2029"))
}

// double writes a text in double quotes.
func (e *emitter) double(s string, indent int) {
	e.dst = append(e.dst, '"')
	col := e.column()
	space := false
	all := strings.HasPrefix(s, "\uFEFF") // in this case yaml/v2 escapes every character
	for i := 0; i < len(s); {
		c := s[i]
		if c == ' ' && !all {
			if indent >= 0 && !space && col > foldAt && i > 0 && i < len(s)-1 {
				e.breakAt(indent)
				col = indent
				if s[i+1] == ' ' {
					e.dst = append(e.dst, '\\')
					col++
				}
			} else {
				e.dst = append(e.dst, c)
				col++
			}
			space = true
			i++
			continue
		}
		space = false
		if n := unescaped(s[i:]); n > 0 && !all {
			e.dst = append(e.dst, s[i:i+n]...)
			col += n
			i += n
			continue
		}
		r, size := rune(c), 1
		if c >= 0x80 {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		if all || r < ' ' || r == '"' || r == '\\' || r >= 0x7f && r < 0xA0 || r == 0x2028 || r == 0x2029 || r == 0xFEFF || r > 0xFFFD {
			n := len(e.dst)
			e.dst = appendEscape(e.dst, r)
			col += len(e.dst) - n
		} else {
			e.dst = append(e.dst, s[i:i+size]...)
			col++
		}
		i += size
	}
	e.dst = append(e.dst, '"')
}

// unescaped returns the number of leading characters of s that need no escape in double quotes, up
// to the first space or non-ASCII character.
func unescaped(s string) int {
	n := 0
	for n < len(s) && s[n] > ' ' && s[n] < 0x7f && s[n] != '"' && s[n] != '\\' {
		n++
	}
	return n
}

func appendEscape(dst []byte, r rune) []byte {
	dst = append(dst, '\\')
	if i := strings.IndexRune("\x00\a\b\t\n\v\f\r\x1b\"\\\u0085\u00a0\u2028\u2029", r); i >= 0 {
		name := utf8.RuneCountInString("\x00\a\b\t\n\v\f\r\x1b\"\\\u0085\u00a0\u2028\u2029"[:i])
		return append(dst, "0abtnvfre\"\\N_LP"[name])
	}
	digits := 8
	switch {
	case r <= 0xFF:
		dst, digits = append(dst, 'x'), 2
	case r <= 0xFFFF:
		dst, digits = append(dst, 'u'), 4
	default:
		dst = append(dst, 'U')
	}
	for digits--; digits >= 0; digits-- {
		dst = append(dst, "0123456789ABCDEF"[r>>(4*digits)&0xF])
	}
	return dst
}

// literal writes a text of several lines as a literal block.
func (e *emitter) literal(s string, indent int) {
	e.dst = append(e.dst, '|')
	if s[0] == ' ' || s[0] == '\n' || isSeparator(s, 0) {
		e.dst = append(e.dst, '2')
	}
	rest, ended := cutBreak(s)
	if !ended {
		e.dst = append(e.dst, '-')
	} else if _, twice := cutBreak(rest); twice || rest == "" {
		e.dst = append(e.dst, '+')
	}
	e.dst = append(e.dst, '\n')
	for s != "" {
		if s[0] != '\n' && !isSeparator(s, 0) {
			e.indent(indent)
		}
		n := breakEnd(s)
		e.dst = append(e.dst, s[:n]...)
		s = s[n:]
		if s != "" {
			e.flushMuch()
		}
	}
	e.ended = ended
}

// cutBreak returns s without its final line break, if any.
func cutBreak(s string) (string, bool) {
	if rest, ok := strings.CutSuffix(s, "\n"); ok {
		return rest, true
	}
	if len(s) >= 3 && isSeparator(s, len(s)-3) {
		return s[:len(s)-3], true
	}
	return s, false
}

// breakEnd returns the position after the first line break of s, or its length.
func breakEnd(s string) int {
	n := strings.IndexByte(s, '\n') + 1
	if n == 0 {
		n = len(s)
	}
	if i := strings.Index(s[:n], "\u2028"); i >= 0 {
		n = i + 3
	}
	if i := strings.Index(s[:n], "\u2029"); i >= 0 {
		n = i + 3
	}
	return n
}
