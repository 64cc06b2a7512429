package yaml

// flow parses a list or mapping in brackets and moves after the closing bracket.
func (p *parser) flow() (v Value, ok bool) {
	if !p.enter() {
		return v, false
	}
	if p.s[p.i] == '[' {
		v, ok = p.flowSeq()
	} else {
		v, ok = p.flowMap()
	}
	p.depth--
	v = v.flagged(marked, ok && !p.yaml11)
	if p.positions != nil && v.Len() > 0 {
		p.positions.flow = true
	}
	return v, ok
}

// flowSpace moves to the next token within brackets.
func (p *parser) flowSpace() bool {
	s := p.s
	for p.i < len(s) {
		switch s[p.i] {
		case ' ', '\t':
			p.i++
		case '\n':
			p.i++
			p.line = p.i
			if isMarker(s, p.i) {
				return p.fail("the closing bracket is missing")
			}
		case '#':
			p.i = lineEnd(s, p.i)
		default:
			return true
		}
	}
	return p.fail("the closing bracket is missing")
}

func (p *parser) flowSeq() (v Value, ok bool) {
	base := len(p.items)
	p.i++
	for {
		if !p.flowSpace() {
			return v, false
		}
		if p.s[p.i] == ']' {
			break
		}
		if v, ok = p.flowNode(); !ok || !p.flowSpace() {
			return v, false
		}
		if p.items = append(p.items, v); p.full() {
			return v, p.fail(tooMany)
		}
		if p.s[p.i] == ']' {
			break
		}
		if p.s[p.i] != ',' {
			return v, false
		}
		p.i++
	}
	p.i++
	return p.closeSeq(base), true
}

func (p *parser) flowMap() (v Value, ok bool) {
	base := len(p.fields)
	p.i++
	for {
		if !p.flowSpace() {
			return v, false
		}
		if p.s[p.i] == '}' {
			break
		}
		key, ok := p.flowKey()
		if !ok || !p.flowSpace() {
			return v, false
		}
		v = OmittedNull
		if c := p.s[p.i]; c != ',' && c != '}' {
			if v, ok = p.flowNode(); !ok || !p.flowSpace() {
				return v, false
			}
		}
		if p.fields = append(p.fields, Field{key, v}); p.full() {
			return v, p.fail(tooMany)
		}
		if p.s[p.i] == '}' {
			break
		}
		if p.s[p.i] != ',' {
			return v, false
		}
		p.i++
	}
	p.i++
	return p.closeMap(base)
}

// flowKey parses a key and its colon, which must be on one line.
func (p *parser) flowKey() (string, bool) {
	start := p.i
	if c := p.s[start]; c == '"' || c == '\'' {
		v, ok := p.quoted()
		if !ok || p.multi {
			return "", false
		}
		p.blanks()
		if byteAt(p.s, p.i) != ':' || p.i-start > maxKey {
			return "", false
		}
		p.i++
		return v.Text(), true
	}
	if !p.startsFlowPlain() {
		return "", false
	}
	end, colon := p.flowPlainLine()
	if !colon {
		return "", false
	}
	return p.plainKey(start, end)
}

func (p *parser) flowNode() (Value, bool) {
	switch p.s[p.i] {
	case '"', '\'':
		return p.quoted()
	case '[', '{':
		return p.flow()
	}
	if !p.startsFlowPlain() {
		return Value{}, false
	}
	start := p.i
	end, colon := p.flowPlainLine()
	if c := byteAt(p.s, p.i); colon || c == '[' || c == '{' || c == '?' {
		return Value{}, false
	}
	return p.resolved(p.s[start:end], start)
}

func (p *parser) startsFlowPlain() bool {
	c := p.s[p.i]
	return class[c]&isIndicator == 0 || c == '-' && !blankAt(p.s, p.i+1)
}

// flowPlainLine is plainLine within brackets.
func (p *parser) flowPlainLine() (end int, colon bool) {
	s, start := p.s, p.i
	i := start
	for ; i < len(s); i++ {
		c := s[i]
		if class[c]&endsFlow == 0 {
			continue
		}
		if c == ':' {
			if blankAt(s, i+1) {
				colon = true
				break
			}
		} else if c != '#' || i > start && class[s[i-1]]&isBlank != 0 {
			break
		}
	}
	p.i = i
	for end = i; end > start && class[s[end-1]]&isBlank != 0; {
		end--
	}
	return end, colon
}
