package history

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Field is a path to a field of an object, parsed from a text such as
// spec.template.spec.containers[name=web].image, metadata.labels.app or
// metadata.annotations["example.com/a"]. Quotes are needed only for names that would otherwise
// be ambiguous. The empty Field is the whole object.
type Field []part

// A part is the name of a field, or an item of a list by index or by the value of a field.
type part struct {
	name       string
	quoted     bool
	item       bool
	every      bool // matches all items of the list
	place      int  // index of the item, -1 if key and value select it
	key, value string
}

// maxField is the maximum length of the text of a field. The time to find a field is quadratic
// in it.
const maxField = 4 << 10

// ParseField parses the text of a field. It also accepts a JSON pointer, which begins with a
// slash. Empty text is the whole object.
func ParseField(text string) (f Field, err error) {
	if len(text) > maxField {
		return nil, fmt.Errorf("a field must not be longer than %d bytes", maxField)
	}
	if rest, ok := strings.CutPrefix(text, "/"); ok {
		for _, name := range strings.Split(rest, "/") {
			name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
			if n, err := strconv.Atoi(name); err == nil {
				f = append(f, part{name: name, item: true, place: n})
				continue
			}
			f = append(f, part{name: name, quoted: true})
		}
		return f, nil
	}
	for rest := text; rest != ""; {
		var p part
		if p, rest, err = nextPart(rest, len(f) == 0); err != nil {
			return nil, fmt.Errorf("the field %q: %w", text, err)
		}
		f = append(f, p)
	}
	return f, nil
}

// nextPart parses the first part of text and returns the rest.
func nextPart(text string, first bool) (p part, rest string, err error) {
	if !first && strings.HasPrefix(text, ".[") { // the form in replacements
		text = text[1:]
	}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		if quoted, err := strconv.QuotedPrefix(inner); err == nil {
			p.name, _ = strconv.Unquote(quoted)
			p.quoted = true
			rest, ok = strings.CutPrefix(inner[len(quoted):], "]")
			if !ok {
				return p, "", fmt.Errorf("missing ] after %s", quoted)
			}
			return p, rest, nil
		}
		inner, rest, ok = strings.Cut(inner, "]")
		if !ok {
			return p, "", fmt.Errorf("missing ] after [%s", inner)
		}
		p.item, p.place = true, -1
		if p.key, p.value, ok = strings.Cut(inner, "="); ok {
			return p, rest, nil
		}
		if p.every = inner == "*"; p.every {
			return p, rest, nil
		}
		if p.place, err = strconv.Atoi(inner); err != nil || p.place < 0 {
			return p, "", fmt.Errorf("[%s] is not an item: write [0], [name=web], [*] or [\"a name\"]", inner)
		}
		return p, rest, nil
	}
	if !first {
		text = strings.TrimPrefix(text, ".")
	}
	if quoted, err := strconv.QuotedPrefix(text); err == nil {
		p.name, _ = strconv.Unquote(quoted)
		p.quoted = true
		return p, text[len(quoted):], nil
	}
	end := strings.IndexAny(text, ".[")
	if end < 0 {
		end = len(text)
	}
	if end == 0 {
		return p, "", fmt.Errorf("a name is missing before %q", text)
	}
	return part{name: text[:end]}, text[end:], nil
}

// In returns the path of the field in an object, and whether the object has the field. If not,
// the path leads to the last part that exists. If the field matches several items of a list, In
// uses the first match.
func (f Field) In(v yaml.Value) (path []any, ok bool) {
	if len(f) == 0 {
		return nil, true
	}
	if f[0].item {
		items := f[0].items(v)
		if len(items) == 0 {
			if x := v.Get(f[0].name); f[0].name != "" && x.Exists() { // of a JSON pointer
				path, ok = f[1:].In(x)
				return append([]any{f[0].name}, path...), ok
			}
			return nil, false
		}
		path, ok = f[1:].In(v.Items()[items[0]])
		return append([]any{items[0]}, path...), ok
	}
	// Label keys and similar names contain dots, so one name may consist of several parts. The
	// shortest name is tried first.
	for n, name := range f.names() {
		x := v.Get(name)
		if !x.Exists() {
			continue
		}
		rest, ok := f[n:].In(x)
		if here := append([]any{name}, rest...); ok {
			return here, true
		} else if len(here) > len(path) {
			path = here
		}
	}
	return path, false
}

// All returns the paths of all fields that f matches in an object. There can be several if f
// contains [*]. missing holds the paths of list items without the field. If the list or a plain
// field does not exist, missing holds one nil path.
func (f Field) All(v yaml.Value) (paths, missing [][]any) {
	i := slices.IndexFunc(f, func(p part) bool { return p.every })
	if i < 0 {
		if path, ok := f.In(v); ok {
			return [][]any{path}, nil
		}
		return nil, [][]any{nil}
	}
	list, ok := f[:i].In(v)
	if !ok {
		return nil, [][]any{nil}
	}
	for k, item := range At(v, list).Items() {
		at := append(list[:len(list):len(list)], k)
		in, out := f[i+1:].All(item)
		for _, path := range in {
			paths = append(paths, append(at[:len(at):len(at)], path...))
		}
		for _, path := range out {
			missing = append(missing, append(at[:len(at):len(at)], path...))
		}
	}
	return paths, missing
}

