package builtins

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// The interfaces below are what commands ask a built-in about itself: explain, diff, convert, edit
// and localize have no case for a kind. A built-in implements them in its own file. They are
// optional because few apply to every kind, but an answer is not: the line of the kind in the
// registry names the questions that do not apply, and TestKindsAnswer compares both.

// A FieldLister changes the fields of a list.
type FieldLister interface {
	Transformer
	// UseFields makes the built-in act on the fields that c lists for the field of a Kustomization
	// that the built-in stands for. It is called before Configure.
	UseFields(c *Config)
}

// A Chooser selects resources by conditions in its configuration.
type Chooser interface {
	Builtin
	// Selects returns the conditions. One that is nil selects nothing that can be named.
	Selects(files Files) []*Selector
}

// A Setter knows which fields it would set in the resources that it selects.
type Setter interface {
	Builtin
	// Sets reports whether the built-in would set a field, and where its configuration says so.
	Sets(q FieldQuery) (Setting, bool)
}

// A Locator knows which part of its configuration makes a change.
type Locator interface {
	Builtin
	// Locate returns the part that made a change, false if that cannot be known.
	Locate(c Change) (Place, bool)
}

// A Patcher applies patches.
type Patcher interface {
	Transformer
	// PatchTexts returns the files with patches and the patches that the configuration holds
	// itself, as one text.
	PatchTexts() (files []string, text string)
}

// A Causer can tell whether it caused a difference between two renders. Any other built-in may
// have.
type Causer interface {
	Builtin
	// Causes returns how likely it is that the configured built-in caused an edit.
	Causes(e Edit) Likelihood
}

// A FileReader has fields that name files.
type FileReader interface {
	Builtin
	// FileFields returns the fields. It is the same for every built-in of the kind.
	FileFields() []FileField
}

// A FieldForm stands for fields of a Kustomization.
type FieldForm interface {
	Builtin
	// StandsFor returns the fields. It is the same for every built-in of the kind.
	StandsFor() []KustomizationField
}

// Files returns a file that a configuration names, nil if it is not known.
type Files func(name string) *yaml.Source

// A Place is a part of the configuration of a built-in, or of a file that it names.
type Place struct {
	// File is the name of the file, "" for the configuration itself, and Line the line, 0 for the
	// whole file. The line is not set for the configuration.
	File string
	Line int
	// Path leads to the part.
	Path []any
}

// A FieldQuery asks whether a built-in would set a field.
type FieldQuery struct {
	// Path has dots between names, and [] for any item of a list: spec.containers[].image.
	Path string
	// Is reports whether a field path of a replacement names the field, in any item of a list.
	Is func(fieldPath string) bool
	// Value is the value of the field in the result, none if the result has no such field.
	Value yaml.Value
	Files Files
}

// A Setting is the part of a configuration that sets a field.
type Setting struct {
	Place
	// Where describes the resources and fields that it is for.
	Where string
	// Missed tells that the configuration is for a value that is nearly that of the query.
	Missed bool
}

// A Change is a change of one field of a resource by a built-in. A generator has no resource
// before.
type Change struct {
	Before, After *krm.Resource
	// Path leads to the field, in the resource before if the change removed it.
	Path    []any
	Removed bool
	Files   Files
}

// An Edit is a difference between two renders.
type Edit struct {
	// Kind and Name are those of the resource in the newer render.
	Kind, Name string
	// Field is the name of the field that differs, "" for an item of a list, and New its newer value.
	Field string
	New   yaml.Value
}

// Likelihood tells how likely it is that a built-in caused an edit.
type Likelihood int

// The likelihoods, in ascending order.
const (
	Unlikely Likelihood = iota
	Possible
	Likely
)

// likelyIf returns Likely or Unlikely.
func likelyIf(ok bool) Likelihood {
	if ok {
		return Likely
	}
	return Unlikely
}

// A FileField is a field that names a file or a list of files.
type FileField struct {
	// Path has dots between names, and enters lists implicitly.
	Path string
	Form FileForm
}

// FileForm is the form in which a field names a file.
type FileForm int

const (
	// PathForm is a path.
	PathForm FileForm = iota
	// KeyedForm is PATH or KEY=PATH.
	KeyedForm
	// PatchForm is a path or the text of a patch.
	PatchForm
)

// A KustomizationField is a field of a Kustomization that a built-in stands for.
type KustomizationField struct {
	Name string
	// Each tells that every entry of the field is a built-in of its own.
	Each bool
	// Key is the field of the configuration that has the value of the field or, with Each, of an
	// entry. Without it, an entry has the fields of the configuration, except for those in Renamed.
	Key string
	// Renamed maps fields of an entry to those of the configuration, "" if it has none.
	Renamed map[string]string
	// Instead is the field that replaces a deprecated one.
	Instead string
}

// ForField returns a new built-in of the kind that stands for a field of a Kustomization, its kind
// and what it says about the field, nil if there is none.
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

// key returns the name of a label or annotation, which may have dots, "" if the field is neither.
func (q *FieldQuery) key() string {
	for _, in := range []string{"labels.", "annotations.", "matchLabels.", "selector."} {
		if i := strings.LastIndex(q.Path, in); i >= 0 {
			return q.Path[i+len(in):]
		}
	}
	return ""
}

// ends reports whether the field is that of a name in a mapping, or in the mappings of a list.
func (q *FieldQuery) ends(mapping, name string) bool {
	text := strings.ReplaceAll(q.Path, "[]", "")
	return text == mapping+"."+name || strings.HasSuffix(text, "."+mapping+"."+name)
}

// among reports whether specs name the field, for any kind of object.
func (q *FieldQuery) among(specs *FieldSpecs) bool {
	text := strings.ReplaceAll(q.Path, "[]", "")
	return slices.ContainsFunc(specs.All(), func(fs FieldSpec) bool {
		return strings.ReplaceAll(strings.ReplaceAll(fs.Path, "[]", ""), "/", ".") == text
	})
}

// describe names the fields for [Setting.Where].
func (s *FieldSpecs) describe() string {
	var paths []string
	for _, fs := range s.All() {
		paths = append(paths, strings.ReplaceAll(fs.Path, "/", "."))
	}
	slices.Sort(paths)
	return "it sets " + diag.Some(slices.Compact(paths))
}
