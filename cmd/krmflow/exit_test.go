package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/internal/cli/exit"
)

// docs/exit-codes.md has a row for each exit code in the table, and no others. docs/functions.md
// has the rows of the codes that concern functions.
func TestExitCodesInDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/exit-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	functions, err := os.ReadFile("../../docs/functions.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, e := range exitCodes {
		row := fmt.Sprintf("| %d | %s |", e.code, e.when)
		want = append(want, row)
		if e.code >= exit.Trust && e.code <= exit.Retrieval && !strings.Contains(string(functions), "\n"+row) {
			t.Errorf("docs/functions.md does not have the row %s", row)
		}
	}
	if got := exitRow.FindAllString(string(page), -1); !slices.Equal(got, want) {
		t.Errorf("docs/exit-codes.md has the rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// exitRow matches the first two cells of a row that begins with a number.
var exitRow = regexp.MustCompile(`(?m)^\| \d+ \| [^|]* \|`)

func TestExitHelp(t *testing.T) {
	for line := range strings.Lines(exitHelp(120)) {
		if len(strings.TrimSuffix(line, "\n")) > 120 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}
