package render_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What docs/library.md shows of Go is a part of the examples, or compiled here.
func TestLibraryDocs(t *testing.T) {
	doc, err := os.ReadFile("../docs/library.md")
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("example*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	code := ""
	for _, name := range append(sources, "../adapters/krusty/example_test.go") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code += unindented(string(text))
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(doc), -1)
	for _, b := range blocks {
		if !strings.Contains(code, unindented(b[1])) {
			t.Errorf("this is in no example:\n%s", b[1])
		}
	}
	if len(blocks) < 5 {
		t.Errorf("docs/library.md has %d blocks of Go", len(blocks))
	}
}

// unindented returns text without the blanks at the start of its lines.
func unindented(text string) string {
	return regexp.MustCompile(`(?m)^[ \t]+`).ReplaceAllString(text, "")
}
