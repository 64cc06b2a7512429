package edit

import (
	"fmt"
	"slices"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/edit"
	"github.com/spf13/cobra"
)

func (s *Session) fixCommand() *cobra.Command {
	var vars, functions bool
	cmd := &cobra.Command{
		Use:   "fix",
		Short: "Replace deprecated fields",
		Long: `Replace the deprecated fields bases, imageTags, patchesJson6902, patchesStrategicMerge, commonLabels, env of generators, and helmChartInflationGenerator.
The output stays the same.

--vars also converts vars to replacements, including references in resource and patch files. The output can change, so compare it.

--functions writes function names to the field runtime instead of an annotation or metadata, in this file, in a Composition, and in the files
of generators, transformers and validators. Arguments of legacy exec plugins become arguments of the program. To move functions into a catalog, use
'krmflow catalog generate --strip-providers'.`,
		Annotations: map[string]string{isEdit: "true"},
		Example:     "  krmflow edit fix --dry-run\n  krmflow edit fix --functions",
		RunE: func(_ *cobra.Command, args []string) error {
			edits := []edit.Edit{edit.Fix(s.told)}
			if functions {
				edits[0] = edit.FixFunctions(s.told)
			}
			if vars {
				edits = append(edits, edit.ReplaceVars())
			}
			return s.add(edits...)
		},
	}
	cmd.Flags().BoolVar(&functions, "functions", false, "name functions in the field runtime")
	cmd.Flags().BoolVar(&vars, "vars", false, "convert vars to replacements")
	return cmd
}

// told prints the replacement of a deprecated field.
func (s *Session) told(from, to string) { fmt.Fprintf(s.Stderr, "%s -> %s\n", from, to) }

// builtinPlugins returns the generators and transformers of kustomize and krmflow, generators
// first.
func builtinPlugins() []string {
	generators, transformers := []string{"HelmChartInflationGenerator"}, []string(nil)
	for _, kind := range builtins.Kinds() {
		if _, ok := builtins.New(kind).(builtins.Generator); ok {
			generators = append(generators, kind)
		} else {
			transformers = append(transformers, kind)
		}
	}
	slices.Sort(generators)
	return append(generators, transformers...)
}

func (s *Session) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list-builtin-plugin",
		Aliases: []string{"alpha-list-builtin-plugin"},
		Short:   "List the built-in generators and transformers",
		Example: "  krmflow edit list-builtin-plugin",
		RunE: func(*cobra.Command, []string) error {
			text := "Builtin plugins:\n\n"
			for _, p := range builtinPlugins() {
				text += " * " + p + "\n"
			}
			_, err := fmt.Fprint(s.Stdout, text)
			return err
		},
	}
}
