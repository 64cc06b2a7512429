package builtins

import (
	"errors"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A patchText is a text with patches: a file, or an inline text in the configuration.
type patchText struct {
	src *yaml.Source
	// field leads to an inline text in the configuration. skipped is the number of blank lines
	// before the part of it that is in src.
	field   []any
	skipped int
}

// inlineText returns the inline text in the field at path of the configuration.
func inlineText(text string, path ...any) patchText {
	return patchText{src: &yaml.Source{Data: []byte(text)}, field: path}
}

// trimmed returns an inline text without the blank space around it.
func (t patchText) trimmed() patchText {
	text := strings.TrimSpace(t.src.Text())
	start, _, _ := strings.Cut(t.src.Text(), text)
	return patchText{src: &yaml.Source{Data: []byte(text)}, field: t.field, skipped: strings.Count(start, "\n")}
}

// at returns err as an error about a part of the text: the field at path in document doc.
func (t patchText) at(err error, doc int, path ...any) error {
	return t.onLine(err, t.src.Locate(doc, path...).Line)
}

// syntax returns an error of the parser with its line.
func (t patchText) syntax(err error) error {
	return eachError(err, func(err error) error {
		var at *diag.Error
		if errors.As(err, &at) {
			return t.onLine(err, at.Pos.Line)
		}
		return err
	})
}

// onLine returns err as an error about a line of the text. An error about a file that has a
// position keeps it.
func (t patchText) onLine(err error, line int) error {
	var at *diag.Error
	switch {
	case line == 0 || errors.As(err, &at) && at.Pos.File != "":
		return err
	case t.src.File != "":
		return diag.Errorf(diag.Pos{File: t.src.File, Line: line}, "", "%w", err)
	}
	return diag.In(err, append(t.field[:len(t.field):len(t.field)], diag.TextLine(t.skipped+line))...)
}
