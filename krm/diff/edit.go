package diff

import (
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// An Op is the operation of an [Edit].
type Op string

// The operations of edits.
const (
	Add     Op = "add"
	Remove  Op = "remove"
	Replace Op = "replace"
	// Move changes the position of a list item. The item may have further edits.
	Move Op = "move"
)

// An Edit is a change to one field or list item.
type Edit struct {
	Op   Op
	Path Path
	// Old and New are the values on both sides, with hidden parts replaced. They are None if the
	// value does not exist on that side or is hidden as a whole.
	Old, New yaml.Value
	// Hidden is true if a difference is not shown: the value of a Secret, or a password in an
	// address.
	Hidden bool
	// Follows is the name, without its hash, of a resource whose content hash has changed, if the
	// field is that name or a reference to it.
	Follows string
	// Moves is true if the edit is only a consequence of the moves of resources: see [Relocation].
	Moves bool
	// Format is "yaml" or "json" if the text was parsed, and Inside holds the edits within it.
	// Inside is empty if only the formatting of the text differs.
	Format string
	Inside []Edit
	// Lines are the changed lines of a multi-line text, with context.
	Lines []Line
}

// A Path is the path to a field or list item.
type Path []Step

// A Step is one step of a path: a field of a mapping or an item of a list.
type Step struct {
	// Field is the name of the field, empty for an item.
	Field string
	// Item is true for an item. From and To are its indexes in the old and the new list, -1 if it
	// is not in that list. Key identifies the item, for instance "name=web". It is empty if items
	// are identified by index.
	Item     bool
	From, To int
	Key      string
}

// Place returns the index of an item in the new list, or in the old list if it was removed.
func (s Step) Place() int {
	if s.To < 0 {
		return s.From
	}
	return s.To
}

// String returns the path in the usual notation: spec.containers[name=web].image.
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

// In returns the path as keys and indexes, as other packages use it: in the old object if old is
// true, else in the new one.
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

// with returns p with one more step. The result shares no memory that is written later.
func (p Path) with(s Step) Path { return append(p[:len(p):len(p)], s) }

// Apply returns v with edits applied. The edits must not be hidden, because their values are
// needed.
func Apply(v yaml.Value, edits []Edit) yaml.Value { return apply(v, edits, 0) }

// apply applies edits to v. The first depth steps of their paths are equal and lead to v.
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
	edited := make(map[string]int, len(groups)) // group of a field
	for i, g := range groups {
		edited[g[0].Path[depth].Field] = i
	}
	fields := make([]yaml.Field, 0, v.Len()+len(groups))
	add := func(key string, old yaml.Value, i int) {
		if x := apply(old, groups[i], depth+1); x.Exists() {
			fields = append(fields, yaml.Field{Key: key, Value: x})
		}
	}
	for _, f := range v.Fields() {
		i, ok := edited[f.Key]
		if !ok {
			fields = append(fields, f)
			continue
		}
		add(f.Key, f.Value, i)
		groups[i] = nil
	}
	for i, g := range groups {
		if g != nil {
			add(g[0].Path[depth].Field, yaml.Value{}, i)
		}
	}
	return yaml.MapOf(fields...)
}

// applyItems applies edits to the items of a list. Added and moved items take their new positions.
// The others keep their order.
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
