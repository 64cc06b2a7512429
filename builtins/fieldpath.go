// Follows kyaml/utils/pathsplitter.go, kyaml/yaml/fns.go, kyaml/yaml/match.go.

package builtins

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A fieldPath is a parsed field path of a replacement. It consists of keys separated by dots,
// with these special forms: \. is a dot within a key, [a.b] is a key that contains dots,
// [key=value] and [=value] select items of a list, a number is an index, and * selects all items.
//
// Kustomize interprets paths by two different sets of rules, and krmflow reproduces both:
// [fieldPath.lookup] finds the single field of a source, and [editor] finds the fields of a
// target, possibly many.
type fieldPath struct {
	text  string
	parts []pathPart
}

type partKind uint8

const (
	keyPart   partKind = iota
	indexPart          // a number
	itemPart           // [key=value]
	everyPart          // *
)

type pathPart struct {
	kind  partKind
	text  string
	named bool // text is the name of a field by both sets of rules
	index int
	// key and value are the two halves of [key=value].
	key, value string
	re         *regexp.Regexp // value as a pattern, nil if it is plain text
	// err is a mistake in the part. It is reported only if the path is followed this far.
	err error
}

// fieldPaths caches parsed paths, because the replacements of a large tree repeat few paths many
// times.
type fieldPaths map[string]*fieldPath

func (paths fieldPaths) of(text string) *fieldPath {
	if p := paths[text]; p != nil {
		return p
	}
	p := parseFieldPath(text)
	paths[text] = &p
	return &p
}

func parseFieldPath(text string) fieldPath {
	split := splitFieldPath(text)
	p := fieldPath{text: text, parts: make([]pathPart, len(split))}
	for i, s := range split {
		p.parts[i] = parsePart(s)
	}
	return p
}

func parsePart(s string) pathPart {
	p := pathPart{text: s, named: s != "" && s[0] > '9' && strings.TrimSpace(s) == s}
	if n, ok := asIndex(s); ok && n >= 0 {
		p.kind, p.index = indexPart, n
		return p
	}
	if s == "*" {
		p.kind = everyPart
		return p
	}
	if !strings.HasPrefix(s, "[") || !strings.HasSuffix(s, "]") {
		return p
	}
	p.kind = itemPart
	var ok bool
	inner := strings.TrimPrefix(strings.TrimSuffix(s, "]"), "[")
	if p.key, p.value, ok = strings.Cut(inner, "="); !ok {
		p.err = diag.BadFieldPath.Errorf("%s must be of the form [key=value]", s)
	} else if regexp.QuoteMeta(p.value) != p.value {
		if p.re, p.err = regexp.Compile(p.value); p.err != nil {
			p.err = patternError(p.value, p.err)
		}
	}
	return p
}

// isAnnotation reports whether p leads to an annotation of the object.
func (p *fieldPath) isAnnotation() bool {
	return len(p.parts) == 3 && p.parts[0].text == "metadata" && p.parts[1].text == "annotations"
}

// meets reports whether p leads to the field at path in v, to a part of it, or to a value that
// contains it.
func (p *fieldPath) meets(v yaml.Value, path []any) bool {
	for i := range min(len(p.parts), len(path)) {
		part := &p.parts[i]
		switch step := path[i].(type) {
		case string:
			if part.kind != everyPart && part.text != step {
				return false
			}
			v = v.Get(step)
		case int:
			if step >= v.Len() {
				return false
			}
			v = v.Items()[step]
			if !part.isItem(v, step) {
				return false
			}
		}
	}
	return true
}

// isItem reports whether the part leads to item, which is at index in its list.
func (p *pathPart) isItem(item yaml.Value, index int) bool {
	switch p.kind {
	case everyPart:
		return true
	case indexPart:
		return p.index == index
	case itemPart:
		if p.key != "" {
			item = item.Get(p.key)
		}
		return p.err == nil && item.Exists() && p.matches(item)
	}
	return false
}

