package yaml

import (
	"strings"
	"unicode/utf8"
)

// quoted parses a quoted scalar and moves after the closing quote.
func (p *parser) quoted() (Value, bool) {
	quote := p.s[p.i]
	start := p.i + 1
	p.multi = false
	for i := start; i < len(p.s); i++ {
		switch c := p.s[i]; {
		case c == quote:
			if quote == '\'' && i+1 < len(p.s) && p.s[i+1] == '\'' {
				return p.quotedSlow(quote, i)
			}
			p.i = i + 1
			v := QuotedStr(p.s[start:i])
			p.noteAmbiguous(v, start)
			return v, true
		case c == '\n' || c == '\\' && quote == '"':
			return p.quotedSlow(quote, i)
		}
	}
	return Value{}, p.fail("the closing quote of this text is missing")
}

// quotedSlow parses a quoted scalar with escapes or several lines. The first of these is at i.
func (p *parser) quotedSlow(quote byte, i int) (Value, bool) {
	s := p.s
	buf := append(p.buf[:0], s[p.i+1:i]...)
	for s[i] == '\n' && len(buf) > 0 && class[buf[len(buf)-1]]&isBlank != 0 {
		buf = buf[:len(buf)-1]
	}
	for i < len(s) {
		c := s[i]
		switch {
		case c == quote:
			if quote == '"' || i+1 >= len(s) || s[i+1] != '\'' {
				p.buf = buf
				p.i = i + 1
				return QuotedStr(p.cutText(buf)), true
			}
			buf = append(buf, '\'')
			i += 2
		case c == '\\' && quote == '"':
			if i+1 < len(s) && s[i+1] == '\n' {
				n := 0
				if i, n = p.lineEnds(i + 1); n < 0 {
					return Value{}, false
				}
				for ; n > 1; n-- {
					buf = append(buf, '\n')
				}
				continue
			}
			var ok bool
			if buf, i, ok = p.escape(buf, i+1); !ok {
				return Value{}, false
			}
		case c == '\n':
			n := 0
			if i, n = p.lineEnds(i); n < 0 {
				return Value{}, false
			}
			buf = fold(buf, n)
		case class[c]&isBlank != 0:
			k := i
			for k < len(s) && class[s[k]]&isBlank != 0 {
				k++
			}
			if k < len(s) && s[k] != '\n' {
				buf = append(buf, s[i:k]...)
			}
			i = k
		default:
			k := i + 1
			for k < len(s) && s[k] != quote && s[k] != '\\' && class[s[k]]&(isBlank|isBreak) == 0 {
				k++
			}
			buf = append(buf, s[i:k]...)
			i = k
		}
	}
	return Value{}, p.fail("the closing quote of this text is missing")
}

// lineEnds skips the line end at i and the blank lines and indentation after it. It returns the
// number of line ends, -1 at a document marker.
func (p *parser) lineEnds(i int) (next, n int) {
	p.multi = true
	for ; i < len(p.s); i++ {
		if p.s[i] == '\n' {
			n++
			p.line = i + 1
			if isMarker(p.s, i+1) {
				p.fail("found a document marker inside quoted text")
				return i, -1
			}
		} else if class[p.s[i]]&isBlank == 0 {
			break
		}
	}
	return i, n
}

// escape appends the character of the escape sequence at i, which is after the backslash.
func (p *parser) escape(buf []byte, i int) ([]byte, int, bool) {
	if i >= len(p.s) {
		return buf, i, p.fail("the closing quote of this text is missing")
	}
	switch c := p.s[i]; c {
	case 'x':
		return p.codePoint(buf, i+1, 2)
	case 'u':
		return p.codePoint(buf, i+1, 4)
	case 'U':
		return p.codePoint(buf, i+1, 8)
	default:
		r, ok := unescape(c)
		if !ok {
			p.i = i
			return buf, i, p.fail("found an unknown escape sequence in double quotes")
		}
		return utf8.AppendRune(buf, r), i + 1, true
	}
}

func unescape(c byte) (rune, bool) {
	switch c {
	case ' ', '"', '\'', '\\', '\t':
		return rune(c), true
	case '0':
		return 0, true
	case 'a':
		return '\a', true
	case 'b':
		return '\b', true
	case 't':
		return '\t', true
	case 'n':
		return '\n', true
	case 'v':
		return '\v', true
	case 'f':
		return '\f', true
	case 'r':
		return '\r', true
	case 'e':
		return 0x1b, true
	case 'N':
		return 0x85, true
	case '_':
		return 0xA0, true
	case 'L':
		return 0x2028, true
	case 'P':
		return 0x2029, true
	}
	return 0, false
}

func (p *parser) codePoint(buf []byte, i, digits int) ([]byte, int, bool) {
	r := rune(0)
	for k := range digits {
		d := -1
		if i+k < len(p.s) {
			d = strings.IndexByte("0123456789abcdef", p.s[i+k]|0x20)
		}
		if d < 0 || p.s[i+k] < '0' {
			p.i = i
			return buf, i, p.fail("expected hexadecimal digits after the escape sequence")
		}
		r = r<<4 | rune(d)
	}
	if !utf8.ValidRune(r) {
		p.i = i
		return buf, i, p.fail("the escape sequence is not a Unicode character")
	}
	return utf8.AppendRune(buf, r), i + digits, true
}
