package fn

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// markdown writes the page. Text of the catalog is escaped, so that it cannot contain markup or
// break tables and lists.
func (p *page) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "# %s\n\n", plain(p.Kind))
	if p.Description != "" {
		fmt.Fprintf(b, "%s\n\n", plain(p.Description))
	}
	facts(b, [][2]string{{"Publisher", p.Publisher}, {"Maintainers", strings.Join(p.Maintainers, ", ")}, {"Home", p.Home},
		{"Tags", strings.Join(p.Tags, ", ")}})
	for i, v := range p.Versions {
		if i > 0 {
			b.WriteString("\n")
		}
		v.markdown(b)
	}
}

// facts writes a list of the non-empty facts.
func facts(b *strings.Builder, list [][2]string) {
	n := b.Len()
	for _, f := range list {
		if f[1] != "" {
			fmt.Fprintf(b, "- %s: %s\n", f[0], plain(f[1]))
		}
	}
	if b.Len() > n {
		b.WriteString("\n")
	}
}

func (v *pageVersion) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "## %s\n\n| runs as | what | for | digest |\n|---|---|---|---|\n", plain(v.APIVersion))
	for _, r := range v.Runtimes {
		digest := code(r.Digest)
		switch {
		case r.Problem != "":
			digest = plain(r.Problem)
		case r.Digest == "":
			digest = "none: it cannot be verified"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", plain(r.Runtime), code(r.Source), plain(cmp.Or(r.Platform, "any")), digest)
	}
	b.WriteString("\n")
	may, answers := strings.Join(v.Capabilities, ", "), "may differ from call to call"
	if may == "" {
		may = "nothing but read its input and answer"
	}
	if v.Idempotent {
		answers = "are the same for the same input, and are reused"
	}
	facts(b, [][2]string{{"May use", may}, {"Its answers", answers}, {"License", v.License}, {"Usage", v.Usage},
		{"Definition", v.Definition}, {"Examples", strings.Join(v.Examples, ", ")}})
	b.WriteString("### Configuration\n\n")
	switch {
	case !v.Schema:
		b.WriteString("The catalog has no schema for it: every configuration is accepted.\n\n")
	case len(v.Fields) == 0:
		b.WriteString("The schema names no fields.\n\n")
	default:
		b.WriteString("| field | type | required | default | must be | description |\n|---|---|---|---|---|---|\n")
		for _, f := range v.Fields {
			f.markdown(b)
		}
		b.WriteString("\n")
	}
	if v.More {
		fmt.Fprintf(b, "More fields are omitted: there are more than %d, or they are nested deeper than %d levels.\n\n",
			maxFields, maxDepth)
	}
	if !v.Valid {
		b.WriteString("An example with placeholder values, which the schema does not accept: replace them.\n\n")
	}
	fence := "```"
	for strings.Contains(v.Example, fence) {
		fence += "`"
	}
	fmt.Fprintf(b, "%syaml\n%s%s\n", fence, v.Example, fence)
}

func (f *pageField) markdown(b *strings.Builder) {
	required := ""
	if f.Required {
		required = "yes"
	}
	var must []string
	if len(f.Enum) > 0 {
		list := make([]string, len(f.Enum))
		for i, v := range f.Enum {
			list[i] = code(v)
		}
		must = append(must, strings.Join(list, " or "))
	}
	for _, l := range f.Limits {
		must = append(must, code(l))
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", code(f.Path), plain(f.Type), required, code(f.Default), strings.Join(must, ", "),
		plain(f.Description))
}

// marks escapes the special characters of Markdown and of embedded HTML.
var marks = strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`,
	"#", `\#`, "&", "&amp;")

// plain returns text on one line, without markup.
func plain(s string) string { return marks.Replace(diag.OneLine(s)) }

// code returns text as code in a table cell, or "" for an empty text.
func code(s string) string {
	if s == "" {
		return ""
	}
	s = strings.ReplaceAll(diag.OneLine(s), "|", `\|`)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		s = " " + s + " "
	}
	return fence + s + fence
}
