package validate

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Code says what kind of mistake a [Finding] is about.
type Code string

// The codes of findings.
const (
	UnknownField Code = "unknown-field" // the kind has no such field
	WrongType    Code = "wrong-type"
	WrongValue   Code = "wrong-value" // the type is right, and the value is none of those that are allowed
	MissingField Code = "missing-field"
	DuplicateKey Code = "duplicate-key" // two items of a list have the same key
	RemovedAPI   Code = "removed-api"   // the release does not serve the kind (any more, or yet)
	UnknownKind  Code = "unknown-kind"  // an API group of Kubernetes has no such kind
	LaterRemoved Code = "later-removed" // a newer release does not serve the kind
)

// A Finding is something that is wrong with an object.
type Finding struct {
	Code Code
	// Path leads to the field: mapping keys and list indexes. Of a field that is missing it is the path of what lacks it.
	Path []any
	// Msg says what is wrong, in one line, and Hints what to do about it. No value of a Secret is in it.
	Msg   string
	Hints []string
	// Warning is true for what an API server accepts, today or not in every way of applying.
	Warning bool
	// Value is what is wrong, None for what is missing.
	Value yaml.Value
}

// Field returns the path as messages show it.
func (f *Finding) Field() string { return diag.FieldPath(f.Path) }

// Text returns the field and what is wrong with it, in one line.
func (f *Finding) Text() string {
	if field := f.Field(); field != "" {
		return field + ": " + f.Msg
	}
	return f.Msg
}

// Hide replaces the texts of a set in the messages.
func (f *Finding) Hide(s *secret.Set) {
	old, now := strings.Trim(quoted(f.Value), `"`), secret.Hidden // messages have only the start of a long value
	if !f.Value.IsScalar() || s.HideValue(f.Value).Same(f.Value) {
		old, now = "", ""
	}
	show := func(text string) string {
		if old != "" {
			text = strings.ReplaceAll(text, old, now)
		}
		return s.Hide(text)
	}
	f.Msg, f.Hints = show(f.Msg), slices.Clone(f.Hints)
	for i, h := range f.Hints {
		f.Hints[i] = show(h)
	}
}

// quoted shows a scalar of the input, shortened.
func quoted(v yaml.Value) string {
	const most = 60
	text := diag.OneLine(v.Text())
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return `"` + text + `"`
}
