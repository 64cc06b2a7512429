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

Every error and warning has a code. ` + "`krmflow explain CODE`" + ` prints its description, and ` + "`krmflow explain`" + ` lists the codes. The first message
of a kind names its code in a line below it; logs and [reports](reports.md) in JSON have it in ` + "`code`" + `, SARIF in ` + "`ruleId`" + `. The first two digits follow the exit codes: 01 is the input, 02 the command line, 03 trust, 04 verification, 05 functions that failed, 06 limits, 07 fetching, and 09 the output.
A code never gets another meaning.

This page is generated from internal/cli/messages/pages. A test renders each incorrect example and checks its code.
`)
	for _, a := range Areas() {
		fmt.Fprintf(&b, "\n## %s\n", a.Title)
		for _, p := range a.Pages {
			fmt.Fprintf(&b, "\n### %s\n\n**%s**\n\n%s", p.Code, p.Title, p.Text)
		}
	}
	return b.String()
}
