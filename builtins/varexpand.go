// Follows api/filters/refvar/expand.go, api/filters/refvar/refvar.go.

package builtins

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// An expander replaces $(NAME) in fields.
type expander struct {
	values map[string]*varValue
	warn   Warn
	added  int      // number of bytes added to the current resource
	taken  []string // texts from Secrets copied to the current resource
}

// A varValue is the value of a var.
type varValue struct {
	// value replaces a whole field. It is None for lists and mappings, which cannot replace
	// anything.
	value yaml.Value
	text  string // replaces a part of a field
	used  bool
	taken []string // the parts of the text that come from Secrets
}

func newVarValue(v yaml.Value, path string) (*varValue, error) {
	v, err := fieldAt(v, varPath(path))
	if err != nil {
		return nil, err
	}
	switch v.Type() {
	case yaml.Null, yaml.String, yaml.Time:
		return &varValue{value: yaml.Str(v.SourceText()), text: v.SourceText()}, nil
	case yaml.Int:
		n, err := strconv.Atoi(v.Text())
		text := strconv.Itoa(n)
		return &varValue{value: yaml.Number(yaml.Int, text), text: text}, unread(err)
	case yaml.Float:
		f, err := strconv.ParseFloat(v.Text(), 64)
		whole := strconv.FormatFloat(f, 'f', -1, 64)
		return &varValue{value: yaml.Number(yaml.Float, whole), text: fmt.Sprint(f)}, unread(err)
	case yaml.Bool:
		b, err := strconv.ParseBool(v.Text())
		return &varValue{value: yaml.BoolValue(b), text: strconv.FormatBool(b)}, unread(err)
	}
	return &varValue{}, nil
}

// unread returns an error of package strconv without the value, which may be secret.
func unread(err error) error {
	var number *strconv.NumError
	if errors.As(err, &number) {
		return fmt.Errorf("the value cannot be read: %w", number.Err)
	}
	return err
}

func (e *expander) edit(v yaml.Value) (yaml.Value, error) {
	switch v.Type() {
	case yaml.String, yaml.Bool, yaml.Int, yaml.Float, yaml.Time:
		return e.expand(v), nil
	case yaml.Map:
		return v.EditFields(func(f yaml.Field) yaml.Value { return e.expand(f.Value) }), nil
	case yaml.Seq:
		return e.editSeq(v)
	}
	return v, nil
}

func (e *expander) editSeq(v yaml.Value) (yaml.Value, error) {
	return v.EditItems(func(item yaml.Value) (yaml.Value, error) {
		if item.Type() != yaml.String && !item.IsUntyped() {
			return item, diag.UnfitField.Of(errors.New("expected a list of strings, found " + item.Type().Article() + " in it"))
		}
		return e.expand(item), nil
	})
}

// expand replaces the vars in a string. It converts untyped scalars to strings.
func (e *expander) expand(v yaml.Value) yaml.Value {
	if v.IsUntyped() && v.Type() != yaml.String {
		return yaml.Str(v.Text())
	}
	if v.Type() != yaml.String {
		return v
	}
	s := v.Text()
	if v.IsFolded() {
		v = yaml.Str(s) // kustomize rewrites it even if it contains no var
	}
	if !strings.Contains(s, "$") {
		return v
	}
	if name, ok := onlyVar(s); ok {
		if x := e.use(name); x != nil {
			return x.value
		}
		return v
	}
	had := len(e.taken)
	var parts []string
	rest := s
	for at := strings.IndexByte(rest, '$'); at >= 0 && at+1 < len(rest); at = strings.IndexByte(rest, '$') {
		parts = append(parts, rest[:at])
		part, n := e.expandOne(rest[at+1:])
		if e.added += len(part) - n; e.added > yaml.MaxResource {
			return v // the caller reports the size
		}
		parts = append(parts, part)
		rest = rest[at+1+n:]
	}
	if text := strings.Join(append(parts, rest), ""); text != s {
		if len(e.taken) > had && slices.ContainsFunc(e.taken[had:], func(t string) bool { return len(t) < secret.MinTaken }) {
			e.taken = append(e.taken, text) // such a short text is hidden only as a whole scalar
		}
		return yaml.Str(text)
	}
	return v
}

// onlyVar reports whether s consists only of $(name).
func onlyVar(s string) (name string, ok bool) {
	inner, ok := strings.CutPrefix(s, "$(")
	if !ok || inner == "" || strings.IndexByte(inner, ')') != len(inner)-1 {
		return "", false
	}
	return inner[:len(inner)-1], true
}

// expandOne returns the replacement of a $ and the first n bytes of s, which follow it.
func (e *expander) expandOne(s string) (part string, n int) {
	switch s[0] {
	case '$':
		return "$", 1
	case '(':
		name, _, ok := strings.Cut(s[1:], ")")
		if !ok {
			return "$(", 1
		}
		n = len(name) + 2
		if x := e.use(name); x != nil {
			return x.text, n
		}
		return "$(" + name + ")", n
	}
	return "$" + s[:1], 1
}

// use returns the var called name, nil if it does not exist or cannot replace anything.
func (e *expander) use(name string) *varValue {
	x := e.values[name]
	if x == nil {
		return nil
	}
	if !x.value.Exists() {
		e.warn(diag.VarSource, "var %q is a list or a mapping and cannot replace $(%s)", name, name)
		return nil
	}
	x.used = true
	e.taken = append(e.taken, x.taken...)
	return x
}

var errNoField = diag.VarSource.Errorf("not found")

// fieldAt returns the field of v at a path parsed by [varPath].
func fieldAt(v yaml.Value, path []pathPart) (yaml.Value, error) {
	for i := range path {
		next, _, err := path[i].lookup(v)
		if err != nil {
			return v, err
		}
		if !next.Exists() {
			return v, errNoField
		}
		v = next
	}
	return v, nil
}

// varPath parses the field path of a var. It has the syntax of a replacement source, and name[0]
// also selects an item.
func varPath(path string) (parts []pathPart) {
	for _, name := range splitFieldPath(path) {
		for _, s := range splitIndex(name) {
			parts = append(parts, parsePart(s))
		}
	}
	return parts
}

// splitIndex splits name[0] into name and 0.
func splitIndex(name string) []string {
	open := strings.LastIndexByte(name, '[')
	if open < 0 || !strings.HasSuffix(name, "]") {
		return []string{name}
	}
	index := name[open+1 : len(name)-1]
	switch {
	case index == "" || strings.Trim(index, "0123456789") != "":
		return []string{name}
	case open == 0:
		return []string{index}
	}
	return []string{name[:open], index}
}
