// Follows api/internal/builtins/NamespaceTransformer.go, api/filters/namespace/namespace.go.

package builtins

import (
	"fmt"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// NamespaceTransformer sets the namespace of resources (`namespace:`).
type NamespaceTransformer struct {
	Metadata struct {
		// Namespace is the namespace to set; an empty one changes nothing.
		Namespace string `json:"namespace,omitempty"`
	} `json:"metadata,omitempty"`
	FieldSpecs *FieldSpecs `json:"fieldSpecs,omitempty"`
	// UnsetOnly keeps namespaces that are there.
	UnsetOnly bool `json:"unsetOnly"`
	// SetRoleBindingSubjects says which subjects of RoleBindings and ClusterRoleBindings get the namespace:
	// "defaultOnly" (those named default), "allServiceAccounts" or "none".
	SetRoleBindingSubjects string `json:"setRoleBindingSubjects"`
}

// Configure fails if SetRoleBindingSubjects is not one of its values.
func (t *NamespaceTransformer) Configure(env Env) error {
	env.doubtNamespace(t.Metadata.Namespace)
	switch t.SetRoleBindingSubjects {
	case "":
		t.SetRoleBindingSubjects = "defaultOnly"
	case "defaultOnly", "allServiceAccounts", "none":
	default:
		return advised(diag.BadValue.Errorf(`setRoleBindingSubjects: %q must be "defaultOnly", "none" or "allServiceAccounts"`, t.SetRoleBindingSubjects), "defaultOnly is what kustomize does without it")
	}
	return nil
}

// Transform sets metadata.namespace of everything that is not known to be cluster scoped, subjects of role bindings and
// the other fields of FieldSpecs. Two resources that become the same one are an error.
func (t *NamespaceTransformer) Transform(list *krm.List, _ Warn) error {
	if t.Metadata.Namespace == "" {
		return nil
	}
	if err := list.Parts(t.setter().applyTo); err != nil {
		return err
	}
	return list.CheckUnique()
}

// UseFields implements [FieldLister].
func (t *NamespaceTransformer) UseFields(c *Config) { t.FieldSpecs = c.Namespace }

// Causes implements [Causer].
func (t *NamespaceTransformer) Causes(e Edit) Likelihood { return likelyIf(e.Field == "namespace") }

// StandsFor implements [FieldForm].
func (t *NamespaceTransformer) StandsFor() []KustomizationField {
	return []KustomizationField{{Name: "namespace", Key: "metadata.namespace"}}
}

// helmGenerated marks what Helm made, which has its namespace from Helm.
const helmGenerated = "internal.config.kubernetes.io/helm-generated"

// MarkHelm marks a resource as one that helm made.
func MarkHelm(r *krm.Resource) {
	r.SetValue(r.Value().WithAt(yaml.Str("true"), "metadata", "annotations", helmGenerated))
}

// WithoutHelmMark returns v without the mark of [MarkHelm], or v itself if it has none.
func WithoutHelmMark(v yaml.Value) yaml.Value {
	meta := v.Get("metadata")
	annotations := meta.Get("annotations")
	switch {
	case !annotations.Get(helmGenerated).Exists():
		return v
	case annotations.Len() == 1:
		return v.With("metadata", meta.Without("annotations"))
	}
	return v.With("metadata", meta.With("annotations", annotations.Without(helmGenerated)))
}

// isHelm reports whether helm made a resource.
func isHelm(r *krm.Resource) bool { return r.Annotations().Get(helmGenerated).Text() == "true" }

func (t *NamespaceTransformer) setter() *namespaceSetter {
	return &namespaceSetter{
		namespace: yaml.Str(t.Metadata.Namespace),
		unsetOnly: t.UnsetOnly,
		subjects:  t.SetRoleBindingSubjects,
		fields:    t.FieldSpecs,
	}
}

// A namespaceSetter does the work for one list.
type namespaceSetter struct {
	namespace yaml.Value
	unsetOnly bool
	subjects  string
	fields    *FieldSpecs
}

func (s *namespaceSetter) applyTo(part *krm.List) error {
	for i, r := range part.All() {
		if r.Value().IsEmpty() || isHelm(r) {
			continue
		}
		v, err := s.apply(r)
		if err != nil {
			return resourceError(r, err)
		}
		part.Change(i, func(r *krm.Resource) {
			r.PushID()
			r.SetValue(v)
		})
	}
	return nil
}

func (s *namespaceSetter) apply(r *krm.Resource) (yaml.Value, error) {
	v, id := r.Value(), r.ID()
	if !id.Cluster {
		w, err := s.setMetadata(v)
		if err != nil {
			return v, err
		}
		v = w
	}
	binding := isRoleBinding(id.Kind)
	if binding && s.subjects != "none" {
		w, err := s.setSubjects(v)
		if err != nil {
			return v, err
		}
		v = w
	}
	specs := s.fields.pick(id.GVK).specs
	for i := range specs {
		spec := &specs[i]
		switch {
		case spec.Path == "metadata/namespace",
			spec.Path == "metadata/name" && id.APIVersion() != "v1",
			binding && spec.Path == "subjects/namespace" && isRoleBinding(spec.Kind):
			continue // the code above has done it, or it is another API's Namespace
		}
		w, err := spec.edit(v, yaml.String, s.set)
		if err != nil {
			return v, err
		}
		v = w
	}
	return v, nil
}

func (s *namespaceSetter) setMetadata(v yaml.Value) (yaml.Value, error) {
	meta := v.Get("metadata")
	if !meta.IsNull() && meta.Type() != yaml.Map {
		return v, diag.UnfitField.Errorf("metadata is no mapping")
	}
	old := meta.Get("namespace")
	if s.unsetOnly && old.SourceText() != "" {
		return v, nil // here null counts as a namespace
	}
	ns, err := s.set(old)
	if err != nil {
		return v, fmt.Errorf("metadata.namespace: %w", err)
	}
	if ns.Same(old) {
		return v, nil
	}
	return v.With("metadata", meta.With("namespace", ns)), nil
}

// set keeps a value that is already right.
func (s *namespaceSetter) set(old yaml.Value) (yaml.Value, error) {
	switch {
	case !old.IsNull() && !old.IsScalar():
		return old, errNotScalar(old)
	case s.unsetOnly && old.Text() != "", old.Type() == yaml.String && old.Text() == s.namespace.Text():
		return old, nil
	}
	return s.namespace.WithStyleOf(old), nil
}

func isRoleBinding(kind string) bool { return kind == "RoleBinding" || kind == "ClusterRoleBinding" }

func (s *namespaceSetter) setSubjects(v yaml.Value) (yaml.Value, error) {
	subjects := v.Get("subjects")
	if subjects.IsNull() {
		return v, nil
	}
	if subjects.Type() != yaml.Seq {
		return v, diag.NamespaceSubjects.Errorf("subjects: %w", errFound("a list", subjects))
	}
	i := -1
	changed, err := subjects.EditItems(func(subject yaml.Value) (yaml.Value, error) {
		i++
		return s.setSubject(subject)
	})
	if err != nil {
		return v, fmt.Errorf("subjects[%d]: %w", i, err)
	}
	if changed.Same(subjects) {
		return v, nil
	}
	return v.With("subjects", changed), nil
}

func (s *namespaceSetter) setSubject(subject yaml.Value) (yaml.Value, error) {
	if subject.IsNull() {
		return subject, nil
	}
	if subject.Type() != yaml.Map {
		return subject, errFound("a mapping", subject)
	}
	key, want := "name", "default"
	if s.subjects == "allServiceAccounts" {
		key, want = "kind", "ServiceAccount"
	}
	switch got := subject.Get(key); {
	case !got.IsNull() && !got.IsScalar():
		return subject, fmt.Errorf("%s: %w", key, errNotScalar(got))
	case got.Text() != want:
		return subject, nil
	}
	old := subject.Get("namespace")
	ns, err := s.set(old)
	if err != nil || ns.Same(old) {
		return subject, err
	}
	return subject.With("namespace", ns), nil
}
