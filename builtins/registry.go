// Follows api/internal/plugins/builtinhelpers/builtins.go.

package builtins

import "github.com/krmflow/krmflow/krm/yaml"

// New returns a new, unconfigured built-in of a kind that documents of `apiVersion: builtin` may have, nil for any other
// kind. SortOrderTransformer is not among them: kustomize knows it only as the field sortOptions.
func New(kind string) Builtin {
	for _, k := range kinds {
		if k.name == kind {
			return k.make()
		}
	}
	return nil
}

// Kinds returns the kinds that [New] knows, sorted.
func Kinds() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

var kinds = [...]struct {
	name string
	make func() Builtin
}{
	{"AnnotationsTransformer", func() Builtin { return new(AnnotationsTransformer) }},
	{"ConfigMapGenerator", func() Builtin { return new(ConfigMapGenerator) }},
	{"HashTransformer", func() Builtin { return new(HashTransformer) }},
	{"IAMPolicyGenerator", func() Builtin { return new(IAMPolicyGenerator) }},
	{"ImageTagTransformer", func() Builtin { return new(ImageTagTransformer) }},
	{"LabelTransformer", func() Builtin { return new(LabelTransformer) }},
	{"NamespaceTransformer", func() Builtin { return new(NamespaceTransformer) }},
	{"PatchJson6902Transformer", func() Builtin { return new(PatchJson6902Transformer) }},
	{"PatchStrategicMergeTransformer", func() Builtin { return new(PatchStrategicMergeTransformer) }},
	{"PatchTransformer", func() Builtin { return new(PatchTransformer) }},
	{"PrefixSuffixTransformer", func() Builtin { return new(PrefixSuffixTransformer) }},
	{"PrefixTransformer", func() Builtin { return new(PrefixTransformer) }},
	{"ReplacementTransformer", func() Builtin { return new(ReplacementTransformer) }},
	{"ReplicaCountTransformer", func() Builtin { return new(ReplicaCountTransformer) }},
	{"SecretGenerator", func() Builtin { return new(SecretGenerator) }},
	{"SuffixTransformer", func() Builtin { return new(SuffixTransformer) }},
	{"ValueAddTransformer", func() Builtin { return new(ValueAddTransformer) }},
}

// Decoding returns how kustomize reads the configuration document of a built-in.
func Decoding(kind string) yaml.Decoding {
	exact := kind == "PrefixTransformer" || kind == "SuffixTransformer"
	return yaml.Decoding{AllowUnknown: true, ScalarsAsText: true, Exact: exact}
}
