package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/messages"
	"github.com/rogpeppe/go-internal/txtar"
)

// Each kind of message has a page, and each page belongs to a kind of message.
func TestPagesAreComplete(t *testing.T) {
	source, err := os.ReadFile("../../diag/codes.go")
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, m := range regexp.MustCompile(`Code = "(KF\d{4})"`).FindAllStringSubmatch(string(source), -1) {
		kinds = append(kinds, m[1])
	}
	pages := messages.Codes()
	if !slices.Equal(kinds, pages) {
		t.Errorf("package diag has\n%s\nand there are pages for\n%s", kinds, pages)
	}
	if !slices.IsSorted(pages) || len(slices.Compact(slices.Clone(pages))) != len(pages) {
		t.Error("the codes are not sorted, or one stands there twice")
	}
	for _, a := range messages.Areas() {
		for _, p := range a.Pages {
			if p.Title == "" || strings.HasSuffix(p.Title, ".") || !strings.Contains(p.Text, " ") {
				t.Errorf("%s: title %q, text %q", p.Code, p.Title, p.Text)
			}
		}
	}
}

// docs/messages.md is generated from the pages. -update writes it.
func TestMessagesDocument(t *testing.T) {
	const file = "../../docs/messages.md"
	if *update {
		if err := os.WriteFile(file, []byte(messages.Markdown()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != messages.Markdown() {
		t.Errorf("%s is not what the pages say (%v): go test ./cmd/krmflow -run TestMessagesDocument -update", file, err)
	}
}

var example = regexp.MustCompile("(?m)^(Wrong|Right):\n\n```txtar\n((?s:.*?))^```$")

// Each wrong example of a page produces the message of that page. Each right example does not
// produce it, and renders.
func TestExamplesOfPages(t *testing.T) {
	examples := 0
	for _, a := range messages.Areas() {
		for _, p := range a.Pages {
			found := example.FindAllStringSubmatch(p.Text, -1)
			if n := strings.Count(p.Text, "```"); n != 4*len(found)/2 || len(found) != 0 && len(found) != 2 {
				t.Errorf("%s has %d blocks of code, %d examples", p.Code, n/2, len(found))
			}
			for _, m := range found {
				examples++
				t.Run(string(p.Code)+"/"+m[1], func(t *testing.T) {
					t.Parallel()
					out, err := runExample(t, m[2])
					switch has := strings.Contains(out, string(p.Code)); {
					case m[1] == "Wrong" && !has && p.Code != diag.UnknownCommand: // whose code is not printed
						t.Errorf("it does not say %s but\n%s", p.Code, out)
					case m[1] == "Right" && (has || err != nil):
						t.Errorf("%v\n%s", err, out)
					}
				})
			}
		}
	}
	if examples < 100 {
		t.Errorf("only %d examples", examples)
	}
}

// runExample runs the command of an example on its files and returns stderr, or the findings that
// diff prints. The default command is krmflow build . Logs in JSON contain all codes.
func runExample(t *testing.T, text string) (out string, err error) {
	t.Helper()
	dir := t.TempDir()
	archive := txtar.Parse([]byte(text))
	for _, f := range archive.Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"build", "."}
	if line, ok := strings.CutPrefix(string(archive.Comment), "$ krmflow "); ok {
		args = strings.Fields(line)
	}
	if args[0] == "build" || args[0] == "plan" {
		args = append(args, "--log-format=json")
	}
	cmd := exec.Command("krmflow", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(t.TempDir(), "cache"), "HOME="+dir)
	var b strings.Builder
	cmd.Stderr = &b
	if args[0] == "diff" {
		cmd.Stdout = &b
	}
	err = cmd.Run()
	return b.String(), err
}
