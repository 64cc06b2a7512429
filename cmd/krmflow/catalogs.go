package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/settings"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/trust"
	"github.com/spf13/cobra"
)

// readCatalog reads the catalog that text names, a path or an address, and checks its pin. It trusts nothing.
func (a *app) readCatalog(ctx context.Context, text string) (catalogView, error) {
	ref, err := parseRefFlag("catalog", text)
	if err != nil {
		return catalogView{}, err
	}
	if a.log == nil {
		a.log = a.flags.logger(a.stderr)
	}
	c, digest, err := a.fetching().ReadCatalog(ctx, ref)
	return catalogView{Catalog: c, digest: digest}, err
}

func viewCatalogCommand(a *app) *cobra.Command {
	var format string
	var builtIn bool
	cmd := &cobra.Command{
		Use:   "catalog REF",
		Short: "Show what a catalog lists, without trusting it",
		Long: `Print who publishes the functions of a catalog, what runs for each, whether that can be verified, and what it is granted.
Nothing is executed and nothing is trusted: a catalog is the word of its author. The last line is the flag that would trust it as it is
now.`,
		Example: "  krmflow view catalog catalog.yaml\n  krmflow view catalog oci://ghcr.io/example/catalog:v1 -o yaml",
		Args: func(cmd *cobra.Command, args []string) error {
			if builtIn {
				return atMost(0)(cmd, args)
			}
			return exactly(1, "a catalog")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.sourceFlags.validate(); err != nil {
				return err
			}
			if builtIn {
				return a.viewBuiltIn(cmd.Context(), format)
			}
			v, err := a.readCatalog(cmd.Context(), args[0])
			if err == nil {
				v.by, err = v.trustedBy()
			}
			if err != nil {
				return err
			}
			return a.viewCatalog(v, format)
		},
	}
	a.sourceFlags.register(cmd)
	cmd.Flags().BoolVar(&builtIn, "builtin", false, "show the catalogs that are compiled into this krmflow")
	cmd.Flags().StringVarP(&format, "output", "o", "text", "text, yaml or json")
	return cmd
}

func (a *app) viewCatalog(v catalogView, format string) error {
	switch format {
	case "text":
		return a.print(diag.Sanitise(v.text()))
	case "yaml":
		return a.print(string(yaml.AppendYAML(nil, v.value())))
	case "json":
		return a.print(string(yaml.AppendJSON(nil, v.value())) + "\n")
	}
	return usageError(fmt.Errorf("illegal value -o %s; legal values: text, yaml, json", format))
}

// viewBuiltIn shows the catalogs that are compiled in, those of which only the reference is by that.
func (a *app) viewBuiltIn(ctx context.Context, format string) error {
	for _, s := range settings.BuiltIn() {
		var v catalogView
		var err error
		if s.Content != nil {
			src := &yaml.Source{File: s.Ref, Data: s.Content}
			v.digest = src.Digest()
			v.Catalog, err = catalog.Parse(src, catalog.BuiltIn(s.Ref))
		} else {
			v, err = a.readCatalog(ctx, s.Ref)
		}
		if v.by = s.By; err == nil {
			err = a.viewCatalog(v, format)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// trustedBy returns who trusts the catalog without a flag, empty if nobody does.
func (v catalogView) trustedBy() (string, error) {
	config, err := settings.ReadConfig()
	if err != nil {
		return "", err
	}
	ref := realRef(v.Ref)
	for _, e := range config.Catalogs {
		if e.Covers(ref) && (e.Ref.Pin.IsZero() || e.Ref.Pin == v.digest) {
			return "by " + e.Pos.String(), nil
		}
	}
	for _, p := range config.Publishers {
		if p.Covers(ref) {
			return "if it is signed by " + p.Name, nil
		}
	}
	return "", nil
}

// realRef returns ref with the path that it really has.
func realRef(ref catalog.Ref) catalog.Ref {
	if ref.Remote() {
		return ref
	}
	if dir, err := os.Getwd(); err == nil {
		ref = ref.In(dir)
	}
	if real, err := loaders.Real(ref.Location); err == nil {
		ref = ref.At(real)
	}
	return ref
}

// catalogView is what view catalog shows.
type catalogView struct {
	*catalog.Catalog
	digest krm.Digest // that a pin has
	by     string
}

func (v catalogView) flag() string { return trust.FlagTrust + "=" + v.Ref.Pinned(v.digest) }

func (v catalogView) trusted() string {
	return cmp.Or(v.by, "no")
}

func (v catalogView) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "catalog  %s\ndigest   %s\ntrusted  %s\n\n%s\n", v.Ref.Show(), v.digest, v.trusted(), v.Describe())
	for _, f := range v.Lint() {
		fmt.Fprintf(&b, "finding  %v\n", f)
	}
	if v.by != trust.ByBuiltIn {
		fmt.Fprintf(&b, "to trust it as it is now add %s\n", v.flag())
	}
	return b.String()
}

func (v catalogView) value() yaml.Value {
	var findings []yaml.Value
	for _, f := range v.Lint() {
		findings = append(findings, yaml.Str(f.Error()))
	}
	return yaml.MapOf(
		yaml.Field{Key: "catalog", Value: v.Value()},
		yaml.Field{Key: "digest", Value: yaml.Str(v.digest.String())},
		yaml.Field{Key: "findings", Value: yaml.SeqOf(findings...)},
		yaml.Field{Key: "flag", Value: yaml.Str(v.flag())},
		yaml.Field{Key: "reference", Value: yaml.Str(v.Ref.Show())},
		yaml.Field{Key: "trusted", Value: yaml.Str(v.trusted())},
	)
}

func lintCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "lint", Short: "Check files that krmflow reads"}
	catalogs := &cobra.Command{
		Use:   "catalog FILE...",
		Short: "Check catalogs, for those who write them",
		Long: `Report what makes a catalog unusable, as an error, and what only its users would miss, such as a publisher, a schema or a digest, as a
warning. With --strict every warning is an error.`,
		Example: "  krmflow lint catalog --strict catalog.yaml",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError(fmt.Errorf("%s needs a catalog", cmd.CommandPath()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.sourceFlags.validate(); err != nil {
				return err
			}
			a.log = a.flags.logger(a.stderr)
			var errs []error
			for _, text := range args {
				c, err := a.readCatalog(cmd.Context(), text)
				if err != nil {
					errs = append(errs, err)
					continue
				}
				for _, f := range append(c.Notices, c.Lint()...) {
					a.log.Warn(planner.Warning{Pos: f.Pos, Field: f.Field, Msg: f.Msg, Hints: f.Hints})
				}
			}
			return errors.Join(append(errs, a.strictError())...)
		},
	}
	a.sourceFlags.register(catalogs)
	catalogs.Flags().BoolVar(&a.strict, "strict", false, "treat every warning as an error")
	cmd.AddCommand(catalogs)
	return cmd
}
