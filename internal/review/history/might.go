package history

import (
	"iter"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Nodes yields the steps of the root whose lists are known, in order.
func (h *History) Nodes() iter.Seq[*graph.Node] {
	return func(yield func(*graph.Node) bool) {
		for i, list := range h.lists {
			if list != nil && !yield(h.g.Nodes[i]) {
				return
			}
		}
	}
}

// A Setting describes how a step would set a field of the resources it selects.
type Setting struct {
	// Pos is the location of the setting.
	Pos diag.Pos
	// Where describes the selected resources.
	Where string
	// Missed reports that the step applies to a value similar to, but not equal to, the actual
	// one.
	Missed bool
}

// Sets returns the setting of a field by a step. ok is false if the step does not set the field,
// or if that cannot be determined. value is the value of the field in the result, None if the
// result lacks it.
func (f Files) Sets(n *graph.Node, field Field, value yaml.Value) (s Setting, ok bool) {
	switch b := graph.Maker(n.Op).(type) {
	case builtins.Patcher:
		return f.patchSets(n, b, field)
	case builtins.Setter:
		set, ok := b.Sets(builtins.FieldQuery{Path: field.flat(), Is: field.like, Value: value, Files: f.of(n)})
		s.Pos, _ = f.place(n, set.Place)
		s.Where, s.Missed = set.Where, set.Missed
		return s, ok
	}
	return s, false
}

// Selected returns the selectors of a step. An empty kind, name or namespace matches all.
func (f Files) Selected(n *graph.Node) (list []builtins.Selector) {
	b, ok := graph.Maker(n.Op).(builtins.Chooser)
	if !ok {
		return nil
	}
	for _, sel := range b.Selects(f.of(n)) {
		if sel != nil {
			list = append(list, builtins.Selector{Kind: sel.Kind, Name: sel.Name, Namespace: sel.Namespace})
		}
	}
	return list
}

// patchSets implements [Files.Sets] for patches.
func (f Files) patchSets(n *graph.Node, p builtins.Patcher, field Field) (s Setting, ok bool) {
	s.Pos = n.Origin.Pos()
	files, text := p.PatchTexts()
	for _, sel := range f.Selected(n) {
		s.Where = "it selects " + sel.String()
	}
	has := func(src *yaml.Source, at func(diag.Pos) diag.Pos) bool {
		docs, err := src.Patches()
		for i, doc := range docs {
			path, there := field.In(doc.Value)
			if !there || At(doc.Value, path).IsNull() {
				continue
			}
			s.Pos = at(src.Locate(i, path...))
			if s.Where == "" {
				s.Where = "it is for " + doc.Value.Get("kind").Text() + " " + diag.OneLine(doc.Value.At("metadata", "name").Text())
			}
			return true
		}
		if err == nil {
			return false
		}
		ops, err := src.Value()
		if err != nil {
			return false
		}
		for i, op := range ops.Items() {
			if verb := op.Get("op").Text(); verb == "remove" || verb == "test" || !field.pointed(op) {
				continue
			}
			s.Pos = at(src.Locate(0, i))
			return true
		}
		return false
	}
	for _, name := range files {
		if src := f[besides(n.Origin, name)]; src != nil && has(src, func(pos diag.Pos) diag.Pos { return pos }) {
			return s, true
		}
	}
	if text == "" {
		return s, false
	}
	return s, has(&yaml.Source{Data: []byte(text)}, func(pos diag.Pos) diag.Pos { return f.lineOf(n.Origin, pos.Line) })
}

// pointed reports whether an operation of a JSON patch sets the field or a part of it.
func (f Field) pointed(op yaml.Value) bool {
	rest, _ := strings.CutPrefix(op.Get("path").Text(), "/")
	want := f.flat()
	for _, token := range strings.Split(rest, "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch {
		case want == "":
			return true // it sets a part of the field
		case strings.HasPrefix(want, "[]"):
			if _, err := strconv.Atoi(token); err != nil && token != "-" {
				return false
			}
			want = strings.TrimPrefix(want[2:], ".")
		default:
			var ok bool
			if want, ok = strings.CutPrefix(want, token); !ok || want != "" && want[0] != '.' && want[0] != '[' {
				return false
			}
			want = strings.TrimPrefix(want, ".")
		}
	}
	if want == "" {
		return true
	}
	inner, err := ParseField(strings.ReplaceAll(want, "[]", "[*]"))
	if err != nil || !op.Get("value").Exists() {
		return false
	}
	_, ok := inner.In(op.Get("value"))
	return ok
}

// flat returns the field as text, with [] for any list item.
func (f Field) flat() string {
	var b strings.Builder
	for _, p := range f {
		switch {
		case p.item:
			b.WriteString("[]")
		case p.name == "*":
			b.WriteString("[]")
		default:
			if _, err := strconv.Atoi(p.name); err == nil && !p.quoted {
				b.WriteString("[]")
				continue
			}
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(p.name)
		}
	}
	return b.String()
}

// like reports whether text, a field path of a replacement, names the field in any item of a
// list.
func (f Field) like(text string) bool {
	g, err := ParseField(text)
	return err == nil && g.flat() == f.flat()
}
