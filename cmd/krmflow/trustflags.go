package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/settings"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/trust"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// catalogList is the value of the flag --trusted-plugin-catalog in all its spellings. They add up in the order in which they
// stand on the command line, which is the order of the search.
type catalogList []string

func (l *catalogList) Set(text string) error {
	if text == "" {
		return errors.New("the catalog must not be empty")
	}
	*l = append(*l, text)
	return nil
}

func (l *catalogList) String() string { return strings.Join(*l, " ") }
func (l *catalogList) Type() string   { return "CATALOG" }

func (l *catalogList) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.Var(l, "trusted-plugin-catalog", "catalog whose functions may run; may be repeated, the first match wins")
	fs.Var(l, "trusted-catalog", "the same as --trusted-plugin-catalog")
	fs.Var(l, "alpha-trusted-plugin-catalog", "the same as --trusted-plugin-catalog")
	fs.Bool("enable-star", false, "")
	for _, name := range []string{"alpha-trusted-plugin-catalog", "enable-star"} {
		_ = fs.MarkHidden(name) // fails for flags that do not exist
	}
}

// trustedCatalogs returns the catalogs that are trusted, in the order of the search: those that are compiled in, those of flags, those of the
// user's configuration.
func (f *functionFlags) trustedCatalogs() ([]trust.Source, []trust.Publisher, error) {
	list := settings.BuiltIn()
	for _, text := range f.trusted {
		if _, err := parseRefFlag(trust.FlagTrust, text); err != nil {
			return nil, nil, err
		}
		list = append(list, trust.Source{Ref: text, By: trust.ByFlag})
	}
	if settings.Locked() {
		if len(f.trusted) > 0 || f.alphaPlugins {
			return nil, nil, errLocked()
		}
		return list, nil, nil
	}
	config, err := settings.ReadConfig()
	if err != nil { // which says nothing about trees without functions
		reason := trust.Invalid
		if errors.As(err, new(*settings.UnsafeError)) {
			reason = trust.Untrusted
		}
		return append(list, trust.Source{By: trust.ByConfig, Denial: &trust.Denial{Reason: reason, Err: diag.AsError(err)}}), nil, nil
	}
	for _, e := range config.Catalogs {
		list = append(list, trust.Source{Ref: e.Ref.String(), By: trust.ByConfig, Below: e.Below})
	}
	return list, config.Publishers, nil
}

// errLocked says that nobody can add to what a distribution of krmflow trusts (TR-29).
func errLocked() error {
	err := diag.Errorf(diag.Pos{}, "", "this krmflow was built to trust nothing but the catalogs that are compiled into it")
	return &exitError{exitTrust, err.Hint("'krmflow trust list' prints them")}
}

// parseRefFlag reads the value of a flag that names a file and its digest. A digest that cannot be one is as bad as a wrong one.
func parseRefFlag(flag, text string) (catalog.Ref, error) {
	ref, err := catalog.ParseRefIn("", text, loaders.Exists)
	var bad *catalog.RefError
	switch {
	case errors.As(err, &bad) && bad.Pin:
		return ref, &exitError{exitVerified, fmt.Errorf("%s: %w", flag, err)}
	case err != nil:
		return ref, usageError(fmt.Errorf("%s: %w", flag, err))
	}
	return ref, nil
}

// outdatedFlags returns a warning for each flag that is set and has a newer spelling or no effect any more. The notices that
// cobra has for that would go to stdout, into the output.
func outdatedFlags(cmd *cobra.Command) []planner.Warning {
	var list []planner.Warning
	if cmd.Flags().Changed("alpha-trusted-plugin-catalog") {
		list = append(list, planner.Warning{Msg: "--alpha-trusted-plugin-catalog is deprecated", Hints: []string{"write --trusted-plugin-catalog"}})
	}
	if cmd.Flags().Changed("enable-star") {
		list = append(list, planner.Warning{Msg: "--enable-star has no effect: starlark functions are not supported",
			Hints: []string{"use a container that runs the script"}})
	}
	return list
}

// trustHint returns what to write instead of a flag that somebody may expect here, "" for any other.
func trustHint(name string) string {
	switch name {
	case "enable-container-plugins", "trust-embedded-exec-plugins":
		return "functions run if a catalog lists them and you trust it: --trusted-plugin-catalog=CATALOG"
	case "plugin-container-networks":
		return "network is what a trusted catalog grants with requireNetwork: --trusted-plugin-catalog=CATALOG"
	case "plugin-container-mounts":
		return "mounts are what a trusted catalog grants with requireStorageMount: --trusted-plugin-catalog=CATALOG"
	case "catalog":
		return "--catalog does not grant trust; did you mean --trusted-plugin-catalog?"
	}
	return ""
}

// flagError makes a mistake in the flags a usage error, with a hint if there is another flag for what was meant.
func flagError(err error) error {
	var unknown interface {
		GetSpecifiedName() string
		GetSpecifiedShortnames() string
	}
	if errors.As(err, &unknown) {
		name := unknown.GetSpecifiedName()
		if letters := unknown.GetSpecifiedShortnames(); letters != "" { // -catalog=FILE is read as -c -a -t ...
			name, _, _ = strings.Cut(letters, "=")
		}
		if hint := trustHint(name); hint != "" {
			err = diag.Errorf(diag.Pos{}, "", "%w", err).Hint("%s", hint)
		}
	}
	var value *pflag.InvalidValueError
	if errors.As(err, &value) {
		err = badValue(value)
	}
	return usageError(err)
}

// badValue says what a value of a flag is not. What the parsers say is about Go's types.
func badValue(err *pflag.InvalidValueError) error {
	flag := err.GetFlag()
	switch kind := flag.Value.Type(); {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("--%s: %q is too large", flag.Name, err.GetValue())
	case strings.HasPrefix(kind, "int"):
		return fmt.Errorf("--%s: %q is no number", flag.Name, err.GetValue())
	case kind == "duration":
		return fmt.Errorf("--%s: %q is no length of time such as 90s or 5m", flag.Name, err.GetValue())
	case kind == "bool":
		return fmt.Errorf("--%s: %q is neither true nor false", flag.Name, err.GetValue())
	}
	return fmt.Errorf("--%s: %w", flag.Name, err.Unwrap())
}
