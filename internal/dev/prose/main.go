// Prose counts stilted phrases in the English of the project, and finds lines that are too long. It
// is the gate for the style that CONTRIBUTING describes:
//
//	go run ./internal/dev/prose [DIR]
//
// It prints the phrases per 1,000 pieces of 100 characters, for Go comments and for Markdown, and
// each line that is too long. The exit code is 1 if a limit is exceeded. The count finds a habit:
// clauses that begin with "what", "who" or "that of" in place of a noun. It says nothing about
// sentences that avoid these words and are still hard to read.
package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of the project: phrases per 1,000 pieces, and columns with a tab as four.
const (
	maxComments, maxMarkdown                    = 20, 25
	commentColumns, markdownColumns, codeColumn = 100, 120, 140
)

// phrases are patterns of the habit.
var phrases = []*regexp.Regexp{
	regexp.MustCompile(
		`(?i)\bwhat (is|was|it|the|has|had|they|a|an|of|comes|can|must|this|that|some|else|may|does|did|needs?|runs?|makes?|says?)\b`),
	regexp.MustCompile(`(?i)\b(that|those) (of|which|who)\b`),
	regexp.MustCompile(`(?i)\b(nobody|somebody|whoever|anybody|who (needs|has|knows|runs|names|wants))\b`),
	regexp.MustCompile(`(?i), too\b`),
	regexp.MustCompile(`(?i)\b(is|are|it's) no [a-z]+`),
	regexp.MustCompile(`(?i)\b(told|stands?|behind|counts? (for|more|as)|another one|the other way round)\b`),
}

// longString is a string, or a part of one, of more than 60 characters.
var longString = regexp.MustCompile("\"([^\"\\\\]|\\\\.){60,}\"|`[^`]{60,}`")

// A text is the prose of one kind.
type text struct {
	name  string
	limit float64
	lines []string
}

// rate returns the number of phrases per 1,000 pieces of 100 characters. Lines of prose differ in
// width, so lines are not a unit.
func (t *text) rate() float64 {
	n, size := 0, 0
	for _, line := range t.lines {
		size += utf8.RuneCountInString(line)
	}
	joined := strings.Join(t.lines, "\n")
	for _, p := range phrases {
		n += len(p.FindAllStringIndex(joined, -1))
	}
	return float64(n) * 100_000 / float64(max(size, 100))
}

func main() {
	dir := "."
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	ok, err := check(os.Stdout, os.DirFS(dir))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// check writes the counts and the lines that are too long, and reports whether everything is within
// the limits.
func check(w io.Writer, tree fs.FS) (ok bool, err error) {
	comments, markdown := &text{name: "comments", limit: maxComments}, &text{name: "Markdown", limit: maxMarkdown}
	var long []string
	err = fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if name := d.Name(); name != "." && strings.HasPrefix(name, ".") ||
				slices.Contains([]string{"testdata", "vendor", "node_modules", "bin", "dist"}, name) {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		var read func(lines []string, add func(string)) []line
		to := comments
		switch {
		case strings.HasSuffix(path, ".pb.go"):
			return nil
		case filepath.Ext(path) == ".go":
			read = goProse
			if strings.HasSuffix(path, "_test.go") {
				to = &text{} // comments of tests are not counted
			}
		case filepath.Ext(path) == ".md":
			read, to = markdownProse, markdown
		default:
			return nil
		}
		data, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		lines := strings.Split(string(data), "\n")
		if strings.HasPrefix(lines[0], "// Code generated ") {
			return nil
		}
		for i, l := range lines {
			if strings.HasPrefix(l, "<<<<<<< ") || strings.HasPrefix(l, ">>>>>>> ") {
				long = append(long, fmt.Sprintf("%s:%d: a conflict of a merge", path, i+1))
			}
		}
		for _, l := range read(lines, func(s string) { to.lines = append(to.lines, s) }) {
			long = append(long, fmt.Sprintf("%s:%d: %d columns, at most %d", path, l.number, l.columns, l.limit))
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	ok = len(long) == 0
	for _, t := range []*text{comments, markdown} {
		fmt.Fprintf(w, "%-8s %5.1f phrases per 1,000 pieces, at most %.0f\n", t.name, t.rate(), t.limit)
		ok = ok && t.rate() <= t.limit
	}
	for _, l := range long {
		fmt.Fprintln(w, l)
	}
	return ok, nil
}

// A line is a line that is too long.
type line struct{ number, columns, limit int }

// goProse adds the comments of a Go file, and returns the lines that are too long. Comments with an
// address or a directive, the output of examples, and raw strings may have any width. So may a line
// of code with a long string in one piece: people search for messages.
func goProse(lines []string, add func(string)) (long []line) {
	raw := false    // in a raw string
	output := false // in the output of an example
	for i, text := range lines {
		trimmed := strings.TrimSpace(text)
		output = strings.HasPrefix(trimmed, "//") && (output || trimmed == "// Output:")
		limit := codeColumn
		switch {
		case raw || output:
			limit = 0
		case strings.HasPrefix(trimmed, "//go:") || strings.Contains(text, "://"):
			limit = 0
		case strings.HasPrefix(trimmed, "//"):
			limit = commentColumns
		}
		if !raw && !strings.HasPrefix(trimmed, "//go:") {
			if comment, ok := strings.CutPrefix(trimmed, "//"); ok {
				add(strings.TrimSpace(comment))
			} else if _, comment, ok := strings.Cut(text, " // "); ok {
				add(strings.TrimSpace(comment))
			}
		}
		if !strings.HasPrefix(trimmed, "//") && strings.Count(text, "`")%2 == 1 {
			raw = !raw
			limit = 0 // the line has a part of the string
		}
		n := columns(text)
		if limit == codeColumn && n > limit {
			n = columns(longString.ReplaceAllString(text, `""`))
		}
		if limit > 0 && n > limit {
			long = append(long, line{i + 1, n, limit})
		}
	}
	return long
}

// markdownProse adds the text of a Markdown file, and returns the lines that are too long. Code,
// tables and lines that are one link may have any width.
func markdownProse(lines []string, add func(string)) (long []line) {
	code := false
	for i, text := range lines {
		trimmed := strings.TrimSpace(text)
		if strings.HasPrefix(trimmed, "```") {
			code = !code
			continue
		}
		if code || trimmed == "" || strings.HasPrefix(text, "    ") {
			continue
		}
		add(trimmed)
		if n := columns(text); n > markdownColumns && trimmed[0] != '|' && strings.Contains(trimmed, " ") {
			long = append(long, line{i + 1, n, markdownColumns})
		}
	}
	return long
}

// columns returns the width of a line with a tab as four columns.
func columns(text string) int {
	return utf8.RuneCountInString(strings.ReplaceAll(text, "\t", "    "))
}
