package danger_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/lint/danger"
)

var update = flag.Bool("update", false, "write the table in docs/danger.md")

// docs/danger.md has the table of rules. -update writes it.
func TestDocumentedRules(t *testing.T) {
	const file, mark = "../../docs/danger.md", "<!-- rules -->\n"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(page), mark)
	if !ok || !strings.Contains(before, danger.Kubernetes) {
		t.Fatalf("%s has no line %q, or does not name %s", file, mark, danger.Kubernetes)
	}
	var b strings.Builder
	b.WriteString(before + mark + "\n| kind | field | condition | refused by |\n|---|---|---|---|\n")
	for _, r := range danger.Rules() {
		var notes []string
		if r.Except != nil {
			notes = append(notes, "except `"+strings.Join(r.Except, "`, `")+"`")
		}
		if r.Default != "" {
			notes = append(notes, "default `"+r.Default+"`")
		}
		if r.When != "" {
			notes = append(notes, r.When)
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | `%s` |\n", r.Kind, r.Field, strings.Join(notes, "; "), r.By)
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if b.String() != string(page) {
		t.Errorf("%s is out of date: go test ./lint/danger -run TestDocumentedRules -update", file)
	}
}
