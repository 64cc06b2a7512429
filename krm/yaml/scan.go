package yaml

import "unicode/utf8"

// Classes of bytes.
const (
	isBlank     = 1 << iota // space and tab
	isBreak                 // line feed
	isIndicator             // needs further tests at the start of a plain scalar
	endsPlain               // may end a plain scalar outside [] and {}
	endsFlow                // may end a plain scalar inside [] and {}
	isControl               // not allowed in a document
)

var class = [256]uint8{
	' ': isBlank, '\t': isBlank, '\n': isBreak | endsPlain | endsFlow,
	'-': isIndicator, '?': isIndicator | endsFlow, ':': isIndicator | endsPlain | endsFlow, ',': isIndicator | endsFlow,
	'[': isIndicator | endsFlow, ']': isIndicator | endsFlow, '{': isIndicator | endsFlow, '}': isIndicator | endsFlow,
	'#': isIndicator | endsPlain | endsFlow, '&': isIndicator, '*': isIndicator, '!': isIndicator, '|': isIndicator,
	'>': isIndicator, '\'': isIndicator, '"': isIndicator, '%': isIndicator, '@': isIndicator, '`': isIndicator,

	0: isControl, 1: isControl, 2: isControl, 3: isControl, 4: isControl, 5: isControl, 6: isControl, 7: isControl,
	8: isControl, 11: isControl, 12: isControl, 13: isControl, 14: isControl, 15: isControl, 16: isControl,
	17: isControl, 18: isControl, 19: isControl, 20: isControl, 21: isControl, 22: isControl, 23: isControl,
	24: isControl, 25: isControl, 26: isControl, 27: isControl, 28: isControl, 29: isControl, 30: isControl,
	31: isControl, 127: isControl,
}

