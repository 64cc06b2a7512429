package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/edit/inplace"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A configFile is a file with function configurations: as documents, as mappings inside a
// document, or as text inside a layer file.
type configFile struct {
	shown, text string
	configs     []*config // in the order in which edited visits them
}

// A config is a mapping that may be a function configuration.
type config struct {
	value  yaml.Value
	named  *function.Inline // nil if it names no function
	marked bool             // remove the function reference
}

func readConfigs(shown, text string) *configFile {
	f := &configFile{shown: shown, text: text}
	_, _ = edited([]byte(text), func(v yaml.Value, locate locator) yaml.Value {
		named, err := function.ReadInline(v, locate)
		if err != nil {
			named = nil
		}
		f.configs = append(f.configs, &config{value: v, named: named})
		return v
	})
	return f
}

// mark marks the only configuration that matches a call. If several match, the line number
// decides. It returns an error if no single configuration remains.
func (f *configFile) mark(call graph.Call, in *function.Inline) error {
	var found []*config
	for _, c := range f.configs {
		if c.is(call, in) {
			found = append(found, c)
		}
	}
	if len(found) > 1 {
		found = slices.DeleteFunc(found, func(c *config) bool { return c.named.Pos.Line != in.Pos.Line })
	}
	if len(found) != 1 {
		return fmt.Errorf("%s has %d such configurations", f.shown, len(found))
	}
	found[0].marked = true
	return nil
}

// is reports whether c looks like the configuration of call. An item of a Composition may omit
// apiVersion and name.
func (c *config) is(call graph.Call, in *function.Inline) bool {
	same := func(path ...string) bool {
		v := c.value.At(path...)
		return !v.Exists() || v.Text() == call.Config.At(path...).Text()
	}
	return c.named != nil && c.named.Value().Equal(in.Value()) && same("apiVersion") && same("kind") && same("metadata", "name")
}

// strip returns the text without the function references of the marked configurations. It
// returns an error if the edit would change anything else.
func (f *configFile) strip() ([]byte, error) {
	i := 0
	return edited([]byte(f.text), func(v yaml.Value, _ locator) yaml.Value {
		c := f.configs[i]
		i++
		if c.marked {
			for _, place := range c.named.Places {
				v = function.Without(v, place)
			}
		}
		return v
	})
}

// A locator returns the position of a path within a mapping.
type locator = func(path ...any) diag.Pos

// edited replaces each mapping that has a kind with the result of edit and leaves the rest of
// the text unchanged. Documents that are not valid YAML are skipped.
func edited(text []byte, edit func(yaml.Value, locator) yaml.Value) ([]byte, error) {
	return editedBelow(text, edit, nil)
}

// editedBelow is edited for text that may be embedded in other text; held then returns its
// position.
func editedBelow(text []byte, edit func(yaml.Value, locator) yaml.Value, held locator) ([]byte, error) {
	var all []byte
	lines := 0 // before the current document
	for _, part := range inplace.Split(text) {
		d, err := inplace.Parse("", part, nil)
		if err != nil {
			all, lines = append(all, part...), lines+strings.Count(string(part), "\n")
			continue
		}
		e := &editor{edit: edit, held: held, src: &yaml.Source{Data: part}, lines: lines}
		lines += strings.Count(string(part), "\n")
		v := e.value(d.Value(), nil)
		if e.err == nil && !v.Equal(d.Value()) {
			d, e.err = d.KeepingComments().With(v)
		}
		if e.err != nil {
			return nil, e.err
		}
		all = append(all, d.Text()...)
	}
	return all, nil
}

// An editor edits the mappings of one document.
type editor struct {
	edit  func(yaml.Value, locator) yaml.Value
	held  locator
	src   *yaml.Source
	lines int
	err   error
}

// value edits the children of v first, then v itself.
func (e *editor) value(v yaml.Value, path []any) yaml.Value {
	below := func(step any) []any { return append(slices.Clone(path), step) }
	switch v.Type() {
	case yaml.String:
		return e.text(v, path)
	case yaml.Seq:
		for i, item := range v.Items() {
			if is := e.value(item, below(i)); !is.Equal(item) {
				v = v.WithItem(i, is)
			}
		}
	case yaml.Map:
		v = v.EditFields(func(f yaml.Field) yaml.Value { return e.value(f.Value, below(f.Key)) })
		if v.Get("kind").Exists() {
			return e.edit(v, func(sub ...any) diag.Pos { return e.locate(slices.Concat(path, sub)) })
		}
	}
	return v
}

// text edits the mappings inside a multi-line string.
func (e *editor) text(v yaml.Value, path []any) yaml.Value {
	if e.held != nil || !strings.Contains(v.Text(), "\n") {
		return v
	}
	text, err := editedBelow([]byte(v.Text()), e.edit, func(...any) diag.Pos { return e.locate(path) })
	e.err = errors.Join(e.err, err)
	if err != nil || string(text) == v.Text() {
		return v
	}
	return yaml.Str(string(text))
}

func (e *editor) locate(path []any) diag.Pos {
	if e.held != nil {
		return e.held()
	}
	pos := e.src.Locate(0, path...)
	pos.Line += e.lines
	return pos
}
