package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/help"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestCommandsAreDocumented checks that docs/commands.md has every command and flag of help. With
// -update it writes the page.
func TestCommandsAreDocumented(t *testing.T) {
	const page = "../../docs/commands.md"
	want := commandsPage()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil || string(got) != want {
		t.Errorf("%s is out of date (%v): go test ./cmd/krmflow -run TestCommandsAreDocumented -update", page, err)
	}
}

// commandsPage returns the reference of all commands. A flag that several commands share in one of
// the groups of help is described once, after the commands.
func commandsPage() string {
	root := newCommand(&cli.Invocation{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}, nil)
	var b strings.Builder
	b.WriteString(`# Commands and flags

Every command and flag of krmflow. This page is generated from the program: 'krmflow COMMAND -h' prints the most used
flags of a command, 'krmflow COMMAND --help' all of them. [Exit codes](exit-codes.md) and [settings](configuration.md)
have their own pages.

`)
	shared := map[string]*pflag.FlagSet{}
	var titles []string
	var list, details strings.Builder
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			if !c.IsAvailableCommand() || c.Name() == "help" || c.Name() == "completion" {
				continue
			}
			_, name, _ := strings.Cut(c.CommandPath(), " ")
			fmt.Fprintf(&list, "| [`%s`](#%s) | %s |\n", name, anchor(name), c.Short)
			fmt.Fprintf(&details, "\n### %s\n\n", name)
			if c.HasAvailableSubCommands() {
				fmt.Fprintf(&details, "%s.\n", c.Short)
				walkText(&details, c)
				walk(c)
				continue
			}
			fmt.Fprintf(&details, "`%s`\n", c.UseLine())
			walkText(&details, c)
			if c.HasExample() {
				fmt.Fprintf(&details, "\n```sh\n%s\n```\n", outdent(c.Example))
			}
			var groups []string
			for title, set := range help.FlagGroups(c) {
				if title == "Flags" {
					details.WriteString(flagTable(set))
					continue
				}
				groups = append(groups, fmt.Sprintf("[%s](#%s)", title, anchor(title)))
				if shared[title] == nil {
					shared[title] = pflag.NewFlagSet("", pflag.ContinueOnError)
					titles = append(titles, title)
				}
				shared[title].AddFlagSet(set)
			}
			if len(groups) > 0 {
				fmt.Fprintf(&details, "\nShared flags:\n%s.\n", strings.Join(groups, ",\n"))
			}
		}
	}
	walk(root)
	b.WriteString("| command | |\n|---|---|\n" + list.String() + "\n## Reference\n" + details.String())
	b.WriteString("\n## Shared flags\n\nThese flags have the same meaning in every command that has them.\n")
	for _, title := range titles {
		fmt.Fprintf(&b, "\n### %s\n%s", title, flagTable(shared[title]))
	}
	return b.String()
}

// walkText writes the description of a command.
func walkText(b *strings.Builder, c *cobra.Command) {
	if c.Long == "" {
		return
	}
	table := false // in lines that begin with spaces
	b.WriteByte('\n')
	for line := range strings.Lines(help.Wrap(c.Long, 116) + "\n") {
		indented := strings.HasPrefix(line, "  ")
		if indented != table {
			b.WriteString("```\n")
			table = indented
		}
		b.WriteString(strings.TrimPrefix(line, "  "))
	}
	if table {
		b.WriteString("```\n")
	}
}

// flagTable returns a Markdown table of flags.
func flagTable(set *pflag.FlagSet) string {
	var b strings.Builder
	b.WriteString("\n| flag | |\n|---|---|\n")
	set.VisitAll(func(f *pflag.Flag) {
		value, text := pflag.UnquoteUsage(f)
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		if value != "" {
			name += " *" + value + "*"
		}
		if shown := help.Default(f); shown != "" && !strings.Contains(text, "default") {
			text += " (default `" + shown + "`)"
		}
		fmt.Fprintf(&b, "| %s | %s |\n", name, strings.NewReplacer("|", `\|`, "*", `\*`, "<", "&lt;").Replace(text))
	})
	return b.String()
}

// outdent removes two spaces from the beginning of each line.
func outdent(text string) string {
	return strings.TrimPrefix(strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n  ", "\n"), "  ")
}

// anchor returns the anchor of a heading.
func anchor(heading string) string {
	return strings.ReplaceAll(strings.ToLower(heading), " ", "-")
}
