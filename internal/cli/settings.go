package cli

import (
	"errors"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/cli/settings"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ReadSettings gives the flags of a command that the command line does not have the values of variables and of the user's file. Commands that
// neither read a tree nor fetch anything have no such flags.
func (a *Invocation) ReadSettings(cmd *cobra.Command) error {
	flags := cmd.Flags()
	if flags.Lookup("log-format") == nil && flags.Lookup("cache-dir") == nil && flags.Lookup("executor") == nil {
		return nil
	}
	var err error
	if a.settings, err = settings.Load(); err != nil || a.settings == nil {
		return WrongSetting(err)
	}
	if a.Name.Kustomize() { // who calls kustomize gets what it prints anywhere
		a.settings = a.settings.WithoutProduct()
	}
	warnings, err := a.settings.Apply(flags, a.Complete, a.AllFlags)
	a.WarnBefore(warnings)
	a.cacheApart = settings.From(flags.Lookup("cache-dir")) != ""
	return WrongSetting(err)
}

// checkConfigPlace returns an error if the user's file is in a tree that is rendered.
func checkConfigPlace(_ []string, tree func(path string) string) error {
	return settings.CheckPlace(tree)
}

// WrongSetting makes a mistake in the settings one of the command line, whose flags they stand for.
func WrongSetting(err error) error {
	if err == nil || errors.As(err, new(*settings.UnsafeError)) {
		return err
	}
	return options.UsageError(err)
}

// freeRoots returns which roots the user's file frees of the load restrictor. A flag on the command line is about all of them.
func (a *Invocation) freeRoots(cmd *cobra.Command) func(dir string) bool {
	if cmd.Flags().Changed("load-restrictor") {
		return nil
	}
	return a.settings.Unrestricted()
}

// Origins returns a hint for each flag that an error mentions and that has its value from a variable or the user's file.
func Origins(cmd *cobra.Command, err *diag.Error) (hints []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		at := settings.From(f)
		if _, rest, ok := strings.Cut(err.Msg+" ", "--"+f.Name); at != "" && ok && !isNamePart(rest[0]) {
			hints = append(hints, "--"+f.Name+" has its value from "+at)
		}
	})
	return hints
}

// isNamePart reports whether the name of a flag may go on with b.
func isNamePart(b byte) bool { return b == '-' || b >= 'a' && b <= 'z' }
