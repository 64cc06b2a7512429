package flux

import (
	"maps"
	"slices"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// commonMetadata adds the step for spec.commonMetadata. Unlike kustomize's labels, the step changes
// only the metadata of objects, not selectors or templates.
func (r *root) commonMetadata(m metadata) {
	if len(m.Labels)+len(m.Annotations) > 0 {
		r.Steps = append(r.Steps, gitops.Step{Transformer: &commonMetadata{m}, At: r.Object.Place("spec", "commonMetadata"),
			Summary: "sets " + diag.Count(len(m.Labels), "label") + " and " + diag.Count(len(m.Annotations), "annotation")})
	}
}

// commonMetadata sets labels and annotations.
type commonMetadata struct{ set metadata }

// Configure implements builtins.Builtin.
func (t *commonMetadata) Configure(builtins.Env) error { return nil }

// Transform sets the labels and annotations of each resource.
func (t *commonMetadata) Transform(list *krm.List, _ builtins.Warn) error {
	return list.Parts(func(part *krm.List) error {
		for i := range part.All() {
			part.Change(i, func(r *krm.Resource) {
				v := with(r.Value(), "labels", t.set.Labels)
				r.SetValue(with(v, "annotations", t.set.Annotations))
			})
		}
		return part.CheckSize()
	})
}

func with(v yaml.Value, field string, set map[string]string) yaml.Value {
	for _, k := range slices.Sorted(maps.Keys(set)) {
		v = v.WithAt(yaml.Str(set[k]), "metadata", field, k)
	}
	return v
}
