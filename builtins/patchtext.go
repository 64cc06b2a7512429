package builtins

import (
	"errors"
	"regexp"
	"strings"
	"sync"

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
		if !errors.As(err, &at) {
			return err
		}
		return t.onLine(t.relative(at), at.Pos.Line)
	})
}

// onLineN matches a reference to a second line in a message of the parser.
var onLineN = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bon line \d+`) })

// relative returns an error of the parser. The position of the error becomes one in the file with
// an inline text, but a second line in its message still counts from the start of the text.
func (t patchText) relative(err *diag.Error) *diag.Error {
	if t.src.File != "" || !onLineN().MatchString(err.Msg) {
		return err
	}
	e := *err
	e.Msg = onLineN().ReplaceAllString(e.Msg, "$0 of the patch")
	return &e
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
