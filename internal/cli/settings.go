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

// ReadSettings sets the flags that are not on the command line from variables and the user's
// settings file. It does nothing for commands that neither read a tree nor fetch content,
// because settings do not apply to their flags.
func (a *Invocation) ReadSettings(cmd *cobra.Command) error {
	flags := cmd.Flags()
	if flags.Lookup("log-format") == nil && flags.Lookup("cache-dir") == nil && flags.Lookup("executor") == nil {
		return nil
	}
	var err error
	if a.settings, err = settings.Load(); err != nil || a.settings == nil {
		return WrongSetting(err)
	}
	if a.Name.Kustomize() { // callers of kustomize expect the same output everywhere
		a.settings = a.settings.WithoutProduct()
	}
	warnings, err := a.settings.Apply(flags, a.Complete, a.AllFlags)
	a.WarnBefore(warnings)
	a.cacheApart = settings.From(flags.Lookup("cache-dir")) != ""
	return WrongSetting(err)
}

// checkConfigPlace returns an error if the user's settings file is in a rendered tree.
func checkConfigPlace(_ []string, tree func(path string) string) error {
	return settings.CheckPlace(tree)
}

// WrongSetting makes an error in the settings a usage error, because settings set flags. An
// [settings.UnsafeError] is returned unchanged.
func WrongSetting(err error) error {
	if err == nil || errors.As(err, new(*settings.UnsafeError)) {
		return err
	}
	return options.UsageError(err)
}

// freeRoots returns a function that reports the roots for which the user's settings file turns
// off the load restrictor. The flag on the command line applies to all roots and takes
// precedence.
func (a *Invocation) freeRoots(cmd *cobra.Command) func(dir string) bool {
	if cmd.Flags().Changed("load-restrictor") {
		return nil
	}
	return a.settings.Unrestricted()
}

// Origins returns a hint for each flag that an error mentions and whose value comes from a
// variable or the user's settings file.
func Origins(cmd *cobra.Command, err *diag.Error) (hints []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		at := settings.From(f)
		if _, rest, ok := strings.Cut(err.Msg+" ", "--"+f.Name); at != "" && ok && !isNamePart(rest[0]) {
			hints = append(hints, "--"+f.Name+" has its value from "+at)
		}
	})
	return hints
}

// isNamePart reports whether b can be part of a flag name.
func isNamePart(b byte) bool { return b == '-' || b >= 'a' && b <= 'z' }
