package messages

import (
	"fmt"
	"strings"
)

// String returns the page in the form that krmflow explain prints.
func (p Page) String() string {
	return fmt.Sprintf("%s: %s\n\n%s", p.Code, p.Title, plain(p.Text))
}

// plain converts Markdown to text for a terminal: it indents code blocks and removes the marks
// of bold and code words.
func plain(text string) string {
	var b strings.Builder
	code := false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "```"):
			code = !code
		case code:
			b.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
		default:
			b.WriteString(strings.NewReplacer("**", "", "`", "").Replace(line))
		}
	}
	return b.String()
}

// List returns the list that krmflow explain prints without arguments, with one line per code.
func List() string {
	var b strings.Builder
	for i, a := range Areas() {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s\n", a.Title)
		for _, p := range a.Pages {
			fmt.Fprintf(&b, "  %s  %s\n", p.Code, p.Title)
		}
	}
	return b.String()
}

// Markdown returns all pages as one document, docs/messages.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# Messages

Each error and each warning of krmflow has a code. ` + "`krmflow explain CODE`" + ` prints the section of this page
for a code, and ` + "`krmflow explain`" + ` lists all codes. The first message of each kind shows its code on a line below it.
JSON logs and JSON [reports](reports.md) have it in ` + "`code`" + `, SARIF reports in ` + "`ruleId`" + `.

The first two digits of a code follow the exit codes: 01 is for the input, 02 for the command line, 03 for trust, 04 for
verification, 05 for failed functions, 06 for limits, 07 for fetching, and 09 for the output. The meaning of a code
never changes.

This page is generated from internal/cli/messages/pages. A test runs each wrong example and checks that the message has
the code.
`)
	for _, a := range Areas() {
		fmt.Fprintf(&b, "\n## %s\n", a.Title)
		for _, p := range a.Pages {
			fmt.Fprintf(&b, "\n### %s\n\n**%s**\n\n%s", p.Code, p.Title, p.Text)
		}
	}
	return b.String()
}
