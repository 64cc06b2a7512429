// Package config implements the config command.
package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/cli/settings"
	"github.com/spf13/cobra"
)

// Command returns the config command.
func Command(a *cli.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show settings and their sources",
		Long: `The value of a flag comes from the command line, or else from a variable (KRMFLOW_JOBS for --jobs), or else from the user's file (jobs: 4), or else from
its default. Variables cannot set flags that decide about trust, and files in a tree cannot set any flag.`,
	}
	var output string
	show := &cobra.Command{
		Use:     "show",
		Short:   "Print every setting with its value and source",
		Example: "  krmflow config show\n  krmflow config show -o json",
		Args:    options.AtMost(0),
		RunE:    func(*cobra.Command, []string) error { return showConfig(a, output) },
	}
	show.Flags().StringVarP(&output, "output", "o", "text", "output `format`: text or json")
	path := &cobra.Command{
		Use:     "path",
		Short:   "Print the path of the user's settings file",
		Example: "  krmflow config path",
		Args:    options.AtMost(0),
		RunE: func(*cobra.Command, []string) error {
			path := settings.ConfigPath()
			if path == "" {
				return errors.New("there is no place for the configuration: HOME is not set")
			}
			return a.Print(path + "\n")
		},
	}
	cmd.AddCommand(show, path)
	return cmd
}

// showConfig prints all settings. Errors in the configuration file are returned after the list
// is printed.
func showConfig(a *cli.Invocation, output string) error {
	if output != "text" && output != "json" {
		return options.UsageError(fmt.Errorf("illegal value --output %s; legal values: text, json", output))
	}
	flags := a.AllFlags()
	s, err := settings.Load()
	if err == nil {
		var warnings []*diag.Error
		warnings, err = s.Apply(flags, true, a.AllFlags)
		a.WarnBefore(warnings)
	}
	config, wrong := settings.ReadConfig()
	if wrong != nil {
		return errors.Join(err, wrong)
	}
	a.StartLog()
	list := s.Show(flags, config)
	if output == "json" {
		data, broken := json.MarshalIndent(list, "", "  ")
		return errors.Join(broken, a.Print(string(data)+"\n"), cli.WrongSetting(err))
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, x := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\n", x.Key, cmp.Or(diag.OneLine(x.Value), `""`), x.From)
	}
	return errors.Join(t.Flush(), a.Print(diag.Sanitise(b.String())), cli.WrongSetting(err))
}
