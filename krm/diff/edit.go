package diff

import (
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// An Op says what an [Edit] does.
type Op string

// The operations of edits.
const (
	Add     Op = "add"
	Remove  Op = "remove"
	Replace Op = "replace"
	// Move gives an item of a list another place. The item may have other edits besides.
	Move Op = "move"
)

// An Edit changes one field or item.
type Edit struct {
	Op   Op
	Path Path
	// Old and New are the values on both sides as they may be shown; None where there is none, or where all of it is hidden.
	Old, New yaml.Value
	// Hidden tells that something that differs is not shown: the value of a Secret, or a password in an address.
	Hidden bool
	// Follows is the kind and name of the resource whose content hash has changed, if this is a reference to it, or its name.
	Follows string
	// Format is "yaml" or "json" if the text was opened up, and Inside what has changed in it. There is nothing inside if only the form of the
	// text differs.
	Format string
	Inside []Edit
	// Lines are those of a text of several lines that differ, with some around them.
	Lines []Line
}

// A Path leads to a field or item.
type Path []Step

// A Step is a field of a mapping, or an item of a list.
type Step struct {
	// Field is the name of the field; of an item it is empty.
	Field string
	// Item tells that this is an item. From and To are its places in both lists, -1 where it is not. Key is what tells it from the others:
	// "name=web" for instance; empty if it is the place.
	Item     bool
	From, To int
	Key      string
}

// Place returns the place of an item in the new list, or where it was if it is there no more.
func (s Step) Place() int {
	if s.To < 0 {
		return s.From
	}
	return s.To
}

// String returns the path as people write it: spec.containers[name=web].image.
func (p Path) String() string {
	var b strings.Builder
	for _, s := range p {
		switch {
		case s.Item && s.Key != "":
			b.WriteString("[" + diag.OneLine(s.Key) + "]")
		case s.Item:
			b.WriteString("[" + strconv.Itoa(s.Place()) + "]")
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(diag.OneLine(diag.FieldPath([]any{s.Field})))
		}
	}
	return b.String()
}

// In returns the path as the other packages have it, in the new object, or in the old one.
func (p Path) In(old bool) []any {
	path := make([]any, 0, len(p))
	for _, s := range p {
		switch {
		case s.Item && old:
			path = append(path, s.From)
		case s.Item:
			path = append(path, s.To)
		default:
			path = append(path, s.Field)
		}
	}
	return path
}

// with returns a path with one more step, that shares no memory with others.
func (p Path) with(s Step) Path { return append(p[:len(p):len(p)], s) }

// Apply returns what edits make of a value. It needs the values of the edits: what is hidden cannot be applied.
func Apply(v yaml.Value, edits []Edit) yaml.Value { return apply(v, edits, 0) }

// apply applies edits whose paths have the same first steps, depth of them, which lead to v.
func apply(v yaml.Value, edits []Edit, depth int) yaml.Value {
	for _, e := range edits {
		if len(e.Path) == depth && e.Op != Move {
			return e.New
		}
	}
	var groups [][]Edit
	at := map[Step]int{}
	for _, e := range edits {
		if len(e.Path) == depth {
			continue
		}
		step := e.Path[depth]
		i, ok := at[step]
		if !ok {
			i = len(groups)
			at[step] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], e)
	}
	if len(groups) == 0 {
		return v
	}
	if v.Type() == yaml.Seq {
		return applyItems(v.Items(), groups, depth)
	}
	for _, g := range groups {
		field := g[0].Path[depth].Field
		if x := apply(v.Get(field), g, depth+1); x.Exists() {
			v = v.With(field, x)
		} else {
			v = v.Without(field)
		}
	}
	return v
}

// applyItems applies edits of the items of a list. What is added or moved gets its place, and the others stay in their order.
func applyItems(items []yaml.Value, groups [][]Edit, depth int) yaml.Value {
	kept := append([]yaml.Value(nil), items...)
	placed := map[int]yaml.Value{}
	for _, g := range groups {
		step := g[0].Path[depth]
		var was yaml.Value
		if step.From >= 0 {
			was = items[step.From]
		}
		x := apply(was, g, depth+1)
		moved := step.From < 0
		for _, e := range g {
			moved = moved || e.Op == Move && len(e.Path) == depth+1
		}
		switch {
		case moved:
			placed[step.To] = x
			if step.From >= 0 {
				kept[step.From] = yaml.Value{}
			}
		default:
			kept[step.From] = x
		}
	}
	var out []yaml.Value
	for _, x := range kept {
		for placed[len(out)].Exists() {
			out = append(out, placed[len(out)])
		}
		if x.Exists() {
			out = append(out, x)
		}
	}
	for placed[len(out)].Exists() {
		out = append(out, placed[len(out)])
	}
	return yaml.SeqOf(out...)
}
