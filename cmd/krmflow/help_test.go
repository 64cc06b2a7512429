package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/help"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// allCommands returns all commands that help lists.
func allCommands(root *cobra.Command) (list []*cobra.Command) {
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && !slices.Contains([]string{"completion", "help"}, c.Name()) {
			list = append(append(list, c), allCommands(c)...)
		}
	}
	return list
}

// TestHelpOfCommands checks that every command has an example that names it, and that the groups of
// help name only existing commands and flags.
func TestHelpOfCommands(t *testing.T) {
	root := newCommand(&cli.Invocation{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}, nil)
	flags := map[string]bool{"directory": true, "help": true}
	var names []string
	for _, c := range allCommands(root) {
		if c.Parent() == root {
			names = append(names, c.Name())
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		if !c.HasSubCommands() && !strings.Contains(c.Example, c.CommandPath()+" ") && !strings.HasSuffix(c.Example, c.CommandPath()) {
			t.Errorf("%s has no example", c.CommandPath())
		}
	}
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
	for name := range help.CommandNames() {
		if !slices.Contains(names, name) {
			t.Errorf("there is no command %s", name)
		}
	}
	for name := range help.FlagNames() {
		if !flags[name] {
			t.Errorf("there is no flag --%s", name)
		}
	}
}

// TestHelpFits checks that -h of every command fits a terminal of 80 columns and 24 rows, that
// --help fits the width of the terminal, and that descriptions are short.
func TestHelpFits(t *testing.T) {
	root := newCommand(&cli.Invocation{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}, nil)
	for _, c := range append(allCommands(root), root) {
		brief := help.Brief(c)
		if n := strings.Count(brief, "\n"); n > 24 {
			t.Errorf("%s -h has %d lines", c.CommandPath(), n)
		}
		for line := range strings.Lines(brief) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s -h has a line of %d columns: %s", c.CommandPath(), n, line)
			}
		}
		if n := len(c.Short); n > 72 {
			t.Errorf("%s has a description of %d bytes", c.CommandPath(), n)
		}
		for _, width := range []int{60, 100} {
			examples := strings.Split(c.Example, "\n")
			for line := range strings.Lines(help.Full(c, width)) {
				line = strings.TrimSuffix(line, "\n")
				if strings.HasPrefix(line, "  "+c.CommandPath()) || slices.Contains(examples, line) ||
					!strings.Contains(strings.TrimSpace(line), " ") || strings.HasPrefix(line, "  ") && strings.Contains(c.Long, line) {
					continue // commands and tables are not wrapped
				}
				if n := utf8.RuneCountInString(line); n > width {
					t.Errorf("%s --help at %d columns has a line of %d: %s", c.CommandPath(), width, n, line)
				}
			}
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if _, text := pflag.UnquoteUsage(f); len(text) > 80 && !f.Hidden {
				t.Errorf("%s --%s has a description of %d bytes", c.CommandPath(), f.Name, len(text))
			}
		})
	}
}
