// Follows api/internal/plugins/builtinhelpers/builtins.go.

package builtins

import "github.com/krmflow/krmflow/krm/yaml"

// New returns an unconfigured built-in for a kind of documents with `apiVersion: builtin`, nil
// for unknown kinds. It does not know SortOrderTransformer, which kustomize offers only as the
// field sortOptions.
func New(kind string) Builtin {
	for _, k := range kinds {
		if k.name == kind {
			return k.make()
		}
	}
	return nil
}

// Kinds returns the kinds known to [New], sorted.
func Kinds() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// A question is one of the interfaces through which commands query a built-in, such as
// [FieldLister].
type question int

const (
	asFieldLister question = 1 << iota
	asChooser
	asSetter
	asLocator
	asPatcher
	asCauser
	asFileReader
	asFieldForm
)

// kinds are all kinds, sorted, each with the questions that do not apply to it.
var kinds = [...]struct {
	name    string
	make    func() Builtin
	without question
}{
	{"AnnotationsTransformer", func() Builtin { return new(AnnotationsTransformer) },
		asChooser | asLocator | asPatcher | asCauser | asFileReader},
	{"ConfigMapGenerator", func() Builtin { return new(ConfigMapGenerator) }, asFieldLister | asChooser | asSetter | asPatcher},
	{"HashTransformer", func() Builtin { return new(HashTransformer) },
		asFieldLister | asChooser | asSetter | asLocator | asPatcher | asCauser | asFileReader | asFieldForm},
	{"IAMPolicyGenerator", func() Builtin { return new(IAMPolicyGenerator) },
		asFieldLister | asChooser | asSetter | asLocator | asPatcher | asCauser | asFileReader | asFieldForm},
	{"ImageTagTransformer", func() Builtin { return new(ImageTagTransformer) }, asChooser | asLocator | asPatcher | asFileReader},
	{"LabelTransformer", func() Builtin { return new(LabelTransformer) },
		asChooser | asLocator | asPatcher | asCauser | asFileReader},
	{"NamespaceTransformer", func() Builtin { return new(NamespaceTransformer) },
		asChooser | asSetter | asLocator | asPatcher | asFileReader},
	{"PatchJson6902Transformer", func() Builtin { return new(PatchJson6902Transformer) },
		asFieldLister | asSetter | asLocator | asCauser},
	{"PatchStrategicMergeTransformer", func() Builtin { return new(PatchStrategicMergeTransformer) },
		asFieldLister | asChooser | asSetter | asLocator | asCauser},
	{"PatchTransformer", func() Builtin { return new(PatchTransformer) }, asFieldLister | asSetter | asLocator | asCauser},
	{"PrefixSuffixTransformer", func() Builtin { return new(PrefixSuffixTransformer) },
		asChooser | asSetter | asLocator | asPatcher | asFileReader | asFieldForm},
	{"PrefixTransformer", func() Builtin { return new(PrefixTransformer) },
		asChooser | asSetter | asLocator | asPatcher | asFileReader},
	{"ReplacementTransformer", func() Builtin { return new(ReplacementTransformer) }, asFieldLister | asPatcher | asCauser},
	{"ReplicaCountTransformer", func() Builtin { return new(ReplicaCountTransformer) }, asLocator | asPatcher | asFileReader},
	{"SecretGenerator", func() Builtin { return new(SecretGenerator) }, asFieldLister | asChooser | asSetter | asPatcher},
	{"SuffixTransformer", func() Builtin { return new(SuffixTransformer) },
		asChooser | asSetter | asLocator | asPatcher | asFileReader},
	{"ValueAddTransformer", func() Builtin { return new(ValueAddTransformer) },
		asFieldLister | asLocator | asPatcher | asCauser | asFieldForm},
}

// Decoding returns the rules by which kustomize decodes the configuration document of a built-in.
func Decoding(kind string) yaml.Decoding {
	exact := kind == "PrefixTransformer" || kind == "SuffixTransformer"
	return yaml.Decoding{AllowUnknown: true, ScalarsAsText: true, Exact: exact}
}
