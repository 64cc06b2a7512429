package render_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLibraryDocs checks that each block of Go in docs/library.md is part of a compiled example.
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

// unindented removes the indentation of each line.
func unindented(text string) string {
	return regexp.MustCompile(`(?m)^[ \t]+`).ReplaceAllString(text, "")
}
