package catalog

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/cli/settings"
	"github.com/krmflow/krmflow/trust"
	"github.com/spf13/cobra"
)

// TrustCommand returns the command that lists and changes the catalogs trusted by the user's
// configuration file.
func TrustCommand(a *cli.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "List and change the catalogs that you always trust",
		Long: `krmflow trusts the catalogs in the user's settings file, $XDG_CONFIG_HOME/krmflow/config.yaml, in every run. The file must not be writable by
other users, and a tree cannot name a different file.`,
	}
	add := &cobra.Command{
		Use:   "add REF",
		Short: "Trust a catalog with its current content",
		Long: `Add a catalog to the user's settings, pinned to its current content. A reference that ends in /* trusts every catalog below that address that a
Kustomization or Composition names; these catalogs are not pinned.`,
		Example: "  krmflow trust add catalogs/team.yaml\n  krmflow trust add oci://ghcr.io/example/catalog:v1\n  krmflow trust add '/srv/catalogs/*'",
		Args:    options.Exactly(1, "a catalog"),
		RunE:    func(cmd *cobra.Command, args []string) error { return trustAdd(cmd.Context(), a, args[0]) },
	}
	a.SourceFlags.Register(add)
	cmd.AddCommand(
		add,
		&cobra.Command{
			Use:     "list",
			Short:   "Print the catalogs that you always trust",
			Example: "  krmflow trust list",
			Args:    options.AtMost(0),
			RunE:    func(cmd *cobra.Command, _ []string) error { return trustList(cmd.Context(), a) },
		},
		&cobra.Command{
			Use:     "remove REF",
			Short:   "Stop trusting a catalog",
			Example: "  krmflow trust remove catalogs/team.yaml",
			Args:    options.Exactly(1, "a catalog"),
			RunE:    func(_ *cobra.Command, args []string) error { return trustRemove(a, args[0]) },
		},
	)
	return cmd
}

func trustList(ctx context.Context, a *cli.Invocation) error {
	config, err := settings.ReadConfig()
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, s := range settings.BuiltIn() {
		fmt.Fprintf(&b, "%s  built in\n", s.Ref)
	}
	if settings.Locked() {
		b.WriteString("this krmflow can trust nothing else\n")
		config = &trust.Config{}
	}
	for _, e := range config.Catalogs {
		fmt.Fprintf(&b, "%s  %s\n", e, stateOf(ctx, a, e))
	}
	for _, p := range config.Publishers {
		for _, e := range p.Places {
			fmt.Fprintf(&b, "%s  signed by %s\n", e, p.Name)
		}
	}
	if !settings.Locked() {
		own, err := settings.OwnCatalog()
		if err != nil {
			return err
		}
		if own != "" {
			fmt.Fprintf(&b, "%s  programs of this machine\n", own)
		}
		if shipped := settings.ShippedCatalog(); shipped != "" {
			fmt.Fprintf(&b, "%s  comes with krmflow\n", shipped)
		}
	}
	if b.Len() == 0 {
		a.Nothing("no catalog is trusted without a flag; krmflow trust add REF adds one")
	}
	return a.Print(diag.Sanitise(b.String()))
}

// stateOf describes whether the catalog of an entry matches the entry.
func stateOf(ctx context.Context, a *cli.Invocation, e trust.Configured) string {
	if e.Below {
		return "every catalog below it, not pinned"
	}
	if e.Ref.Remote() { // listing fetches nothing
		return map[bool]string{true: "pinned", false: "not pinned"}[e.Ref.Fixed()]
	}
	c, err := readCatalog(ctx, a, e.Ref.String())
	switch {
	case err != nil:
		text, _ := diag.Parts(err)
		return text
	case e.Ref.Pin.IsZero():
		return "not pinned"
	}
	return diag.Count(len(c.Entries), "function")
}

func trustAdd(ctx context.Context, a *cli.Invocation, text string) error {
	if settings.Locked() {
		return options.ErrLocked()
	}
	if err := a.SourceFlags.Validate(); err != nil {
		return err
	}
	entry, err := absoluteRef(text)
	if err != nil {
		return err
	}
	if _, below := strings.CutSuffix(text, "/*"); !below {
		c, err := readCatalog(ctx, a, entry)
		if err != nil {
			return err
		}
		entry = c.Ref.Pinned(c.Digest)
	}
	if _, err := settings.EditConfig(entry, false); err != nil {
		return err
	}
	return a.Print(fmt.Sprintf("%s is trusted now, in %s\n", entry, settings.ConfigPath()))
}

func trustRemove(a *cli.Invocation, text string) error {
	entry, err := absoluteRef(text)
	if err != nil {
		return err
	}
	found, err := settings.EditConfig(entry, true)
	switch {
	case err != nil:
		return err
	case !found:
		return fmt.Errorf("%s is not listed in %s", entry, settings.ConfigPath())
	}
	return a.Print(fmt.Sprintf("%s is no longer trusted\n", entry))
}

// absoluteRef returns text with its path made absolute.
func absoluteRef(text string) (string, error) {
	place, below := strings.CutSuffix(text, "/*")
	parse := options.ParseRef
	if below {
		parse = func(_, text string) (catalog.Ref, error) { return catalog.ParsePlace(text) }
	}
	ref, err := parse("catalog", place)
	if err != nil {
		return "", err
	}
	if !ref.Remote() {
		dir, err := os.Getwd()
		if err != nil {
			return "", err
		}
		ref = ref.In(dir)
		ref = ref.Shown(ref.Location)
	}
	if below {
		return ref.String() + "/*", nil
	}
	return ref.String(), nil
}
