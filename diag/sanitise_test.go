package diag

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSanitiseEscapesControlCharacters(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain",
		"two\nlines\tand ünïcode 漢 \U0001f600 \ufffd": "two\nlines\tand ünïcode 漢 \U0001f600 \ufffd",
		"\x1b[31mred\x07\r\x00":                       `\x1b[31mred\x07\x0d\x00`,
		"a\x7fb":                                      `a\u007fb`,
		"csi \u009b31m":                               `csi \u009b31m`,
		"user\u202enimda":                             `user\u202enimda`,
		"\u2066a\u2069\u2028\u2029\u202a":             `\u2066a\u2069\u2028\u2029\u202a`,
		"bad \x9b\xff\xc3":                            `bad \x9b\xff\xc3`,
		"surrogate \xed\xa0\x80":                      `surrogate \xed\xa0\x80`,
	} {
		if got := Sanitise(in); got != want {
			t.Errorf("Sanitise(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestSanitisingWriterSplitCharacters(t *testing.T) {
	const text = "ü漢\U0001f600\u202e\x1b é\n"
	for split := range len(text) {
		var b bytes.Buffer
		w := SanitisingWriter(&b)
		for _, part := range []string{text[:split], text[split:]} {
			if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		if got, want := b.String(), "ü漢\U0001f600"+`\u202e\x1b`+" é\n"; got != want {
			t.Errorf("split at %d: %q, want %q", split, got, want)
		}
	}
}

func FuzzSanitise(f *testing.F) {
	f.Add("a\x1b\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := Sanitise(s)
		if !utf8.ValidString(got) || Sanitise(got) != got {
			t.Errorf("%q -> %q", s, got)
		}
		for _, r := range got {
			if r < ' ' && r != '\n' && r != '\t' || 0x7f <= r && r < 0xa0 ||
				strings.ContainsRune("\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", r) {
				t.Errorf("%q -> %q has %U", s, got, r)
			}
		}
		var b bytes.Buffer
		w := SanitisingWriter(&b)
		for i := range len(s) {
			w.Write([]byte{s[i]})
		}
		w.Write([]byte("\n"))
		if b.String() != Sanitise(s+"\n") {
			t.Errorf("byte by byte %q, want %q", b.String(), Sanitise(s+"\n"))
		}
	})
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{
		"--flag=https://h:1/a_b/c.yaml?ref=v1.0#sha256=00": "--flag=https://h:1/a_b/c.yaml?ref=v1.0#sha256=00",
		"--flag=https://h/$(id)":                           "'--flag=https://h/$(id)'",
		"https://h/';id;'x":                                `'https://h/'\'';id;'\''x'`,
		"a b":                                              "'a b'",
		"#":                                                "'#'",
		"":                                                 "''",
	} {
		if got := ShellWord(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestJSONName checks that a name in JSON is UTF-8 and stays unique, even if a name looks like the
// quoted form of a different name.
func TestJSONName(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"a/ä.yaml", "a\xff", "a\xfe", `a\xff`, `"a\xff"`, "\"a\xff\"", "a\ufffd", "\"a\ufffd\"", `"`, ""} {
		got := JSONName(name)
		if other, again := seen[got]; again || !utf8.ValidString(got) {
			t.Errorf("%q is %q, as is %q", name, got, other)
		}
		seen[got] = name
	}
	if got := JSONName("a/ä \"b\".yaml"); got != "a/ä \"b\".yaml" {
		t.Errorf("a name that JSON can hold is %q", got)
	}
}
