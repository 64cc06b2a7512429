// Package setvalues parses values in the syntax of helm's flags --set, --set-string and
// --set-literal.
package setvalues

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/krm/yaml"
)

// Limits of helm for --set.
const (
	maxSetIndex = 65536
	maxSetDepth = 30
)

// An Assignment sets the value at a path of keys (string) and indexes (int).
type Assignment struct {
	Path  []any
	Value yaml.Value
}

// A Mode is one of helm's flags.
type Mode int

// The flags --set, --set-string and --set-literal.
const (
	Typed Mode = iota
	Text
	Literal
)

// Parse parses an argument of a flag: NAME=VALUE pairs, separated by commas. A name is a path such
// as a.b[0].c. A value may be a list such as {a,b}. A backslash escapes a character. Literal has a
// single pair and no escapes. Errors may contain text of the argument.
func Parse(arg string, mode Mode) ([]Assignment, error) {
	p := setParser{rest: []rune(arg), mode: mode}
	var list []Assignment
	for len(p.rest) > 0 {
		a, err := p.pair()
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

type setParser struct {
	rest []rune
	mode Mode
}

// until returns the text before the first character of stop, and consumes both. found is this
// character, or 0 at the end of the input.
func (p *setParser) until(stop string) (text string, found rune) {
	var b strings.Builder
	for len(p.rest) > 0 {
		c := p.rest[0]
		p.rest = p.rest[1:]
		switch {
		case strings.ContainsRune(stop, c):
			return b.String(), c
		case p.mode == Literal:
			b.WriteRune(c)
		case c == '\\' && len(p.rest) > 0:
			b.WriteRune(p.rest[0])
			p.rest = p.rest[1:]
		case c != '\\':
			b.WriteRune(c)
		}
	}
	return b.String(), 0
}

func (p *setParser) pair() (a Assignment, err error) {
	depth := 0
	inList := false // after an index
	for {
		stop := "=[,."
		if inList || p.mode == Literal {
			stop = "=[."
		}
		key, found := p.until(stop)
		switch {
		case inList && key != "":
			return a, fmt.Errorf("unexpected data at end of array index: %q", key)
		case !inList && found != 0 || !inList && key != "":
			a.Path = append(a.Path, key)
		}
		switch found {
		case 0, ',':
			return a, fmt.Errorf("key %q has no value", key)
		case '=':
			if key == "" && !inList && len(a.Path) > 1 {
				return a, errors.New("a key after a dot is empty")
			}
			a.Value, err = p.value()
			return a, err
		case '.':
			if depth++; depth > maxSetDepth {
				return a, fmt.Errorf("value name nested level is greater than maximum supported nested level of %d", maxSetDepth)
			}
			inList = false
		case '[':
			index, end := p.until("]")
			n, err := strconv.Atoi(index)
			switch {
			case end == 0 || err != nil:
				return a, fmt.Errorf("error parsing index %q", index)
			case n < 0:
				return a, fmt.Errorf("negative %d index not allowed", n)
			case n > maxSetIndex:
				return a, fmt.Errorf("index of %d is greater than maximum supported index of %d", n, maxSetIndex)
			}
			a.Path = append(a.Path, n)
			inList = true
		}
	}
}

func (p *setParser) value() (yaml.Value, error) {
	if p.mode == Literal {
		text := string(p.rest)
		p.rest = nil
		return yaml.QuotedStr(text), nil
	}
	if len(p.rest) == 0 || p.rest[0] != '{' {
		text, _ := p.until(",")
		return p.scalar(text), nil
	}
	p.rest = p.rest[1:]
	var items []yaml.Value
	for {
		text, found := p.until(",}")
		if found == 0 {
			return yaml.Value{}, errors.New("list must terminate with '}'")
		}
		items = append(items, p.scalar(text))
		if found == '}' {
			if len(p.rest) > 0 && p.rest[0] == ',' {
				p.rest = p.rest[1:]
			}
			return yaml.SeqOf(items...), nil
		}
	}
}

func (p *setParser) scalar(text string) yaml.Value {
	switch {
	case p.mode == Text:
	case strings.EqualFold(text, "true"), strings.EqualFold(text, "false"):
		return yaml.BoolValue(strings.EqualFold(text, "true"))
	case strings.EqualFold(text, "null"):
		return yaml.NullValue
	case text == "0":
		return yaml.Number(yaml.Int, text)
	case text != "" && text[0] != '0':
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return yaml.Number(yaml.Int, strconv.FormatInt(n, 10))
		}
	}
	return yaml.QuotedStr(text)
}

// Set returns v after the assignment. It fails if the path leads through a value of a different
// type.
func (a Assignment) Set(v yaml.Value) (yaml.Value, error) { return setAt(v, a.Path, a.Value) }

func setAt(v yaml.Value, path []any, x yaml.Value) (yaml.Value, error) {
	if len(path) == 0 {
		return x, nil
	}
	switch step := path[0].(type) {
	case string:
		if v.Exists() && v.Type() != yaml.Map {
			return v, fmt.Errorf("key %q: not a mapping but %s", step, v.Type().Article())
		}
		old := v.Get(step)
		inner, err := setAt(old, path[1:], x)
		if err != nil || step == "" {
			return v, err // helm ignores an empty key
		}
		return v.With(step, inner), nil
	case int:
		if v.Exists() && v.Type() != yaml.Seq {
			return v, fmt.Errorf("index %d: not a list but %s", step, v.Type().Article())
		}
		items := append([]yaml.Value(nil), v.Items()...)
		for len(items) <= step {
			items = append(items, yaml.NullValue)
		}
		old := items[step]
		if key, ok := first(path[1:]); ok {
			if _, isKey := key.(string); old.IsNull() || isKey && old.Type() != yaml.Map {
				old = yaml.Value{} // as in helm, a key replaces a scalar in a list
			}
		}
		inner, err := setAt(old, path[1:], x)
		items[step] = inner
		return yaml.SeqOf(items...), err
	}
	return v, nil
}

func first(path []any) (any, bool) {
	if len(path) == 0 {
		return nil, false
	}
	return path[0], true
}

// EscapeCommas returns the value of a parameter in the form that Argo CD passes to helm: it escapes
// commas, except in a list such as {a,b}.
func EscapeCommas(value string) string {
	if strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}") {
		return value
	}
	var b strings.Builder
	var last rune
	for _, c := range value {
		if c == ',' && last != '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
		last = c
	}
	return b.String()
}
