package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/help"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Every command that does something has an example that names it. The help groups contain only
// existing commands.
func TestHelpOfCommands(t *testing.T) {
	root := newCommand(&cli.Invocation{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}, nil)
	flags := map[string]bool{}
	var names []string
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			if !c.IsAvailableCommand() || slices.Contains([]string{"completion", "help"}, c.Name()) {
				continue
			}
			if c.Parent() == root {
				names = append(names, c.Name())
			}
			c.LocalFlags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
			if !c.HasSubCommands() && !strings.Contains(c.Example, c.CommandPath()+" ") && !strings.HasSuffix(c.Example, c.CommandPath()) {
				t.Errorf("%s has no example", c.CommandPath())
			}
			look(c)
		}
	}
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
	look(root)
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
