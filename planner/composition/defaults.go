package composition

import (
	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/krm/yaml"
)

// UseDefaultFields gives a built-in that names no fields those of the field of a Kustomization that it stands for (BT-05). An
// empty list means none (BT-06).
func UseDefaultFields(b builtins.Builtin, config yaml.Value) {
	if !config.Get("fieldSpecs").IsNull() {
		return
	}
	d := builtins.DefaultConfig()
	switch t := b.(type) {
	case *builtins.PrefixTransformer:
		t.FieldSpecs = d.NamePrefix
	case *builtins.SuffixTransformer:
		t.FieldSpecs = d.NameSuffix
	case *builtins.PrefixSuffixTransformer:
		t.FieldSpecs = d.NamePrefix
	case *builtins.LabelTransformer:
		t.FieldSpecs = d.CommonLabels
	case *builtins.AnnotationsTransformer:
		t.FieldSpecs = d.CommonAnnotations
	case *builtins.NamespaceTransformer:
		t.FieldSpecs = d.Namespace
	case *builtins.ReplicaCountTransformer:
		t.FieldSpecs = d.Replicas
	case *builtins.ImageTagTransformer:
		t.FieldSpecs = d.Images
	}
}
