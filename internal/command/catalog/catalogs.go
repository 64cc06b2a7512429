package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/cli/settings"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
	"github.com/spf13/cobra"
)

// readCatalog reads the catalog at text, a path or a URL, and verifies its pin. Reading a
// catalog does not trust it.
func readCatalog(ctx context.Context, a *cli.Invocation, text string) (View, error) {
	ref, err := options.ParseRef("catalog", text)
	if err != nil {
		return View{}, err
	}
	if a.Log == nil {
		a.Log = a.Logger()
	}
	c, digest, err := a.Fetching().ReadCatalog(ctx, ref)
	return View{Catalog: c, Digest: digest}, err
}

// ShowCommand returns the command that prints a catalog without trusting it: catalog show, formerly
// view catalog.
func ShowCommand(a *cli.Invocation, name string) *cobra.Command {
	var format string
	var builtIn bool
	cmd := &cobra.Command{
		Use:   name + " REF",
		Short: "Show the functions of a catalog without trusting it",
		Long: `Print the publisher, program or image, digest and capabilities of each function of a catalog. Nothing is executed and nothing is trusted:
the content is the claim of its author. The last line is the flag that trusts the catalog with its current content.`,
		Example: "  krmflow catalog show catalog.yaml\n  krmflow catalog show oci://ghcr.io/example/catalog:v1 -o yaml",
		Args: func(cmd *cobra.Command, args []string) error {
			if builtIn {
				return options.AtMost(0)(cmd, args)
			}
			return options.Exactly(1, "a catalog")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.SourceFlags.Validate(); err != nil {
				return err
			}
			if builtIn {
				return viewBuiltIn(cmd.Context(), a, format)
			}
			v, err := readCatalog(cmd.Context(), a, args[0])
			if err == nil {
				v.By, err = v.TrustedBy()
			}
			if err != nil {
				return err
			}
			return viewCatalog(a, v, format)
		},
	}
	a.SourceFlags.Register(cmd)
	cmd.Flags().BoolVar(&builtIn, "builtin", false, "show the catalogs that are compiled into this program")
	cmd.Flags().StringVarP(&format, "output", "o", "text", "output `format`: text, yaml or json")
	return cmd
}

func viewCatalog(a *cli.Invocation, v View, format string) error {
	switch format {
	case "text":
		return a.Print(diag.Sanitise(v.Text()))
	case "yaml":
		return a.Print(visibleYAML(v.Form()))
	case "json":
		return a.Print(diag.Sanitise(string(yaml.AppendJSON(nil, v.Form()))) + "\n") // control characters become JSON escapes
	}
	return options.UsageError(fmt.Errorf("illegal value -o %s; legal values: text, yaml, json", format))
}

// visibleYAML returns v as YAML without terminal control characters. YAML prints some of them
// unescaped. If v contains one, the result is JSON, which is valid YAML and escapes all of
// them.
func visibleYAML(v yaml.Value) string {
	text := string(yaml.AppendYAML(nil, v))
	if diag.Sanitise(text) == text {
		return text
	}
	var b bytes.Buffer
	if err := json.Indent(&b, yaml.AppendJSON(nil, v), "", "  "); err != nil {
		panic(err) // AppendJSON always writes valid JSON
	}
	return diag.Sanitise(b.String()) + "\n"
}

// viewBuiltIn shows the built-in catalogs. If only the reference to a catalog is built in, it
// reads the catalog from there.
func viewBuiltIn(ctx context.Context, a *cli.Invocation, format string) error {
	for _, s := range settings.BuiltIn() {
		var v View
		var err error
		if s.Content != nil {
			src := &yaml.Source{File: s.Ref, Data: s.Content}
			v.Digest = src.Digest()
			v.Catalog, err = catalog.Parse(src, catalog.BuiltIn(s.Ref))
		} else {
			v, err = readCatalog(ctx, a, s.Ref)
		}
		if v.By = s.By; err == nil {
			err = viewCatalog(a, v, format)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// LintCommand returns the former command lint catalog, which is catalog lint now.
func LintCommand(a *cli.Invocation) *cobra.Command {
	cmd := &cobra.Command{Use: "lint", Short: "Check files that krmflow reads"}
	cmd.AddCommand(lintCommand(a, "catalog"))
	return cmd
}

// lintCommand returns the command with which authors check their catalogs.
func lintCommand(a *cli.Invocation, name string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name + " FILE...",
		Short: "Check catalogs for errors and omissions",
		Long: `Report problems that make a catalog unusable as errors, and omissions that its users would miss, such as a publisher, a schema or a
digest, as warnings. --strict turns warnings into errors.`,
		Example: "  krmflow catalog lint --strict catalog.yaml",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return options.UsageError(fmt.Errorf("%s needs a catalog", cmd.CommandPath()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.SourceFlags.Validate(); err != nil {
				return err
			}
			a.Log = a.Logger()
			var errs []error
			for _, text := range args {
				c, err := readCatalog(cmd.Context(), a, text)
				if err != nil {
					errs = append(errs, err)
					continue
				}
				for _, f := range c.Unusable() {
					errs = append(errs, f)
				}
				for _, f := range append(c.Notices, c.Lint()...) {
					a.Log.Warn(planner.Warning{Pos: f.Pos, Field: f.Field, Msg: f.Msg, Hints: f.Hints, Code: f.Code})
				}
			}
			return errors.Join(append(errs, a.StrictError())...)
		},
	}
	a.SourceFlags.Register(cmd)
	cmd.Flags().BoolVar(&a.Strict, "strict", false, "treat warnings as errors")
	return cmd
}
