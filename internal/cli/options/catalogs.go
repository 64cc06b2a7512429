package options

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/settings"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/trust"
	"github.com/spf13/cobra"
)

// Catalogs is the value of --trusted-plugin-catalog, under all names of the flag. Values
// accumulate in the order of the command line, which is also the search order.
type Catalogs []string

// Set adds a catalog.
func (l *Catalogs) Set(text string) error {
	if text == "" {
		return errors.New("the catalog must not be empty")
	}
	*l = append(*l, text)
	return nil
}

// String returns all catalogs.
func (l *Catalogs) String() string { return strings.Join(*l, " ") }

// Type returns the name of the value in help.
func (l *Catalogs) Type() string { return "CATALOG" }

// Register adds the flags to a command.
func (l *Catalogs) Register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.Var(l, "trusted-plugin-catalog", "trust this `catalog`; may be repeated, the first match wins")
	fs.Var(l, "trusted-catalog", "the same as --trusted-plugin-catalog")
	fs.Var(l, "alpha-trusted-plugin-catalog", "the same as --trusted-plugin-catalog")
	fs.Bool("enable-star", false, "")
	for _, name := range []string{"trusted-catalog", "alpha-trusted-plugin-catalog", "enable-star"} {
		_ = fs.MarkHidden(name) // fails for flags that do not exist
	}
}

// TrustedCatalogs returns the trusted catalogs in search order: built-in catalogs, catalogs of
// flags, then catalogs of the user's configuration. It also returns that configuration.
func (f *Functions) TrustedCatalogs() ([]trust.Source, *trust.Config, error) {
	list := settings.BuiltIn()
	for _, text := range f.Trusted {
		if _, err := ParseRef(trust.FlagTrust, text); err != nil {
			return nil, nil, err
		}
		list = append(list, trust.Source{Ref: text, By: trust.ByFlag})
	}
	if settings.Locked() {
		if len(f.Trusted) > 0 || f.alphaPlugins {
			return nil, nil, ErrLocked()
		}
		return list, &trust.Config{}, nil
	}
	config, err := settings.ReadConfig()
	own, ownErr := settings.OwnCatalog()
	if err = cmp.Or(err, ownErr); err != nil { // a denial, so that trees without functions still render
		reason := trust.Invalid
		if errors.As(err, new(*settings.UnsafeError)) {
			reason = trust.Untrusted
		}
		return append(list, trust.Source{By: trust.ByConfig, Denial: &trust.Denial{Reason: reason, Err: diag.AsError(err)}}),
			&trust.Config{Err: err}, nil
	}
	for _, e := range config.Catalogs {
		list = append(list, trust.Source{Ref: e.Ref.String(), By: trust.ByConfig, Below: e.Below})
	}
	if own != "" {
		list = append(list, trust.Source{Ref: own, By: trust.ByConfig, Own: true})
	}
	if shipped := settings.ShippedCatalog(); shipped != "" {
		list = append(list, trust.Source{Ref: shipped, By: trust.ByShipped})
	}
	return list, config, nil
}

// ErrLocked returns the error for adding trust to a distribution of krmflow with a fixed set of
// trusted catalogs (TR-29).
func ErrLocked() error {
	err := diag.Errorf(diag.Pos{}, "", "this krmflow trusts only the catalogs that are compiled into it").With(diag.UntrustedCatalog)
	return &Error{Untrusted, err.Hint("list them with 'krmflow trust list'")}
}

// ParseRef parses a flag value that names a file and its digest. A malformed digest is reported
// as a [Mismatch], like a wrong one.
func ParseRef(flag, text string) (catalog.Ref, error) {
	ref, err := catalog.ParseRefIn("", text, loaders.Exists)
	var bad *catalog.RefError
	switch {
	case errors.As(err, &bad) && bad.Pin:
		return ref, &Error{Mismatch, fmt.Errorf("%s: %w", flag, err)}
	case err != nil:
		return ref, UsageError(fmt.Errorf("%s: %w", flag, err))
	}
	return ref, nil
}

// Outdated returns a warning for each flag on the command line that is deprecated or has no
// effect. cobra's own deprecation notices would go to stdout, into the output.
func Outdated(cmd *cobra.Command) []planner.Warning {
	var list []planner.Warning
	if cmd.Flags().Changed("alpha-trusted-plugin-catalog") {
		list = append(list, planner.Warning{Msg: "--alpha-trusted-plugin-catalog is deprecated",
			Hints: []string{"write --trusted-plugin-catalog"}, Code: diag.Deprecated})
	}
	if cmd.Flags().Changed("dev") && inCI() {
		list = append(list, planner.Warning{Msg: trust.FlagDev + " is ignored in CI", Code: diag.InDevelopment,
			Hints: []string{"to write the digests of finished programs: krmflow catalog digest --write"}})
	}
	if cmd.Flags().Changed("enable-star") {
		list = append(list, planner.Warning{Msg: "--enable-star has no effect: starlark functions are not supported",
			Code:  diag.Unsupported,
			Hints: []string{"use a container that runs the script"}})
	}
	return list
}