// asIndex converts s to a number. It rejects names before calling strconv: most parts are names,
// and allocating an error for each would dominate the cost.
func asIndex(s string) (int, bool) {
	if s == "" || s[0] > '9' {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

// splitFieldPath splits path at dots that are neither escaped nor within brackets.
func splitFieldPath(path string) []string {
	split := strings.Split(path, ".")
	if len(split) > 1 && split[0] == "" {
		split = split[1:]
	}
	merged := split[:1]
	for _, s := range split[1:] {
		if last := &merged[len(merged)-1]; strings.HasSuffix(*last, `\`) {
			*last = strings.TrimSuffix(*last, `\`) + "." + s
		} else {
			merged = append(merged, s)
		}
	}
	var parts []string
	for i := 0; i < len(merged); i++ {
		s := merged[i]
		if !strings.HasPrefix(s, "[") || strings.HasSuffix(s, "]") {
			parts = append(parts, s)
			continue
		}
		for i+1 < len(merged) && !strings.HasSuffix(s, "]") {
			i++
			s += "." + merged[i]
		}
		if !strings.Contains(s, "=") {
			s = strings.Trim(s, "[]")
		}
		parts = append(parts, s)
	}
	return parts
}

// matches reports whether the text of v matches the value of [key=value]. The match is not
// anchored.
func (p *pathPart) matches(v yaml.Value) bool {
	if p.re == nil && v.IsScalar() && !strings.ContainsAny(p.value, `'"`) {
		return strings.Contains(v.Text(), p.value)
	}
	text := yamlForm(v)
	if p.re == nil {
		return strings.Contains(text, p.value)
	}
	return p.re.MatchString(text)
}

// A valueStep leads to a child of a value: to a field, or to an item if key is empty.
type valueStep struct {
	key   string
	index int
}

// lookup follows one part by the rules for sources: [key=value] selects the first item with
// exactly that value, and - selects the last item. If there is no such value, lookup returns
// None.
func (p *pathPart) lookup(v yaml.Value) (yaml.Value, valueStep, error) {
	if p.named && p.kind == keyPart {
		return lookupField(v, p.text)
	}
	switch text := strings.TrimSpace(p.text); {
	case text == "":
		return v, valueStep{index: -1}, nil
	case p.kind == everyPart:
		return v, valueStep{}, diag.BadFieldPath.Errorf("* is not allowed in the field path of a source")
	case p.kind == itemPart:
		if p.err != nil {
			return v, valueStep{}, p.err
		}
		return p.lookupItem(v)
	case text == "-":
		return lookupIndex(v, v.Len()-1)
	default:
		if n, ok := asIndex(text); ok {
			if n < 0 {
				return v, valueStep{}, diag.BadFieldPath.Errorf("index %d is negative", n)
			}
			return lookupIndex(v, n)
		}
		return lookupField(v, text)
	}
}

func lookupField(v yaml.Value, name string) (yaml.Value, valueStep, error) {
	if v.Type() != yaml.Map && !v.IsNull() {
		return v, valueStep{}, wrongType(yaml.Map, v.Type())
	}
	return v.Get(name), valueStep{key: name}, nil
}

func (p *pathPart) lookupItem(v yaml.Value) (yaml.Value, valueStep, error) {
	if v.Type() != yaml.Seq && !v.IsNull() {
		return v, valueStep{}, wrongType(yaml.Seq, v.Type())
	}
	for i, item := range v.Items() {
		if p.key != "" {
			if item = item.Get(p.key); !item.Exists() {
				continue
			}
		}
		if item.SourceText() == p.value {
			return v.Items()[i], valueStep{index: i}, nil
		}
	}
	return yaml.Value{}, valueStep{}, nil
}

func lookupIndex(v yaml.Value, i int) (yaml.Value, valueStep, error) {
	if v.Type() != yaml.Seq && !v.IsNull() {
		return v, valueStep{}, wrongType(yaml.Seq, v.Type())
	}
	if i < 0 || i >= v.Len() {
		return yaml.Value{}, valueStep{}, nil
	}
	return v.Items()[i], valueStep{index: i}, nil
}

// lookup returns the value at p, None if there is none.
func (p *fieldPath) lookup(v yaml.Value) (yaml.Value, error) {
	var err error
	for i := range p.parts {
		if v, _, err = p.parts[i].lookup(v); err != nil || !v.Exists() {
			return yaml.Value{}, err
		}
	}
	return v, nil
}

func wrongType(want, got yaml.Type) error {
	return diag.UnfitField.Errorf("expected %s, found %s", want.Article(), got.Article())
}

// withStep returns v with the child at s replaced by x.
func withStep(v yaml.Value, s valueStep, x yaml.Value) yaml.Value {
	switch {
	case s.key != "":
		return v.With(s.key, x)
	case s.index >= 0:
		return v.WithItem(s.index, x)
	}
	return x
}

// withSteps returns v with the value at the end of steps replaced by x.
func withSteps(v yaml.Value, steps []valueStep, x yaml.Value) yaml.Value {
	if len(steps) == 0 {
		return x
	}
	child := v
	switch s := steps[0]; {
	case s.key != "":
		child = v.Get(s.key)
	case s.index >= 0:
		child = v.Items()[s.index]
	}
	return withStep(v, steps[0], withSteps(child, steps[1:], x))
}
