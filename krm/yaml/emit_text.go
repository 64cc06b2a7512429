package yaml

import (
	"strings"
	"unicode/utf8"
)

// foldAt is the column after which yaml/v2 breaks the line at the next space.
const foldAt = 80

// The properties of a text that determine the style in which yaml/v2 writes it.
const (
	hasLineFeed = 1 << iota
	multiLine   // any line break, including Unicode ones
	noPlain
	noSingle
	noBlock
	hasSpace
)

// simpleKey writes key and reports true. If the key has several lines or more than 128 bytes, it
// writes nothing and reports false.
func (e *emitter) simpleKey(key string) bool {
	if len(key) > 128 {
		return false
	}
	if plainWord(key) {
		e.dst = append(e.dst, key...)
		return true
	}
	if !utf8.ValidString(key) {
		key = jsonText(key)
	}
	flags := analyze(key)
	if flags&multiLine != 0 {
		return false
	}
	e.styled(key, flags, -1)
	return true
}

// text writes a string. Further lines start at column indent.
func (e *emitter) text(s string, indent int) {
	if plainWord(s) {
		e.dst = append(e.dst, s...)
		return
	}
	if !utf8.ValidString(s) {
		s = jsonText(s)
	}
	flags := analyze(s)
	if flags&hasLineFeed != 0 {
		if flags&noBlock == 0 {
			e.literal(s, indent)
		} else {
			e.double(s, indent)
		}
		return
	}
	e.styled(s, flags, indent)
}

// styled writes a text without line feeds in the first style that can represent it. An indent of
// -1 forbids line breaks.
func (e *emitter) styled(s string, flags uint8, indent int) {
	switch {
	case !staysString(s):
		e.double(s, indent)
	case flags&noPlain == 0:
		if indent < 0 || flags&hasSpace == 0 || len(e.dst)-e.line+len(s) <= foldAt {
			e.dst = append(e.dst, s...)
		} else {
			e.plain(s, indent)
		}
	case flags&noSingle == 0:
		e.single(s, indent)
	default:
		e.double(s, indent)
	}
}

// jsonText returns s as a JSON encoder writes it: each invalid byte becomes U+FFFD.
func jsonText(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}

// plainWord is a fast test for texts that can be written as they are. It covers nearly all keys
// and values without spaces.
func plainWord(s string) bool {
	if s == "" || !isLetter(s[0]) && s[0] != '/' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c-'a' > 25 && c-'0' > 9 && c-'A' > 25 && c != '-' && c != '.' && c != '/' && c != '_' {
			return false
		}
	}
	return hint[s[0]] == 0 || len(s) > 5 || resolveWord(s, true).typ == String
}

// staysString reports whether YAML 1.1 reads the plain scalar s as a string.
func staysString(s string) bool {
	if s == "" {
		return false
	}
	switch hint[s[0]] {
	case 0:
		return true
	case 'D':
		if _, ok := parseTimestamp(s); ok {
			return false
		}
		return resolveNumber(s, true).typ == String && !isSexagesimal(s)
	}
	return resolve(s, true).typ == String
}

// isSexagesimal reports whether s is a base 60 number of YAML 1.1:
//
//	[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?
func isSexagesimal(s string) bool {
	s = trimSign(s)
	if countDigits(s) == 0 || strings.IndexByte(s, ':') < 0 {
		return false
	}
	s = s[digitsAndUnderscores(s):]
	parts := 0
	for ; strings.HasPrefix(s, ":"); parts++ {
		n := countDigits(s[1:])
		if n == 0 || n > 2 || n == 2 && s[1] > '5' {
			return false
		}
		s = s[1+n:]
	}
	if strings.HasPrefix(s, ".") {
		s = s[1+digitsAndUnderscores(s[1:]):]
	}
	return parts > 0 && s == ""
}

func digitsAndUnderscores(s string) int {
	n := 0
	for n < len(s) && (s[n]-'0' <= 9 || s[n] == '_') {
		n++
	}
	return n
}

// analyze returns the properties of s. s must be valid UTF-8.
func analyze(s string) (flags uint8) {
	if s == "" {
		return noBlock
	}
	if strings.HasPrefix(s, "---") || strings.HasPrefix(s, "...") || class[s[0]]&isIndicator != 0 && startsIndicator(s) {
		flags |= noPlain
	}
	prev := byte('\n') // previous character: ' ', '\n' for any line break, else 0
	blank := true      // the last character was a space, tab or line break
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c < 0x80 && class[c]&(isBlank|isBreak|endsPlain|isControl) == 0:
			prev, blank = 0, false
			i++
		case c == ' ':
			flags |= analyzeSpace(s, i, prev)
			prev, blank = ' ', true
			i++
		default:
			needs, size, isBreak := analyzeRune(s, i, blank)
			if isBreak && prev == ' ' {
				needs |= noSingle | noBlock
			}
			prev, blank = 0, isBreak || c == '\t' || c == 0
			if isBreak {
				prev = '\n'
			}
			flags |= needs
			i += size
		}
	}
	return flags
}

// analyzeSpace returns the properties due to the space at i. prev is the character before, as in
// analyze.
func analyzeSpace(s string, i int, prev byte) uint8 {
	flags := uint8(hasSpace)
	if i == 0 || i+1 == len(s) {
		flags |= noPlain
	}
	if i+1 == len(s) {
		flags |= noBlock
	}
	if i > 0 && prev == '\n' {
		flags |= noPlain | noSingle
	}
	return flags
}

// analyzeRune returns the properties due to the character at i, its size in bytes, and whether it
// is a line break. The character must not be a space. blank is true if it follows a space, tab or
// line break.
func analyzeRune(s string, i int, blank bool) (flags uint8, size int, isBreak bool) {
	switch c := s[i]; {
	case c == ':':
		if i > 0 && (i+1 == len(s) || s[i+1] == ' ' || s[i+1] == '\t') {
			flags = noPlain
		}
	case c == '#':
		if blank {
			flags = noPlain
		}
	case c == '\n':
		return hasLineFeed | multiLine | noPlain, 1, true
	case c == '\r':
		return multiLine | noPlain | noSingle | noBlock, 1, true
	case c < ' ' || c == 0x7f:
		flags = noPlain | noSingle | noBlock
	case c >= 0x80:
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == 0x85:
			return multiLine | noPlain | noSingle | noBlock, size, true
		case r == 0x2028 || r == 0x2029:
			return multiLine | noPlain, size, true
		case r < 0xA0 || r == 0xFEFF || r > 0xFFFD:
			flags = noPlain | noSingle | noBlock
		}
		return flags, size, false
	}
	return flags, 1, false
}

// startsIndicator reports whether s, which starts with an indicator, cannot be a plain scalar.
func startsIndicator(s string) bool {
	switch s[0] {
	case '-', '?', ':':
		return len(s) == 1 || s[1] == ' ' || s[1] == '\t'
	}
	return true
}
