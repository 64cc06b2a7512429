package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/internal/cli/exit"
)

// The exit codes in README and docs/functions.md match the table.
func TestExitCodesInDocs(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	plain := strings.ReplaceAll(string(readme), "`", "")
	if want := exitHelp(1000); !strings.Contains(words(plain), words(want)) {
		t.Errorf("README.md does not have the sentence:\n%s", want)
	}
	functions, err := os.ReadFile("../../docs/functions.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range exitCodes {
		if row := fmt.Sprintf("\n| %d | %s |", e.code, e.when); e.code >= exit.Trust && e.code <= exit.Retrieval && !strings.Contains(string(functions), row) {
			t.Errorf("docs/functions.md does not have the row%s", row)
		}
	}
}

func TestExitHelp(t *testing.T) {
	for line := range strings.Lines(exitHelp(120)) {
		if len(strings.TrimSuffix(line, "\n")) > 120 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}
