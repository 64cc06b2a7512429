// Follows api/resmap/reswrangler.go, api/resource/resource.go,
// api/filters/patchstrategicmerge/patchstrategicmerge.go.

package builtins

import (
	"errors"
	"fmt"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// An smPatch is one strategic merge patch, prepared for application.
type smPatch struct {
	id         krm.ID
	pos        diag.Pos
	text       patchText // contains the patch as document doc
	doc        int
	value      yaml.Value
	allowName  bool // the patch may change the name
	allowKind  bool // the patch may change the kind
	wipesState bool // see wipesState
	schemaAt   func() diag.Pos
}

// newSMPatch prepares a patch. toSet selects between kustomize's two procedures, which apply a
// patch to a set of resources or to a single resource.
func newSMPatch(env Env, r *krm.Resource, options PatchOptions, toSet bool) *smPatch {
	p := &smPatch{id: r.ID(), pos: r.Pos, value: r.Value(), allowName: options.AllowNameChange, allowKind: options.AllowKindChange,
		schemaAt: env.SchemaAt}
	// When kustomize adds its own annotations to a patch, it rewrites the user's annotations as
	// strings.
	if toSet {
		p.value = textFields(p.value, "labels", yaml.Value.SourceText)
	}
	if toSet || p.allowName || p.allowKind {
		p.value = textFields(p.value, "annotations", yaml.Value.SourceText)
	}
	p.wipesState = wipesState(p.value)
	return p
}

// checkMetadata returns an error if the labels or annotations of the patch r are a list or a
// scalar, which would be lost.
func checkMetadata(r *krm.Resource) error {
	for _, field := range []string{"labels", "annotations"} {
		if v := r.Value().At("metadata", field); v.Type() == yaml.Seq || v.IsScalar() {
			return diag.Errorf(r.Pos, "", "metadata.%s: %w", field, errFound("a mapping", v))
		}
	}
	return nil
}

// textFields returns v with the metadata field key in the form that kustomize writes back after
// reading it. All values are strings, including nulls, and the field disappears unless it is a
// mapping with entries.
func textFields(v yaml.Value, key string, text func(yaml.Value) string) yaml.Value {
	meta := v.Get("metadata")
	old := meta.Get(key)
	switch {
	case meta.Type() != yaml.Map || !old.Exists():
		return v
	case old.Len() == 0 || old.Type() != yaml.Map:
		return v.With("metadata", meta.Without(key))
	}
	fields := old.Fields()
	texts := make([]yaml.Field, len(fields))
	changed := false
	for i, f := range fields {
		texts[i] = yaml.Field{Key: f.Key, Value: yaml.SetStr(text(f.Value))}
		changed = changed || f.Value.Type() != yaml.String || f.Value.IsFolded() || f.Value.Quoted() != texts[i].Value.Quoted()
	}
	if !changed {
		return v
	}
	return v.With("metadata", meta.With(key, yaml.MapOf(texts...)))
}

// wipesState reports whether a patch removes or replaces all annotations. Kustomize keeps its
// state of a resource in annotations, so such a patch makes it forget earlier names and all other
// state.
func wipesState(patch yaml.Value) bool {
	for _, v := range []yaml.Value{patch.Get("metadata"), patch.At("metadata", "annotations")} {
		if d, _, err := mapDirective(v); v.Type() == yaml.Null || err == nil && d != mergeDirective {
			return true
		}
	}
	return false
}

// merged returns the object r with the patch applied, None if the patch deletes the resource.
func (p *smPatch) merged(kinds *schema.Schema, r *krm.Resource, toSet bool, memory *mergeMemory) (yaml.Value, error) {
	patch := p.value
	if toSet {
		patch = setText(patch, r.ID().APIVersion(), "apiVersion")
	}
	old := r.Value()
	if v := old.Get("apiVersion"); toSet && (v.Type() == yaml.Seq || v.Type() == yaml.Map) {
		return yaml.Value{}, resourceError(r, errNotScalar(v))
	}
	if annotations := patch.At("metadata", "annotations"); annotations.Exists() && annotations.Type() != yaml.Map && hasState(r) {
		old = withAnnotations(old) // kustomize has added its own annotations at this point
	}
	merged, deleted, err := mergePatch(kinds, old, patch, memory)
	if err != nil {
		return yaml.Value{}, p.text.at(resourceError(r, err), p.doc, p.path(err)...)
	}
	if deleted {
		return yaml.Value{}, nil
	}
	// Kustomize reads the original object, which the replacement of the root does not modify.
	if d, _, _ := mapDirective(patch); d == replaceDirective {
		merged = r.Value()
	}
	return p.restore(merged, r.ID(), toSet), nil
}

// path returns the path to the field of the patch that an error of its merge is about. It ends at a
// list with several items, because the error has the index in the result.
func (p *smPatch) path(err error) (path []any) {
	var at *mergeError
	if !errors.As(err, &at) {
		return nil
	}
	v := p.value
	for _, step := range at.path {
		switch step := step.(type) {
		case string:
			v = v.Get(step)
			path = append(path, step)
		case int:
			if v.Len() != 1 {
				return path
			}
			v = v.Items()[0]
			path = append(path, 0)
		}
	}
	return path
}

// restore returns v, the result of a merge, with the parts of the identity id that the patch may
// not change.
func (p *smPatch) restore(v yaml.Value, id krm.ID, toSet bool) yaml.Value {
	if toSet {
		v = setText(v, id.APIVersion(), "apiVersion")
	}
	if !p.allowKind {
		v = setText(v, id.Kind, "kind")
	}
	if !p.allowName {
		v = setText(v, id.Name, "metadata", "name")
	}
	if id.Namespace != "" {
		return setText(v, id.Namespace, "metadata", "namespace")
	}
	if meta := v.Get("metadata"); meta.Get("namespace").Exists() {
		return v.With("metadata", meta.Without("namespace"))
	}
	return v
}

// setText sets a text that has no type of its own.
func setText(v yaml.Value, text string, path ...string) yaml.Value {
	old := v.At(path...)
	if old.Text() == text && (old.Quoted() || old.IsUntyped()) {
		return v
	}
	return v.WithAt(sameStyle(old, text), path...)
}

// forget removes the state that kustomize keeps in annotations.
func forget(r *krm.Resource) {
	r.Prev, r.Prefixes, r.Suffixes, r.Transformations = nil, nil, nil, nil
	r.Behavior, r.NeedsHash, r.Origin = "", false, nil
}

// applyTo applies the patch to the resource at index i, checks the result, and reports whether
// anything changed. With toSet, the patch takes the apiVersion of its target; see newSMPatch.
func (p *smPatch) applyTo(kinds *schema.Schema, list *krm.List, i int, toSet bool, check *patchCheck) (changed, deleted bool, err error) {
	r, memory := list.At(i), memoryOf(list, i)
	gvk, before := r.ID().GVK, r.Value()
	merged, err := p.merged(kinds, r, toSet, memory)
	if err != nil {
		return false, false, err
	}
	if !merged.Exists() {
		list.Set(i, deletedResource)
		return true, true, nil
	}
	state := p.allowName || p.allowKind || p.wipesState
	if state || !merged.Same(before) {
		list.Change(i, func(r *krm.Resource) {
			if p.allowName || p.allowKind {
				r.PushID()
			}
			if p.wipesState {
				forget(r)
			}
			r.SetValue(merged)
		})
	}
	if err := list.CheckSize(); err != nil {
		return false, false, err
	}
	after := list.At(i).Value()
	check.changed(gvk, before, after, memory)
	memory.commit()
	return state || !after.Equal(before), false, nil
}

// deletedResource is a placeholder for a deleted resource until sweep removes it.
var deletedResource = krm.NewResource(yaml.Value{}, nil)

func sweep(list *krm.List) {
	list.Filter(func(r *krm.Resource) bool { return r != deletedResource })
}

// target returns the position of the resource whose current or previous identity is named by the
// patch. It fails unless there is exactly one.
func (p *smPatch) target(list *krm.List) (int, error) {
	found := list.FindAny(p.id)
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		err := diag.Errorf(diag.Pos{}, "", "no resource matches the patch for %s", p.id).With(diag.NoPatchTarget)
		if err.Hints = p.near(list); err.Hints == nil {
			err.Hints = p.others(list)
		}
		return 0, p.text.at(err, p.doc)
	}
	err := diag.Errorf(diag.Pos{}, "", "several resources match the patch for %s", p.id).With(diag.SeveralPatchTargets)
	for _, i := range found {
		err.Hint("%s has or had this name", list.At(i).ID())
	}
	return 0, p.text.at(err, p.doc)
}

