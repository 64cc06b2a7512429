package schema

import (
	"errors"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/output"
	"github.com/spf13/cobra"
)

// Command returns the schema command.
func Command(a *cli.Invocation) *cobra.Command {
	var dest string
	cmd := &cobra.Command{
		Use:   "schema KIND|openapi [FILE|DIR...]",
		Short: "Print the JSON Schema of a krmflow file, or write a file for openapi",
		Long: `Print the JSON Schema (draft 2020-12) of Composition, Catalog, Plan, Lock, Test, Diff or PlanDiff. An editor with the YAML language server
completes and checks a file that begins with this line, with a path relative to the file:

  # yaml-language-server: $schema=composition.schema.json

schema openapi writes a file for the field openapi of a Kustomization. Strategic merge patches then merge the lists of custom kinds
instead of replacing them, in kustomize too. The file contains the kinds of Kubernetes and those of the CustomResourceDefinitions in
FILE, or in the YAML and JSON files below DIR:

  openapi:
    path: openapi.json

A list merges if its x-kubernetes-list-type is map, or if it belongs to a pod template.`,
		Example:   "  krmflow schema composition > composition.schema.json\n  krmflow schema openapi crds/ -o openapi.json",
		ValidArgs: append(slices.Clip(Kinds), "openapi"),
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 1 && args[0] == "openapi":
				return nil
			case len(args) == 1 && args[0] == "openapi":
				return options.UsageError(errors.New("krmflow schema openapi needs files or directories with CustomResourceDefinitions"))
			case dest != "":
				return options.UsageError(errors.New("--output needs schema openapi; redirect stdout instead"))
			}
			return options.Exactly(1, "a kind: "+strings.Join(Kinds, ", "))(cmd, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == "openapi" {
				text, err := openAPI(args[1:])
				switch {
				case err != nil:
					return err
				case dest != "":
					return output.WriteFileAtomic(dest, text, 0o644)
				}
				return a.Print(string(text))
			}
			text, ok := Of(args[0])
			if !ok {
				e := diag.Errorf(diag.Pos{}, "", "no schema for %q; schemas: %s", args[0], strings.Join(Kinds, ", "))
				e.Hints = diag.DidYouMean(args[0], Kinds)
				return options.UsageError(e)
			}
			return a.Print(text)
		},
	}
	cmd.Flags().StringVarP(&dest, "output", "o", "", "`FILE` for schema openapi (default: stdout)")
	return cmd
}
