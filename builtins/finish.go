// Follows api/krusty/kustomizer.go, api/internal/target/kusttarget.go, api/resmap/reswrangler.go.

package builtins

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/lint"
)

// A Finish is the last step of a build and processes the resources of all layers together. It
// adds content hashes to names, updates name references, replaces vars, and removes data that
// only the build needed. Transform does not change the Finish.
type Finish struct {
	NameReference *NameReferences
	VarReference  *FieldSpecs
	Vars          VarSet
	// Sort is the order of the output, nil to keep the current order. See [LegacyOrder].
	Sort *SortOptions
	// ManagedBy is the value of the label app.kubernetes.io/managed-by, "" for none.
	ManagedBy string
	// OriginAnnotations and TransformerAnnotations add annotations with the recorded provenance.
	OriginAnnotations, TransformerAnnotations bool
}

// Transform finishes list.
func (f *Finish) Transform(list *krm.List, warn Warn) error {
	if err := new(HashTransformer).Transform(list, warn); err != nil {
		return err
	}
	index := newNameIndex(list)
	if err := index.fixNames(list, f.NameReference); err != nil {
		return err
	}
	lint.Result(list, index.named, warn)
	if err := ResolveVars(list, f.Vars, f.VarReference, warn); err != nil {
		return err
	}
	if err := dropLocal(list); err != nil {
		return err
	}
	if err := list.CheckUnique(); err != nil {
		return err
	}
	sort := SortOrderTransformer{SortOptions: f.Sort}
	if err := sort.Transform(list, warn); err != nil {
		return err
	}
	return list.Parts(f.cleanAll)
}

func (f *Finish) cleanAll(list *krm.List) error {
	for i, r := range list.All() {
		v, err := f.clean(r)
		if err != nil {
			return diag.Errorf(r.Pos, "", "%s: %w", r.ID(), err)
		}
		if !v.Same(r.Value()) {
			list.Change(i, func(r *krm.Resource) { r.SetValue(v) })
		}
	}
	return nil
}

// dropLocal removes empty resources and resources that are local to the build.
func dropLocal(list *krm.List) error {
	for _, r := range list.All() {
		id := r.ID()
		switch {
		case r.Value().IsEmpty():
		case id.Kind == "":
			return diag.Errorf(r.Pos, "", "%s: the kind is missing", id).With(diag.Nameless)
		case id.Name == "" && !strings.HasSuffix(id.Kind, "List"):
			return diag.Errorf(r.Pos, "", "%s: metadata.name is missing", id).With(diag.Nameless)
		}
	}
	list.Filter(func(r *krm.Resource) bool { return !r.Value().IsEmpty() && !r.IsLocal() })
	return nil
}

// clean returns the value of r with the metadata of the output.
func (f *Finish) clean(r *krm.Resource) (yaml.Value, error) {
	v := r.Value()
	if f.ManagedBy != "" {
		labels := FieldSpec{Path: "metadata/labels", CreateIfNotPresent: true}
		var err error
		if v, err = labels.Edit(v, yaml.Map, f.addManagedBy); err != nil {
			return v, err
		}
	}
	meta := v.Get("metadata")
	if meta.Type() != yaml.Map && meta.Exists() {
		return v, nil
	}
	old := meta.Get("annotations")
	annotations := f.annotations(r, old)
	switch {
	case annotations.Len() > 0:
		if annotations.Same(old) {
			return v, nil
		}
		return v.With("metadata", meta.With("annotations", annotations)), nil
	case old.Len() == 0 && f.OriginAnnotations && f.TransformerAnnotations:
		return v, nil // only here does kustomize leave the annotations alone
	case !meta.Exists():
		return v.With("metadata", yaml.MapOf()), nil
	case !old.Exists():
		return v, nil
	}
	return v.With("metadata", meta.Without("annotations")), nil
}

func (f *Finish) addManagedBy(labels yaml.Value) (yaml.Value, error) {
	if labels.Type() != yaml.Map {
		return labels, diag.UnfitField.Errorf("metadata.labels must be a mapping, not a %s", labels.Type())
	}
	return labels.With("app.kubernetes.io/managed-by", yaml.Str(f.ManagedBy)), nil
}

// annotations returns the annotations of the output: old with all values as strings, without
// annotations internal to the build, and with the provenance of r if requested. It returns old
// itself if nothing changes.
func (f *Finish) annotations(r *krm.Resource, old yaml.Value) yaml.Value {
	var origin, transformations string
	if f.OriginAnnotations && r.Origin != nil {
		origin = OriginText(r.Origin)
	}
	if f.TransformerAnnotations && len(r.Transformations) > 0 {
		transformations = TransformationsText(r.Transformations)
	}
	if origin == "" && transformations == "" && !slices.ContainsFunc(old.Fields(), f.unclean) {
		return old
	}
	fields := make([]yaml.Field, 0, old.Len()+2)
	for _, a := range old.Fields() {
		if f.removes(a.Key) || a.Key == originAnnotation && origin != "" || a.Key == transformationsAnnotation && transformations != "" {
			continue
		}
		if !isPlainString(a.Value) {
			a.Value = yaml.Str(a.Value.SourceText())
		}
		fields = append(fields, a)
	}
	if origin != "" {
		fields = append(fields, yaml.Field{Key: originAnnotation, Value: yaml.Str(origin)})
	}
	if transformations != "" {
		fields = append(fields, yaml.Field{Key: transformationsAnnotation, Value: yaml.Str(transformations)})
	}
	return yaml.MapOf(fields...)
}

func (f *Finish) unclean(a yaml.Field) bool {
	return !isPlainString(a.Value) || f.removes(a.Key)
}

// isPlainString reports whether an annotation already has the form that kustomize would write. An
// empty text without a type, which a replacement can produce, would become null.
func isPlainString(v yaml.Value) bool {
	return v.Type() == yaml.String && !v.IsFolded() && !v.IsUntyped()
}

// removes reports whether an annotation is internal: kustomize uses it during a build or for
// functions. Kustomize removes these annotations from input as well.
func (f *Finish) removes(key string) bool {
	switch key {
	case originAnnotation:
		return !f.OriginAnnotations
	case transformationsAnnotation:
		return !f.TransformerAnnotations
	case "config.kubernetes.io/path", "config.kubernetes.io/index", "config.k8s.io/id":
		return true
	}
	name, internal := strings.CutPrefix(key, "internal.config.kubernetes.io/")
	if !internal {
		return false
	}
	switch name {
	case "previousKinds", "previousNames", "previousNamespaces", "prefixes", "suffixes", "refBy", "generatorBehavior",
		"needsHashSuffix", "allowNameChange", "allowKindChange", "path", "index", "id", "seqindent",
		"annotations-migration-resource-id", "helm-generated":
		return true
	}
	return false
}
