package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/catalogs"
	"github.com/krmflow/krmflow/internal/options"
	"github.com/krmflow/krmflow/internal/settings"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
	"github.com/spf13/cobra"
)

// readCatalog reads the catalog that text names, a path or an address, and checks its pin. It trusts nothing.
func (a *app) readCatalog(ctx context.Context, text string) (catalogs.View, error) {
	ref, err := options.ParseRef("catalog", text)
	if err != nil {
		return catalogs.View{}, err
	}
	if a.log == nil {
		a.log = a.flags.logger(a.stderr)
	}
	c, digest, err := a.fetching().ReadCatalog(ctx, ref)
	return catalogs.View{Catalog: c, Digest: digest}, err
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
				v.By, err = v.TrustedBy()
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

func (a *app) viewCatalog(v catalogs.View, format string) error {
	switch format {
	case "text":
		return a.print(diag.Sanitise(v.Text()))
	case "yaml":
		return a.print(string(yaml.AppendYAML(nil, v.Form())))
	case "json":
		return a.print(string(yaml.AppendJSON(nil, v.Form())) + "\n")
	}
	return usageError(fmt.Errorf("illegal value -o %s; legal values: text, yaml, json", format))
}

// viewBuiltIn shows the catalogs that are compiled in, those of which only the reference is by that.
func (a *app) viewBuiltIn(ctx context.Context, format string) error {
	for _, s := range settings.BuiltIn() {
		var v catalogs.View
		var err error
		if s.Content != nil {
			src := &yaml.Source{File: s.Ref, Data: s.Content}
			v.Digest = src.Digest()
			v.Catalog, err = catalog.Parse(src, catalog.BuiltIn(s.Ref))
		} else {
			v, err = a.readCatalog(ctx, s.Ref)
		}
		if v.By = s.By; err == nil {
			err = a.viewCatalog(v, format)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func lintCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "lint", Short: "Check files that krmflow reads"}
	catalog := &cobra.Command{
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
	a.sourceFlags.register(catalog)
	catalog.Flags().BoolVar(&a.strict, "strict", false, "treat every warning as an error")
	cmd.AddCommand(catalog)
	return cmd
}
