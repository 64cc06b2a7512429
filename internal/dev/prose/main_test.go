package main

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// TestProjectIsWrittenInPlainEnglish checks the project itself: see CONTRIBUTING.
func TestProjectIsWrittenInPlainEnglish(t *testing.T) {
	var out strings.Builder
	if ok, err := check(&out, os.DirFS("../../..")); err != nil || !ok {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestStiltedPhrasesAreCounted(t *testing.T) {
	tree := fstest.MapFS{
		"a.go":      {Data: []byte("package a\n\n// A is what is told to whoever needs it, too.\nvar A int\n")},
		"a_test.go": {Data: []byte("package a\n\n// What is told.\n")},
		"a.md":      {Data: []byte("# Title\n\nPlain text.\n\n```\nwhat is told\n```\n")},
	}
	var out strings.Builder
	ok, err := check(&out, tree)
	if err != nil || ok {
		t.Errorf("%v, %v", ok, err)
	}
	if want := "comments 4000.0 phrases per 1,000 pieces, at most 20\nMarkdown   0.0 phrases"; !strings.HasPrefix(out.String(), want) {
		t.Errorf("printed\n%s, not\n%s", out.String(), want)
	}
}

func TestLongLinesAreFound(t *testing.T) {
	word := strings.Repeat("word ", 30)
	tree := fstest.MapFS{
		"a.go": {Data: []byte("package a\n\n// " + word + "\nvar a = f(1, " + strings.Repeat("two, ", 30) + ")\nvar s = \"" + word + "\"\nvar b = `\n" + word + word + "\n`\n// https://" + word + "\n")},
		"a.md": {Data: []byte(word + "\n| " + word + "|\n")},
	}
	var out strings.Builder
	if _, err := check(&out, tree); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(out.String(), "at most 25\n")
	if want := "a.go:3: 153 columns, at most 100\na.go:4: 164 columns, at most 140\na.md:1: 150 columns, at most 120\n"; rest != want {
		t.Errorf("printed\n%s, not\n%s", rest, want)
	}
}
