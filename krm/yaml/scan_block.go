package yaml

// blockScalar parses a literal (|) or folded (>) scalar in the mapping or list at column indent.
func (p *parser) blockScalar(indent int) (Value, bool) {
	folded := p.s[p.i] == '>'
	text, ok := p.blockText(indent)
	if !ok {
		return Value{}, false
	}
	v := QuotedStr(text)
	v = v.flagged(reread, folded && !p.yaml11)
	return v, p.next()
}

// blockText parses the header and the lines of a block scalar. It moves to the start of the line
// after them.
func (p *parser) blockText(indent int) (string, bool) {
	folded := p.s[p.i] == '>'
	p.i++
	keep, strip, n, ok := p.blockHeader(indent)
	if !ok {
		return "", false
	}
	// Without an indentation in the header, the blank lines before the text affect it.
	breaks, n, ok := p.blockBreaks(n, indent)
	s, buf := p.s, p.buf[:0]
	ended, blank := false, false // the last line had a line end; it started with a blank
	for ok && p.i < len(s) && p.i-p.line == n {
		first := class[s[p.i]]&isBlank != 0
		switch {
		case !ended:
		case !folded || blank || first:
			buf = append(buf, '\n')
		case breaks == 0:
			buf = append(buf, ' ')
		}
		for ; breaks > 0; breaks-- {
			buf = append(buf, '\n')
		}
		blank = first
		end := lineEnd(s, p.i)
		buf = append(buf, s[p.i:end]...)
		p.i = end
		if ended = end < len(s); !ended {
			break
		}
		p.i++
		p.line = p.i
		breaks, _, ok = p.blockBreaks(n, indent)
	}
	if ended && !strip {
		buf = append(buf, '\n')
	}
	for ; breaks > 0 && keep; breaks-- {
		buf = append(buf, '\n')
	}
	p.buf = buf
	if p.i < len(s) {
		p.i = p.line
	}
	return p.cutText(buf), ok
}

// blockHeader parses the rest of the line after | or >. indent is 0 if the header does not have
// it.
func (p *parser) blockHeader(parent int) (keep, strip bool, indent int, ok bool) {
	for range 2 {
		switch c := byteAt(p.s, p.i); {
		case (c == '+' || c == '-') && !keep && !strip:
			keep, strip = c == '+', c == '-'
			p.i++
		case c >= '1' && c <= '9' && indent == 0:
			indent = max(parent, 0) + int(c-'0')
			p.i++
		}
	}
	p.blanks()
	if byteAt(p.s, p.i) == '#' {
		p.i = lineEnd(p.s, p.i)
	}
	if p.i < len(p.s) {
		if p.s[p.i] != '\n' {
			return keep, strip, indent, p.fail("found text after the | or > that starts a block of text")
		}
		p.i++
		p.line = p.i
	}
	return keep, strip, indent, true
}

func byteAt(s string, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return 0
}

// blockBreaks skips blank lines and the indentation of the next line. An indent of 0 means that
// the indentation is to be detected. It returns the number of line ends and the indentation.
func (p *parser) blockBreaks(indent, parent int) (breaks, found int, ok bool) {
	s, i, most := p.s, p.i, 0
	for {
		for i < len(s) && s[i] == ' ' && (indent == 0 || i-p.line < indent) {
			i++
		}
		most = max(most, i-p.line)
		p.i = i
		if i >= len(s) {
			break
		}
		if s[i] == '\t' && (indent == 0 || i-p.line < indent) {
			return breaks, indent, p.fail("found a tab where indentation is expected")
		}
		if s[i] != '\n' {
			break
		}
		i++
		breaks++
		p.line, p.i = i, i
	}
	if indent == 0 {
		indent = max(most, parent+1, 1)
	}
	return breaks, indent, true
}
