// Follows api/resource/origin.go, api/resource/resource.go, api/resmap/reswrangler.go,
// api/internal/target/kusttarget.go.

package builtins

import (
	"strings"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// The annotations requested by buildMetadata.
const (
	originAnnotation          = "config.kubernetes.io/origin"
	transformationsAnnotation = "alpha.config.kubernetes.io/transformations"
)

// RecordOrigin sets the origin of the resources in list to o, except for resources that already
// have an origin. A nil o changes nothing.
func RecordOrigin(list *krm.List, o *krm.Origin) {
	if o == nil {
		return
	}
	for i, r := range list.All() {
		if !hasOrigin(r) {
			r = withTextAnnotations(r)
			r.Origin = o
			list.Set(i, r)
		}
	}
}

// RecordTransformation records that the transformer o was applied to list, whether or not it
// changed anything. For a resource of unknown origin, it sets the origin to o instead. A nil o
// changes nothing.
func RecordTransformation(list *krm.List, o *krm.Origin) {
	if o == nil {
		return
	}
	for i, r := range list.All() {
		r = withTextAnnotations(r)
		if hasOrigin(r) {
			r.Transformations = append(r.Transformations, o)
		} else {
			r.Origin = o
		}
		list.Set(i, r)
	}
}

// withTextAnnotations returns a copy of r whose annotations are all strings. Kustomize keeps the
// provenance in annotations. When it adds one, it rewrites all annotations as strings, and later
// steps see the result.
func withTextAnnotations(r *krm.Resource) *krm.Resource {
	r = r.Copy()
	annotations := r.Annotations()
	texts := annotations.EditFields(func(a yaml.Field) yaml.Value {
		if a.Value.Type() != yaml.String || a.Value.IsFolded() {
			return yaml.Str(a.Value.SourceText())
		}
		return a.Value
	})
	if !texts.Same(annotations) {
		r.SetValue(r.Value().WithAt(texts, "metadata", "annotations"))
	}
	return r
}

// hasOrigin reports whether r has an origin. It also accepts the annotation, in which functions
// return the origin of resources.
func hasOrigin(r *krm.Resource) bool {
	return r.Origin != nil || r.Annotations().Get(originAnnotation).Exists()
}

// PluginOrigin returns the origin of the results of a generator or transformer that is configured
// by the document config. It returns nil if the origin of config is not recorded.
func PluginOrigin(config *krm.Resource) *krm.Origin {
	if config.Origin == nil {
		return nil
	}
	return &krm.Origin{
		Repo:         config.Origin.Repo,
		Ref:          config.Origin.Ref,
		ConfiguredIn: config.Origin.Path,
		ConfiguredBy: config.ID(),
	}
}

// OriginText formats o for the annotation config.kubernetes.io/origin.
func OriginText(o *krm.Origin) string {
	if text := originLines(o); text != "" {
		return text
	}
	return "{}\n"
}

// TransformationsText formats list for the annotation alpha.config.kubernetes.io/transformations.
func TransformationsText(list []*krm.Origin) string {
	var b strings.Builder
	for _, o := range list {
		lead := "- "
		for line := range strings.Lines(OriginText(o)) {
			b.WriteString(lead)
			b.WriteString(line)
			lead = "  "
		}
	}
	return b.String()
}

func originLines(o *krm.Origin) string {
	var b strings.Builder
	line := func(indent, key, value string) {
		if value != "" {
			b.WriteString(indent)
			b.WriteString(key)
			b.WriteString(": ")
			b.WriteString(yaml.ScalarText(value))
			b.WriteByte('\n')
		}
	}
	line("", "path", o.Path)
	line("", "repo", o.Repo)
	line("", "ref", o.Ref)
	line("", "configuredIn", o.ConfiguredIn)
	by := o.ConfiguredBy
	if by.GVK == (krm.GVK{}) && by.Name == "" && by.Namespace == "" {
		return b.String()
	}
	b.WriteString("configuredBy:\n")
	line("  ", "apiVersion", by.APIVersion())
	line("  ", "kind", by.Kind)
	line("  ", "name", by.Name)
	line("  ", "namespace", by.Namespace)
	return b.String()
}