// others returns a hint at possible targets of the patch: resources with its name, or names of
// its kind, or kinds.
func (p *smPatch) others(list *krm.List) []string {
	names, kinds := namesOf(p.id.Kind, list), []string(nil)
	for _, r := range list.All() {
		if id := r.ID(); id.Name == p.id.Name {
			kinds = append(kinds, describe(r))
		}
	}
	switch {
	case list.Len() == 0:
		return []string{"no resources exist at this step"}
	case kinds != nil:
		return []string{"resources with this name are: " + diag.Some(kinds)}
	case names != nil:
		return []string{fmt.Sprintf("a patch must use the name that a resource has at this step; resources of kind %s are: %s", p.id.Kind,
			diag.Some(names))}
	}
	return []string{"the kinds are: " + diag.Some(slices.Compact(slices.Sorted(slices.Values(kindsOf(list)))))}
}

// near returns hints at similar resources: resources with the same kind and name in other
// namespaces or versions, or with the same kind and a similar name.
func (p *smPatch) near(list *krm.List) []string {
	var hints []string
	var names []string
	for _, r := range list.All() {
		id := r.ID()
		if id.Kind != p.id.Kind {
			continue
		}
		if id.Name == p.id.Name && len(hints) < 3 {
			hints = append(hints, fmt.Sprintf("did you mean %s?", id))
		}
		names = append(names, id.Name)
	}
	if hints == nil {
		return diag.DidYouMean(p.id.Name, names)
	}
	return hints
}
