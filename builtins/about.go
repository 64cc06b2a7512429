package builtins

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// The interfaces below let commands query a built-in without a case for each kind: explain, diff,
// convert, edit and localize use them. A built-in implements them in its own file. The interfaces
// are optional because few of them apply to every kind. An implementation may not simply be
// forgotten, though: the registry lists, for each kind, the interfaces that do not apply, and
// TestKindsAnswer compares both.

// A FieldLister changes the fields of a list.
type FieldLister interface {
	Transformer
	// UseFields makes the built-in act on the fields that c lists for the corresponding field of
	// a Kustomization. It is called before Configure.
	UseFields(c *Config)
}

// A Chooser selects resources by conditions in its configuration.
type Chooser interface {
	Builtin
	// Selects returns the conditions. A nil entry has no conditions that could be reported.
	Selects(files Files) []*Selector
}

// A Setter reports the fields that it would set in the selected resources.
type Setter interface {
	Builtin
	// Sets reports whether the built-in would set a field, and the part of the configuration that
	// does so.
	Sets(q FieldQuery) (Setting, bool)
}

// A Locator finds the part of its configuration that made a change.
type Locator interface {
	Builtin
	// Locate returns the part that made a change, false if it cannot be determined.
	Locate(c Change) (Place, bool)
}

// A Patcher applies patches.
type Patcher interface {
	Transformer
	// PatchTexts returns the names of the patch files and, as one text, the inline patches.
	PatchTexts() (files []string, text string)
}

// A Causer estimates whether it caused a difference between two renders. Built-ins that are not
// Causers may have caused any difference.
type Causer interface {
	Builtin
	// Causes returns how likely it is that the configured built-in caused an edit.
	Causes(e Edit) Likelihood
}

// A FileReader has fields that name files.
type FileReader interface {
	Builtin
	// FileFields returns the fields. The result is the same for all built-ins of a kind.
	FileFields() []FileField
}

// A FieldForm has an equivalent field in a Kustomization.
type FieldForm interface {
	Builtin
	// StandsFor returns the equivalent fields. The result is the same for all built-ins of a
	// kind.
	StandsFor() []KustomizationField
}

// Files returns the file that a configuration names, nil if it is unknown.
type Files func(name string) *yaml.Source

// A Place is a part of the configuration of a built-in, or a part of a file named there.
type Place struct {
	// File is the name of the file, "" for the configuration itself. Line is the line in the
	// file, 0 for the whole file. Line is not set for the configuration.
	File string
	Line int
	// Path leads to the part.
	Path []any
}

// A FieldQuery asks whether a built-in would set a field.
type FieldQuery struct {
	// Path separates names by dots and writes [] for any item of a list, for instance
	// spec.containers[].image.
	Path string
	// Is reports whether the field path of a replacement leads to the field, in any item of a
	// list.
	Is func(fieldPath string) bool
	// Value is the value of the field in the result, None if the result has no such field.
	Value yaml.Value
	Files Files
}

// A Setting is the part of a configuration that sets a field.
type Setting struct {
	Place
	// Where describes the resources and fields that the setting applies to.
	Where string
	// Missed means that the setting applies to a value similar to that in the query.
	Missed bool
}

// A Change is a change of one field by a built-in. Before is nil if a generator made the
// resource.
type Change struct {
	Before, After *krm.Resource
	// Path leads to the field in After, or in Before if the field was removed.
	Path    []any
	Removed bool
	Files   Files
}

// An Edit is a difference between two renders.
type Edit struct {
	// Kind and Name identify the resource in the newer render.
	Kind, Name string
	// Field is the name of the changed field, "" for an item of a list. New is the newer value.
	Field string
	New   yaml.Value
}

// Likelihood is the estimated likelihood that a built-in caused an edit.
type Likelihood int

// The likelihoods, in ascending order.
const (
	Unlikely Likelihood = iota
	Possible
	Likely
)

// likelyIf returns Likely if ok, otherwise Unlikely.
func likelyIf(ok bool) Likelihood {
	if ok {
		return Likely
	}
	return Unlikely
}

// A FileField is a field that names a file or a list of files.
type FileField struct {
	// Path separates names by dots and enters lists implicitly.
	Path string
	Form FileForm
}

// FileForm is the syntax in which a field names a file.
type FileForm int

const (
	// PathForm is a path.
	PathForm FileForm = iota
	// KeyedForm is PATH or KEY=PATH.
	KeyedForm
	// PatchForm is a path or the text of a patch.
	PatchForm
)

// A KustomizationField is a field of a Kustomization that is equivalent to a built-in.
type KustomizationField struct {
	Name string
	// Each means that every entry of the field is a separate built-in.
	Each bool
	// Key is the field of the configuration that holds the value of the field or, with Each, of
	// an entry. If Key is empty, an entry has the same fields as the configuration, except for
	// Renamed.
	Key string
	// Renamed maps fields of an entry to fields of the configuration, or to "" if there is no
	// counterpart.
	Renamed map[string]string
	// Instead is the replacement of a deprecated field.
	Instead string
}

// ForField returns an unconfigured built-in for a field of a Kustomization, the kind of the
// built-in, and the field's description. It returns nil if no built-in implements the field.
func ForField(name string) (b Builtin, kind string, field KustomizationField) {
	for _, k := range kinds {
		b := k.make()
		form, ok := b.(FieldForm)
		if !ok {
			continue
		}
		for _, f := range form.StandsFor() {
			if f.Name == name {
				return b, k.name, f
			}
		}
	}
	return nil, "", field
}

// key returns the name of the label or annotation in the query, "" if the field is neither. The
// name may contain dots.
func (q *FieldQuery) key() string {
	for _, in := range []string{"labels.", "annotations.", "matchLabels.", "selector."} {
		if i := strings.LastIndex(q.Path, in); i >= 0 {
			return q.Path[i+len(in):]
		}
	}
	return ""
}

// ends reports whether the field is called name and is in a mapping, or in the mappings of a
// list, called mapping.
func (q *FieldQuery) ends(mapping, name string) bool {
	text := strings.ReplaceAll(q.Path, "[]", "")
	return text == mapping+"."+name || strings.HasSuffix(text, "."+mapping+"."+name)
}

// among reports whether specs name the field, regardless of the kind of the object.
func (q *FieldQuery) among(specs *FieldSpecs) bool {
	text := strings.ReplaceAll(q.Path, "[]", "")
	return slices.ContainsFunc(specs.All(), func(fs FieldSpec) bool {
		return strings.ReplaceAll(strings.ReplaceAll(fs.Path, "[]", ""), "/", ".") == text
	})
}

// describe lists the fields for [Setting.Where].
func (s *FieldSpecs) describe() string {
	var paths []string
	for _, fs := range s.All() {
		paths = append(paths, strings.ReplaceAll(fs.Path, "/", "."))
	}
	slices.Sort(paths)
	return "it sets " + diag.Some(slices.Compact(paths))
}
