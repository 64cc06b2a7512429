// Follows kyaml/yaml/merge2/merge2.go, kyaml/yaml/merge2/smpdirective.go,
// kyaml/yaml/walk/walk.go, kyaml/yaml/walk/map.go.

package builtins

import (
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// MergePatch applies a strategic merge patch to an object. It returns the result, or deleted if
// the patch deletes the whole object. MergePatch does not copy parts of dest that the patch
// leaves unchanged; if nothing changes, it returns dest itself.
//
// The merge reproduces kustomize, which differs from Kubernetes. A list is merged only where the
// schema says so, and replaced elsewhere. Items of the patch come first. retainKeys,
// $setElementOrder and $deleteFromPrimitiveList have no effect. Finally, the merge visits the
// whole object, so lists lose duplicates even if the patch does not mention them.
func MergePatch(kinds *schema.Schema, dest, patch yaml.Value) (result yaml.Value, deleted bool, err error) {
	return mergePatch(kinds, dest, patch, nil)
}

// mergePatch is [MergePatch] with a memory of earlier merges into the same object, or nil.
func mergePatch(kinds *schema.Schema, dest, patch yaml.Value, memory *mergeMemory) (result yaml.Value, deleted bool, err error) {
	m := merger{kinds, memory}
	result, err = m.merge(dest, patch, schema.Node{})
	return result, err == nil && !result.Exists(), err
}

// A merger walks an object and a patch in parallel. Its methods return None for a value to be
// removed.
type merger struct {
	schema *schema.Schema
	memory *mergeMemory // nil for an object that is not owned
}

// A directive is the value of a $patch field.
type directive string

const (
	directiveKey               = "$patch"
	mergeDirective   directive = "merge"
	replaceDirective directive = "replace"
	deleteDirective  directive = "delete"
)

func parseDirective(v yaml.Value) (directive, error) {
	switch d := directive(v.Text()); {
	case !v.Exists():
		return mergeDirective, nil
	case d == mergeDirective, d == replaceDirective, d == deleteDirective:
		return d, nil
	default:
		return "", diag.PatchTypes.Errorf("unknown value %q of %s: must be delete, replace or merge", d, directiveKey)
	}
}

// mapDirective returns the directive of a mapping, and the mapping without the directive.
func mapDirective(v yaml.Value) (directive, yaml.Value, error) {
	d, err := parseDirective(v.Get(directiveKey))
	if err != nil {
		return d, v, err
	}
	return d, v.Without(directiveKey), nil
}

// node returns n if it exists, and otherwise the schema of the first value that is a complete
// object. Such objects occur within others, for instance as templates in custom resources.
func (m *merger) node(n schema.Node, values ...yaml.Value) schema.Node {
	if n.Exists() {
		return n
	}
	for _, v := range values {
		kind, apiVersion := v.Get("kind").Text(), v.Get("apiVersion").Text()
		if kind == "" || apiVersion == "" {
			continue
		}
		if found := m.schema.For(schema.Kind(krm.ParseGVK(apiVersion, kind))); found.Exists() {
			return found
		}
	}
	return n
}

// merge returns dest with patch applied.
func (m *merger) merge(dest, patch yaml.Value, n schema.Node) (yaml.Value, error) {
	switch {
	case !patch.Exists():
		v, err := m.keep(dest, n)
		return v.SetAgain(), err
	case dest.IsNull():
		v, err := m.add(patch, n)
		if dest.Exists() {
			v = v.WithStyleOf(dest)
		}
		return v, err
	case patch.IsNull():
		return yaml.Value{}, nil
	case shape(dest) != shape(patch):
		return yaml.Value{}, advised(diag.PatchTypes.Errorf("%s cannot replace %s", patch.Type().Article(), dest.Type().Article()), "%s",
			otherShape(dest))
	case dest.Type() == yaml.Map:
		v, err := m.mergeMap(dest, patch, m.node(n, dest, patch))
		return v.WithStyleOf(keepsStyle(dest, patch)), err
	case dest.Type() == yaml.Seq:
		v, err := m.mergeSeq(dest, patch, n)
		return orSame(v.WithStyleOf(keepsStyle(dest, patch)), dest), err
	}
	return mergeScalar(dest, patch), nil
}

// otherShape returns a hint at the right form of a patch for dest.
func otherShape(dest yaml.Value) string {
	switch dest.Type() {
	case yaml.Seq:
		return "write a list, with a dash before each item"
	case yaml.Map:
		return "write a mapping, as key: value"
	}
	return "write a single value"
}

// keepsStyle returns dest or patch, whichever determines whether the result is written in
// brackets.
func keepsStyle(dest, patch yaml.Value) yaml.Value {
	if dest.Len() == 0 {
		return patch
	}
	return dest
}

// orSame returns old if v holds the same data.
func orSame(v, old yaml.Value) yaml.Value {
	if v.Equal(old) {
		return old
	}
	return v
}

func shape(v yaml.Value) yaml.Type {
	if v.IsScalar() {
		return yaml.String
	}
	return v.Type()
}

// mergeScalar replaces dest by patch but keeps the quotes of dest.
func mergeScalar(dest, patch yaml.Value) yaml.Value {
	if dest.Quoted() && patch.Type() != yaml.String {
		patch = yaml.QuotedStr(patch.Text())
	}
	if dest.Equal(patch) && !dest.IsLinked() && !dest.IsUntyped() {
		return dest
	}
	return patch.WithStyleOf(dest)
}

func (m *merger) mergeMap(dest, patch yaml.Value, n schema.Node) (yaml.Value, error) {
	d, patch, err := mapDirective(patch)
	if err != nil {
		return yaml.Value{}, err
	}
	switch d {
	case deleteDirective:
		return yaml.Value{}, nil
	case replaceDirective:
		v, err := m.eachField(patch, func(f yaml.Field) (yaml.Value, error) { return m.settle(f.Value, n.Field(f.Key)) })
		return orSame(v, dest), err
	}
	if v, ok := m.memory.addScalars(dest, patch); ok {
		return v, nil
	}
	inPatch := patch.Finder(dest.Len())
	merged, err := m.eachField(dest, func(f yaml.Field) (yaml.Value, error) {
		return m.merge(f.Value, inPatch.Get(f.Key), n.Field(f.Key))
	})
	if err != nil {
		return yaml.Value{}, err
	}
	return m.addFields(dest, merged, patch, n)
}

// addFields adds to merged the fields that are in patch but not in dest.
func (m *merger) addFields(dest, merged, patch yaml.Value, n schema.Node) (yaml.Value, error) {
	inDest := dest.Finder(patch.Len())
	var added []yaml.Field
	for _, f := range patch.Fields() {
		if inDest.Index(f.Key) >= 0 {
			continue
		}
		v, err := m.add(f.Value, n.Field(f.Key))
		if err != nil {
			return yaml.Value{}, atField(f.Key, err)
		}
		if v.Exists() {
			added = append(added, yaml.Field{Key: f.Key, Value: v})
		}
	}
	if len(added) == 0 {
		return merged, nil
	}
	return merged.WithFields(slices.Concat(merged.Fields(), added)...), nil
}

// eachField returns v with each field replaced by the result of f and fields with the result None
// removed, or v itself if nothing changes.
func (m *merger) eachField(v yaml.Value, f func(yaml.Field) (yaml.Value, error)) (yaml.Value, error) {
	fields := v.Fields()
	var changed []yaml.Field // nil until the first change
	for i, field := range fields {
		x, err := f(field)
		if err != nil {
			return yaml.Value{}, atField(field.Key, err)
		}
		if changed == nil && !x.Same(field.Value) {
			changed = append(make([]yaml.Field, 0, len(fields)), fields[:i]...)
		}
		if changed != nil && x.Exists() {
			changed = append(changed, yaml.Field{Key: field.Key, Value: x})
		}
	}
	if changed == nil {
		return v, nil
	}
	return v.WithFields(changed...), nil
}

// add returns patch in the form in which it is inserted where dest has no value. An invalid
// directive is not an error at this level, unlike at deeper levels.
func (m *merger) add(patch yaml.Value, n schema.Node) (yaml.Value, error) {
	switch {
	case patch.IsNull():
		return yaml.Value{}, nil
	case patch.Type() == yaml.Seq && n.Merges():
		return m.settleItems(patch, n)
	case patch.Type() != yaml.Map:
		return patch, nil
	}
	n = m.node(n, patch)
	d, patch, _ := mapDirective(patch)
	if d == deleteDirective {
		return yaml.Value{}, nil
	}
	return m.eachField(patch, func(f yaml.Field) (yaml.Value, error) {
		v, err := m.settle(f.Value, n.Field(f.Key))
		return v.SetAgain(), err
	})
}

// settle returns patch in the form in which it is inserted below an added or replaced value. It
// applies directives and drops nulls.
func (m *merger) settle(patch yaml.Value, n schema.Node) (yaml.Value, error) {
	switch {
	case patch.Type() == yaml.Seq && n.Merges():
		d, items, err := seqDirective(patch)
		if err != nil || d == deleteDirective {
			return yaml.Value{}, err
		}
		return m.settleItems(items, n)
	case patch.Type() == yaml.Map:
		if _, _, err := mapDirective(patch); err != nil {
			return yaml.Value{}, err
		}
	}
	return m.add(patch, n)
}

// keep returns the result for a part of the object that the patch does not mention.
func (m *merger) keep(dest yaml.Value, n schema.Node) (yaml.Value, error) {
	switch {
	case dest.IsOmitted():
		return yaml.Value{}, nil
	case dest.Type() == yaml.Seq && n.Merges():
		return m.keepItems(dest, n)
	case dest.Type() == yaml.Map:
		if m.memory.isFlat(dest) {
			return dest, nil
		}
		n = m.node(n, dest)
		return m.eachField(dest, func(f yaml.Field) (yaml.Value, error) {
			if f.Value.IsScalar() {
				return f.Value.SetAgain(), nil
			}
			return m.keep(f.Value, n.Field(f.Key))
		})
	}
	return dest, nil
}

func (m *merger) mergeSeq(dest, patch yaml.Value, n schema.Node) (yaml.Value, error) {
	if !n.Merges() {
		return patch, nil
	}
	d, patch, err := seqDirective(patch)
	switch {
	case err != nil || d == deleteDirective:
		return yaml.Value{}, err
	case d == replaceDirective:
		return m.settleItems(patch, n)
	}
	return m.mergeItems(dest, patch, n)
}

// A mergeError adds the position within the object to an error.
type mergeError struct {
	path []any
	err  error
}

func atField(key string, err error) error { return atStep(key, err) }

func atStep(step any, err error) error {
	if e, ok := err.(*mergeError); ok {
		e.path = slices.Insert(e.path, 0, step)
		return e
	}
	return &mergeError{[]any{step}, err}
}

func (e *mergeError) Error() string {
	steps := make([]string, len(e.path))
	for i, step := range e.path {
		steps[i] = fmt.Sprint(step)
	}
	return strings.Join(steps, ".") + ": " + e.err.Error()
}

func (e *mergeError) Unwrap() error { return e.err }
