package editing

import (
	"fmt"

	"github.com/krmflow/krmflow/edit"
	"github.com/spf13/cobra"
)

func (s *Session) fixCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "fix",
		Short:   "Replace deprecated fields",
		Example: "  krmflow edit fix --dry-run",
		RunE: func(*cobra.Command, []string) error {
			return s.add(edit.Fix(func(from, to string) { fmt.Fprintf(s.Stderr, "%s -> %s\n", from, to) }))
		},
	}
}

// builtinPlugins are the generators and transformers that kustomize lists, generators first.
var builtinPlugins = []string{
	"ConfigMapGenerator", "HelmChartInflationGenerator", "IAMPolicyGenerator", "SecretGenerator", "AnnotationsTransformer", "HashTransformer",
	"ImageTagTransformer", "LabelTransformer", "NamespaceTransformer", "PatchJson6902Transformer", "PatchStrategicMergeTransformer",
	"PatchTransformer", "PrefixSuffixTransformer", "PrefixTransformer", "ReplacementTransformer", "ReplicaCountTransformer", "SuffixTransformer",
	"ValueAddTransformer",
}

func (s *Session) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list-builtin-plugin",
		Aliases: []string{"alpha-list-builtin-plugin"},
		Short:   "List the built-in generators and transformers",
		RunE: func(*cobra.Command, []string) error {
			text := "Builtin plugins:\n\n"
			for _, p := range builtinPlugins {
				text += " * " + p + "\n"
			}
			_, err := fmt.Fprint(s.Stdout, text)
			return err
		},
	}
}