// items returns the indexes of the items that match a part.
func (p part) items(v yaml.Value) (items []int) {
	for i, x := range v.Items() {
		if p.every || p.place == i || p.place < 0 && x.Get(p.key).IsScalar() && x.Get(p.key).Text() == p.value {
			items = append(items, i)
		}
	}
	return items
}

// names yields the possible names at the start of the field, with the number of parts that each
// spans.
func (f Field) names() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		name := f[0].name
		for n := 1; yield(n, name); n++ {
			if n == len(f) || f[0].quoted || f[n].quoted || f[n].item {
				return
			}
			name += "." + f[n].name
		}
	}
}

// At returns the value at a path, or the zero Value if there is none.
func At(v yaml.Value, path []any) yaml.Value {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.Get(step)
		case int:
			if step >= len(v.Items()) {
				return yaml.Value{}
			}
			v = v.Items()[step]
		}
	}
	return v
}

// A Change is a change of a field by a step.
type Change struct {
	Step
	// Path is the path of the field after the step and OldPath the one before it. They differ if
	// items of a list moved. A path is nil if the field does not exist.
	Path, OldPath []any
	// Old and New are the values before and after the step. A value that does not exist has the
	// type None.
	Old, New yaml.Value
}

// FieldOf returns the changes that the steps of a resource made to one field, in order. path is
// the path of the field after the last step. The old value of each change is the new value of
// the previous one.
func FieldOf(steps []Step, path []any) (changes []Change) {
	for _, s := range slices.Backward(steps) {
		now := At(s.After.Value(), path)
		if s.Before == nil {
			changes = append(changes, Change{Step: s, Path: path, New: now})
			break
		}
		was, old, whole := Follow(s.After.Value(), s.Before.Value(), path)
		if !whole {
			changes = append(changes, Change{Step: s, Path: path, New: now})
			break
		}
		if !old.Equal(now) {
			changes = append(changes, Change{s, path, was, old, now})
		}
		path = was
	}
	slices.Reverse(changes)
	return changes
}

// Removed returns the changes of a field that existed after one of the steps but not after the
// last one. The last of the changes is the removal. It returns nil if the resource never had the
// field.
func Removed(steps []Step, f Field) []Change {
	for i, s := range slices.Backward(steps) {
		if s.After == nil {
			continue
		}
		path, ok := f.In(s.After.Value())
		if !ok || i+1 == len(steps) {
			continue
		}
		gone := Change{Step: steps[i+1], OldPath: path, Old: At(s.After.Value(), path)}
		return append(FieldOf(steps[:i+1], path), gone)
	}
	return nil
}

// Place returns the location that causes a change and the field there. It tries, in order, the
// file of a new resource, the patch of the step, and the part of the step's configuration that
// names the field. If none of them contains the value, it returns the location of the step.
func (f Files) Place(c Change) (pos diag.Pos, field string) {
	has := func(doc yaml.Value) ([]any, bool) {
		if !c.New.Exists() {
			at, there, whole := Follow(c.Before.Value(), doc, c.OldPath)
			return at, whole && there.IsNull()
		}
		at, there, whole := Follow(c.After.Value(), doc, c.Path)
		return at, whole && (there.Equal(c.New) || !c.New.IsScalar() && there.Type() == c.New.Type())
	}
	if c.Before == nil && c.After != nil {
		if pos, at, ok := f.InFile(c.After, has); ok {
			return pos, diag.FieldPath(at)
		}
	}
	path := c.Path
	if path == nil {
		path = c.OldPath
	}
	if pos, at, ok := f.InPatch(c.Node, path, has); ok {
		return pos, diag.FieldPath(at)
	}
	if pos, at, ok := f.InConfig(c, path); ok {
		return pos, diag.FieldPath(at)
	}
	return c.Node.Origin.Pos(), c.Node.Origin.Field()
}

// Gone returns the steps of a resource that a step created but the result lacks. The last step
// removed it. is identifies the resource. Gone returns nil if no step created it.
func (h *History) Gone(is func(*krm.Resource) bool) []Step {
	where := func(list *krm.List) int {
		for i, r := range list.All() {
			if is(r) {
				return i
			}
		}
		return -1
	}
	at := make([]int, len(h.lists))
	for i, list := range h.lists {
		at[i] = -1
		if list != nil {
			at[i] = where(list)
		}
	}
	for i := len(h.lists) - 1; i >= 0; i-- {
		if h.lists[i] == nil || at[i] >= 0 {
			continue
		}
		for _, in := range h.g.Nodes[i].Inputs {
			if at[in] >= 0 {
				r := h.lists[in].At(at[in])
				return append(h.steps(in, at[in]), Step{h.g.Nodes[i], r, nil})
			}
		}
	}
	return nil
}
