package krmflow_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// TestLinks checks the relative links of all Markdown files: the file exists, and it has the
// heading or anchor after #. Pages of messages become sections of docs/messages.md, so their links
// are relative to docs. Links to other hosts are not checked.
func TestLinks(t *testing.T) {
	links := 0
	for _, file := range filesOf(t, ".md") {
		base := filepath.Dir(file)
		if filepath.ToSlash(base) == "internal/cli/messages/pages" {
			base, file = "docs", filepath.Join("docs", "messages.md")
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for number, line := range prose(string(text)) {
			for _, m := range linkTarget.FindAllStringSubmatch(line, -1) {
				path, anchor, _ := strings.Cut(m[1], "#")
				if strings.Contains(path, ":") {
					continue
				}
				links++
				to := file
				if path != "" {
					to = filepath.Join(base, path)
				}
				if _, err := os.Stat(to); err != nil {
					t.Errorf("%s:%d: %s: no such file", file, number+1, m[1])
				} else if anchor != "" && strings.HasSuffix(to, ".md") && !anchors(t, to)[anchor] {
					t.Errorf("%s:%d: %s: %s has no such heading", file, number+1, m[1], to)
				}
			}
		}
	}
	if links < 300 {
		t.Errorf("%d links are checked", links)
	}
}

// TestPagesNamedInCode checks that pages of docs that Go files name exist, with their headings.
func TestPagesNamedInCode(t *testing.T) {
	for _, file := range filesOf(t, ".go") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range pageName.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s: %s: no such page", file, m[1])
			} else if m[2] != "" && !anchors(t, m[1])[m[2]] {
				t.Errorf("%s: %s has no heading #%s", file, m[1], m[2])
			}
		}
	}
}

// TestAllPagesAreIndexed checks that docs/README.md has a link to each page of docs.
func TestAllPagesAreIndexed(t *testing.T) {
	index, err := os.ReadFile("docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if name := filepath.Base(page); name != "README.md" && !strings.Contains(string(index), "]("+name+")") {
			t.Errorf("docs/README.md has no link to %s", name)
		}
	}
}

func TestAnchorOf(t *testing.T) {
	for heading, want := range map[string]string{
		"Where do I add …?":                       "where-do-i-add-",
		"As helm's post-renderer":                 "as-helms-post-renderer",
		"From a directory, or from any `fs.FS`":   "from-a-directory-or-from-any-fsfs",
		"The [plan](plan.md), twice":              "the-plan-twice",
		"KF0101":                                  "kf0101",
		"snake_case and a-dash -- and *emphasis*": "snake_case-and-a-dash----and-emphasis",
	} {
		if got := anchorOf(heading); got != want {
			t.Errorf("%q has the anchor %q, want %q", heading, got, want)
		}
	}
}

// filesOf returns the files of the repository with the given extension, without hidden folders.
func filesOf(t *testing.T, extension string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && strings.HasPrefix(d.Name(), "."), d.IsDir() && d.Name() == "bin":
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(path, extension):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var (
	pageName   = regexp.MustCompile(`\b(docs/[a-z-]+\.md)(?:#([a-z0-9-]+))?`)
	linkTarget = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	linkText   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	codeSpan   = regexp.MustCompile("`[^`]*`")
	anchorTag  = regexp.MustCompile(`<a (?:id|name)="([^"]*)"`)
	heading    = regexp.MustCompile(`^#{1,6} +(.*)`)
)

// prose returns the lines of text with code blanked out: fenced blocks and spans.
func prose(text string) []string {
	lines := strings.Split(text, "\n")
	fenced := false
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence || fenced {
			lines[i] = ""
		} else if !heading.MatchString(line) {
			lines[i] = codeSpan.ReplaceAllString(line, "`code`")
		}
		if fence {
			fenced = !fenced
		}
	}
	return lines
}

// anchors returns the anchors of a Markdown file, as GitHub makes them: of headings, where a
// repeated one gets a number, and of HTML anchors.
func anchors(t *testing.T, file string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, line := range prose(string(text)) {
		if m := heading.FindStringSubmatch(line); m != nil {
			anchor := anchorOf(m[1])
			for i := 1; found[anchor]; i++ {
				anchor = anchorOf(m[1]) + "-" + strconv.Itoa(i)
			}
			found[anchor] = true
		}
		for _, m := range anchorTag.FindAllStringSubmatch(line, -1) {
			found[m[1]] = true
		}
	}
	return found
}

// anchorOf returns GitHub's anchor for a heading: the text in lower case, with dashes for spaces
// and without punctuation.
func anchorOf(heading string) string {
	text := linkText.ReplaceAllString(strings.TrimSpace(heading), "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}
