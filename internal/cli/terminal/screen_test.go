package terminal

import (
	"bytes"
	"os"
	"testing"
)

// Messages never follow the status line on the same line.
func TestScreenRemovesStatusLine(t *testing.T) {
	var b bytes.Buffer
	s := &Screen{err: &b, errTTY: true}
	s.Show("1 done")
	s.Show("2 done")
	s.Stderr().Write([]byte("Warning: x\n"))
	s.Stderr().Write([]byte("Warning: y\n"))
	s.Show("")
	s.Show("3 done")
	s.Show("")
	want := "1 done\r\x1b[K2 done\r\x1b[KWarning: x\nWarning: y\n3 done\r\x1b[K"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

// Output that may fit the screen is held with the messages between its parts, and released in
// order.
func TestScreenHoldsShortOutput(t *testing.T) {
	var b bytes.Buffer
	s := &Screen{out: &b, err: &b, outTTY: true, errTTY: true, width: 10, height: 5, pagerOf: func() string { return "none-of-this-name" }}
	s.Stderr().Write([]byte("first\n"))
	s.Stdout().Write([]byte("one\n"))
	s.Stderr().Write([]byte("two\n"))
	s.Show("a status")
	if b.String() != "first\n" {
		t.Errorf("%q before the end", b.String())
	}
	if err := s.Close(); err != nil || b.String() != "first\none\ntwo\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
	s.Stdout().Write([]byte("three\n"))
	if b.String() != "first\none\ntwo\nthree\n" {
		t.Errorf("%q after the end", b.String())
	}
	// A pager that does not exist loses nothing.
	b.Reset()
	s = &Screen{out: &b, err: &b, outTTY: true, errTTY: true, width: 10, height: 5, pagerOf: s.pagerOf}
	s.Stdout().Write([]byte("1\n2\n3\n4\n5\n"))
	if b.String() != "1\n2\n3\n4\n5\n" {
		t.Errorf("%q without the pager", b.String())
	}
}

func TestMeasureCountsRows(t *testing.T) {
	for text, want := range map[string]int{
		"":                               0,
		"a\n":                            1,
		"a\nb":                           1,
		"0123456789\n":                   1,
		"01234567890\n":                  2,
		"\x1b[31m0123456789\x1b[0m\n":    1,
		"\tabc\n":                        2,
		"äöüäöüäöüä\n":                   1,
		"0123456789012345678901234567\n": 3,
	} {
		var m measure
		if got := m.add([]byte(text), 10); got != want {
			t.Errorf("%q takes %d rows, want %d", text, got, want)
		}
	}
}

// One rule decides about colors.
func TestColorsRule(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, tt := range []struct {
		flag           Colors
		noColor, force string
		want           Palette
	}{
		{"", "", "", false},
		{"auto", "", "1", true},
		{"auto", "", "0", false},
		{"auto", "1", "1", false},
		{"never", "", "1", false},
		{"always", "1", "", true},
	} {
		t.Setenv("NO_COLOR", tt.noColor)
		t.Setenv("CLICOLOR_FORCE", tt.force)
		if got := tt.flag.On(file); got != tt.want {
			t.Errorf("--color %q, NO_COLOR=%s, CLICOLOR_FORCE=%s: %t", tt.flag, tt.noColor, tt.force, got)
		}
	}
}