// simpleText reports whether s has only printable characters, line feeds and tabs.
func simpleText(s string) bool {
	var classes, bits uint8
	i := 0
	for ; i+8 <= len(s); i += 8 {
		x := load64(s[i:])
		if odd := oddBytes(x); odd == 0 || odd == equal(x, '\n') {
			continue
		}
		for j := i; j < i+8; j++ {
			classes |= class[s[j]]
			bits |= s[j]
		}
	}
	for ; i < len(s); i++ {
		classes |= class[s[i]]
		bits |= s[i]
	}
	if classes&isControl != 0 {
		return false
	}
	return bits < 0x80 || firstOdd(s) < 0
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

func load64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// oddBytes sets the high bit of each byte of x that is a control character, including line feed
// and tab, or is not ASCII. The result is 0 if and only if x has no such byte.
func oddBytes(x uint64) uint64 {
	return (^((x | highBits) - lowBits*' ') | (x + lowBits) | x) & highBits
}

// equal sets the high bit of exactly the bytes of x that are c.
func equal(x uint64, c byte) uint64 {
	x ^= lowBits * uint64(c)
	return ^((x&^highBits + ^uint64(highBits)) | x) & highBits
}

// firstOdd returns the position of the first character that YAML does not allow, or that is a
// non-ASCII line break or byte order mark. It returns -1 if there is none.
func firstOdd(s string) int {
	for i, r := range s {
		switch {
		case r < 0x80:
			if class[r]&isControl != 0 {
				return i
			}
		case r < 0xA0, r == 0x2028, r == 0x2029, r == 0xFEFF, r == 0xFFFE, r == 0xFFFF:
			return i
		case r == utf8.RuneError && s[i:min(len(s), i+3)] != "\uFFFD":
			return i
		}
	}
	return -1
}

// startsPlain reports whether a plain scalar may start at the current token, outside [] and {}.
func (p *parser) startsPlain() bool {
	c := p.s[p.i]
	if class[c]&isIndicator == 0 {
		return true
	}
	if c == '-' || c == ':' {
		return !blankAt(p.s, p.i+1)
	}
	switch c {
	case '@', '`', '%':
		return p.fail("found the reserved character " + string(c) + " at the start of a value; put the value in quotes")
	}
	return false
}

// plainLine moves to the end of a plain scalar on its first line. It returns the end of the text
// and whether a colon follows.
func (p *parser) plainLine() (end int, colon bool) {
	s, start := p.s, p.i
	i := start
	for ; i < len(s); i++ {
		c := s[i]
		if class[c]&endsPlain == 0 {
			continue
		}
		if c == '\n' {
			break
		}
		if c == ':' {
			if blankAt(s, i+1) {
				colon = true
				break
			}
		} else if i > start && class[s[i-1]]&isBlank != 0 {
			break
		}
	}
	p.i = i
	for end = i; end > start && class[s[end-1]]&isBlank != 0; {
		end--
	}
	return end, colon
}

// plain parses a plain scalar after "key: ".
func (p *parser) plain(indent int) (Value, bool) {
	if !p.startsPlain() {
		return Value{}, false
	}
	start := p.i
	end, colon := p.plainLine()
	if colon {
		return Value{}, p.fail(secondColon)
	}
	return p.plainRest(start, end, indent)
}

const secondColon = "found a second \"key: \" in one value"

// plainRest parses the lines of a plain scalar after its first. They are indented by more than
// indent.
func (p *parser) plainRest(start, end, indent int) (Value, bool) {
	if !p.next() {
		return Value{}, false
	}
	if p.passed || p.col <= indent {
		return p.resolved(p.s[start:end], start)
	}
	buf := append(p.buf[:0], p.s[start:end]...)
	for !p.passed && p.col > indent {
		buf = fold(buf, p.breaks)
		start = p.i
		end, colon := p.plainLine()
		if colon {
			return Value{}, p.fail(secondColon)
		}
		buf = append(buf, p.s[start:end]...)
		if !p.next() {
			return Value{}, false
		}
	}
	p.buf = buf
	return p.resolved(p.cutText(buf), start)
}

// fold appends the result of folding n line ends between words.
func fold(buf []byte, n int) []byte {
	if n == 1 {
		return append(buf, ' ')
	}
	for ; n > 1; n-- {
		buf = append(buf, '\n')
	}
	return buf
}

// An odd is a value to warn about and its position.
type odd struct {
	offset int
	value  Value
}

// resolved returns the value of the plain scalar s. It leaves merge keys and numbers that JSON
// cannot represent to the slow path.
func (p *parser) resolved(s string, start int) (Value, bool) {
	if s == "" || hint[s[0]] == 0 {
		v := Str(s)
		if len(s) <= 2 {
			p.noteAmbiguous(v, start)
		}
		return v, s != "<<"
	}
	v := resolve(s, p.yaml11)
	if differs(v) {
		p.odd = append(p.odd, odd{start, v})
	}
	p.noteAmbiguous(v, start)
	return v, v.typ != None
}

// differs reports whether v is a number or timestamp whose form changes in the output.
func differs(v Value) bool {
	s := v.Text()
	switch v.typ {
	case Int, Float:
		var buf [32]byte
		return !(len(s) <= 18 && isDecimal(s)) && string(appendLiteral(buf[:0], v, false)) != s
	}
	return v.typ == Time
}

func (p *parser) noteAmbiguous(v Value, start int) {
	if !p.yaml11 && ambiguous(v) {
		p.odd = append(p.odd, odd{start, v})
	}
}

// ambiguous reports whether v is a string that is not quoted in the output, as in kustomize,
// although some YAML readers do not read it as a string: the default key, the merge key, or a
// number beyond the range of floating point numbers.
func ambiguous(v Value) bool {
	if v.typ != String {
		return false
	}
	s := v.Text()
	if len(s) <= 2 {
		return s == "=" || s == "<<"
	}
	if hint[s[0]] != 'D' || !isFloat(s) {
		return false
	}
	_, ok := parseFloat(s)
	return !ok
}
