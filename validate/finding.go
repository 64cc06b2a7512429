package validate

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Code identifies the kind of mistake in a [Finding].
type Code string

// The codes of findings.
const (
	UnknownField Code = "unknown-field" // the kind has no such field
	WrongType    Code = "wrong-type"
	WrongValue   Code = "wrong-value" // the type is right, but the value is not allowed
	MissingField Code = "missing-field"
	DuplicateKey Code = "duplicate-key" // two items of a list have the same key
	RemovedAPI   Code = "removed-api"   // the release does not serve the kind, any more or yet
	UnknownKind  Code = "unknown-kind"  // the API group of Kubernetes has no such kind
	LaterRemoved Code = "later-removed" // a newer release no longer serves the kind
	RuleViolated Code = "rule-violated" // a CEL rule of a definition or policy is not satisfied
)

// A Finding is a mistake in an object.
type Finding struct {
	Code Code
	// Path leads to the field by mapping keys and list indexes. For a missing field, it leads to
	// the object that lacks it.
	Path []any
	// Msg describes the mistake in one line, and Hints how to fix it. They contain no values of
	// Secrets.
	Msg   string
	Hints []string
	// Warning marks mistakes that an API server accepts, at present or in some ways of applying.
	Warning bool
	// Value is the wrong value, None for a missing field.
	Value yaml.Value
}

// Field formats the path for messages.
func (f *Finding) Field() string { return diag.FieldPath(f.Path) }

// Text returns the field and the message in one line.
func (f *Finding) Text() string {
	if field := f.Field(); field != "" {
		return field + ": " + f.Msg
	}
	return f.Msg
}

// Hide replaces the texts of s in the messages.
func (f *Finding) Hide(s *secret.Set) {
	old, now := strings.Trim(quoted(f.Value), `"`), secret.Hidden // messages contain only the start of a long value
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

// textOf returns the text of a scalar and the JSON of all other values.
func textOf(v yaml.Value) string {
	if v.IsScalar() {
		return v.Text()
	}
	return string(yaml.AppendJSON(nil, v))
}

// quoted formats a value of the input, shortened.
func quoted(v yaml.Value) string {
	const most = 60
	text := diag.OneLine(textOf(v))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return `"` + text + `"`
}
