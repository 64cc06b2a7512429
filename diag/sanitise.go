package diag

import (
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Sanitise makes all characters in s visible that could control a terminal or disguise text. It
// escapes control characters except newline and tab, marks that reorder text, line and paragraph
// separators, and invalid UTF-8, for instance as \x1b or \u202e. It returns a clean s unchanged.
func Sanitise(s string) string {
	i := firstUnsafe(s)
	if i < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:i])
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case !unsafeRune(r, n):
			b.WriteString(s[i : i+n])
		// JSON has no \x; DEL is the only such byte that JSON leaves unescaped.
		case n == 1 && r != 0x7f:
			writeHex(&b, 'x', uint32(s[i]), 2)
		default:
			writeHex(&b, 'u', uint32(r), 4)
		}
		i += n
	}
	return b.String()
}

// JSONName returns the name of a file for a JSON document. JSON cannot represent invalid UTF-8,
// and encoding/json replaces all such bytes by the same character. JSONName therefore quotes a
// name with such bytes and writes them as \xff. It also quotes a name that begins with a
// quotation mark, so different names always have different results.
func JSONName(name string) string {
	if utf8.ValidString(name) && !strings.HasPrefix(name, `"`) {
		return name
	}
	return strconv.Quote(name)
}

// ShellWord returns s as one word of a command line, quoted if necessary. A command copied from a
// message must do what it shows, even if an attacker chose s.
func ShellWord(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,#?"
	if s != "" && s[0] != '#' && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// firstUnsafe returns the index of the first rune of s that must be escaped, -1 if there is none.
func firstUnsafe(s string) int {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if unsafeRune(rune(c), 1) {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if unsafeRune(r, n) {
			return i
		}
		i += n
	}
	return -1
}

// unsafeRune reports whether r, decoded from n bytes, must be escaped.
func unsafeRune(r rune, n int) bool {
	switch {
	case r < 0x20:
		return r != '\n' && r != '\t'
	case r < 0x7f:
		return false
	case r < 0xa0: // DEL and C1
		return true
	case r == utf8.RuneError:
		return n == 1
	}
	switch r {
	case 0x061c, 0x200e, 0x200f, // directional marks
		0x2028, 0x2029, // line and paragraph separators
		0x202a, 0x202b, 0x202c, 0x202d, 0x202e, // embeddings and overrides
		0x2066, 0x2067, 0x2068, 0x2069: // isolates
		return true
	}
	return false
}

func writeHex(b *strings.Builder, kind byte, v uint32, digits int) {
	b.WriteByte('\\')
	b.WriteByte(kind)
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		b.WriteByte("0123456789abcdef"[v>>shift&0xf])
	}
}

// SanitisingWriter returns a writer that writes to w the result of [Sanitise]. It holds back a
// character that is split between two writes until it is complete. It may be used concurrently if
// all writes to w go through it.
func SanitisingWriter(w io.Writer) io.Writer { return &sanitiser{w: w} }

type sanitiser struct {
	mu   sync.Mutex
	w    io.Writer
	tail []byte // the incomplete character at the end of the previous write
}

// Write reports len(p) if w accepted all of the text, regardless of the length of its escaped
// form.
func (s *sanitiser) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := p
	if len(s.tail) > 0 {
		text = append(s.tail, p...)
	}
	keep := incompleteTail(text)
	out := Sanitise(string(text[:len(text)-keep]))
	s.tail = append([]byte(nil), text[len(text)-keep:]...)
	if out == "" {
		return len(p), nil
	}
	if _, err := io.WriteString(s.w, out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// incompleteTail returns the number of bytes at the end of p that begin an incomplete character.
func incompleteTail(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if c := p[len(p)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
