package inplace

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
	yaml3 "go.yaml.in/yaml/v3"
)

// A Document is the text of a file and its content. It is immutable.
type Document struct {
	name  string
	order []string // top-level fields in writing order
	text  *text
	root  *yaml3.Node // nil if the file is empty
	value yaml.Value  // a mapping; None if the file is empty
	style style
	eol   string
	added []byte // line break added to the last line; see withBreak

	// overrides reports whether a merge key (<<) provides a key that precedes it in the same
	// mapping. YAML parsers disagree about which of the two values takes precedence.
	overrides bool

	keepComments bool
	object       bool // see ParseObject
}

// Parse parses a file. name is its name in messages. order lists the top-level fields in the
// order in which kustomize writes them; it determines the position of new fields. The error is a
// [*diag.Error] with the line.
func Parse(name string, data []byte, order []string) (*Document, error) {
	return parse(name, data, order, false)
}

// ParseObject parses a document with a Kubernetes object. It reads values in the same way as
// [yaml.Source.Content]. New fields are added at the end.
func ParseObject(name string, data []byte) (*Document, error) {
	return parse(name, data, []string{"apiVersion", "kind", "metadata"}, true)
}

func parse(name string, data []byte, order []string, object bool) (*Document, error) {
	src := &yaml.Source{File: name, Data: data}
	read := src.Value
	if object {
		read = src.Content
	}
	v, err := read()
	if err != nil {
		return nil, err
	}
	if v.Exists() && !v.IsNull() && v.Type() != yaml.Map {
		return nil, diag.Errorf(src.Locate(0), "", "must be a mapping, not %s", v.Type().Article())
	}
	var file yaml3.Node
	if err := yaml3.Unmarshal(data, &file); err != nil {
		return nil, diag.Errorf(diag.Pos{File: name}, "", "cannot be edited: %v", err)
	}
	d := &Document{name: name, order: order, text: newText(data), eol: "\n", object: object}
	if v.Type() == yaml.Map {
		d.value = v
	}
	if len(file.Content) > 0 {
		d.root = file.Content[0]
		d.overrides = overrides(d.root)
	}
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		d.eol = "\r\n"
	}
	d.style = styleOf(d.root, d.text)
	return d, nil
}

// parse parses a new text for the same file.
func (d *Document) parse(data []byte) (*Document, error) {
	next, err := parse(d.name, data, d.order, d.object)
	if err == nil {
		next.keepComments = d.keepComments
	}
	return next, err
}

// KeepingComments returns a copy of d that keeps the comments above removed fields and items.
func (d *Document) KeepingComments() *Document {
	kept := *d
	kept.keepComments = true
	return &kept
}

// change returns an empty change of the text.
func (d *Document) change() *change {
	return &change{text: d.text, style: d.style, eol: d.eol, keepComments: d.keepComments}
}

// Value returns the content of the file: a mapping, or None if it is empty.
func (d *Document) Value() yaml.Value { return d.value }

// Name returns the name of the file in messages.
func (d *Document) Name() string { return d.name }

// Line returns the line of a top-level field, or 0 if it does not exist.
func (d *Document) Line(field string) int {
	if d.root != nil && d.root.Kind == yaml3.MappingNode {
		for i := 0; i < len(d.root.Content); i += 2 {
			if key := d.root.Content[i]; key.Value == field {
				return key.Line
			}
		}
	}
	return 0
}

// Text returns the text of the file.
func (d *Document) Text() []byte { return d.text.data }

// errOpaque reports that a value cannot be changed in place, so that the enclosing block must be
// rewritten.
var errOpaque = errors.New("cannot be changed in place")

// With returns a Document with the content v, which must be a mapping. Unchanged parts keep
// their text. It returns an error if a field cannot be changed without affecting others.
func (d *Document) With(v yaml.Value) (*Document, error) {
	moved := d.removed(v)
	for _, field := range changedFields(d.value, v, d.order) {
		want := d.value.Without(field)
		if is := v.Get(field); is.Exists() && d.value.Exists() {
			want = d.value.With(field, is)
		} else if is.Exists() {
			want = yaml.MapOf(yaml.Field{Key: field, Value: is})
		}
		next, err := d.withField(field, want, moved)
		if err != nil {
			return nil, err
		}
		d = next
	}
	return d, nil
}

// Renamed returns a Document with a top-level field renamed, or d itself if that is impossible.
func (d *Document) Renamed(from, to string) *Document {
	if d.root == nil || d.root.Kind != yaml3.MappingNode {
		return d
	}
	c := d.change()
	for i := 0; i < len(d.root.Content); i += 2 {
		if key := d.root.Content[i]; key.Value == from {
			c.splice(c.start(key), c.end(key), to)
		}
	}
	next, err := d.parse(c.apply())
	if err != nil || !next.value.Equal(WithName(d.value, from, to)) {
		return d
	}
	return next
}

// WithName returns a mapping with a field renamed.
func WithName(v yaml.Value, from, to string) yaml.Value {
	fields := slices.Clone(v.Fields())
	for i := range fields {
		if fields[i].Key == from {
			fields[i].Key = to
		}
	}
	return yaml.MapOf(fields...)
}

// withField returns a Document with the content want, which differs in one field. It tries, in
// order, the smallest change, the same change after expanding the aliases in other fields, and
// rewriting the whole field. The first result with the right content is returned.
func (d *Document) withField(field string, want yaml.Value, moved []moved) (*Document, error) {
	if next := d.written(field, want, moved, false); next != nil {
		return next, nil
	}
	if alone := d.expandAliases(field); alone != nil {
		return alone.withField(field, want, moved)
	}
	if next := d.written(field, want, moved, true); next != nil {
		return next, nil
	}
	return nil, diag.Errorf(diag.Pos{File: d.name},
		field, "cannot be edited without changing other parts of the file").Hint("edit it by hand")
}

// written returns a Document with a field changed in place or, if anew is set, rewritten. It
// returns nil if the result does not have the content want.
func (d *Document) written(field string, want yaml.Value, moved []moved, anew bool) *Document {
	for _, base := range d.withBreak() {
		c := d.change()
		c.text, c.keepBlanks = base.text, anew
		c.style.moved = slices.Clone(moved)
		if err := c.root(base, field, want, anew); err != nil {
			continue
		}
		text := c.apply()
		for _, text := range [][]byte{bytes.TrimSuffix(text, base.added), text} {
			next, err := d.parse(text)
			if err == nil && (next.value.Equal(want) || next.value.Len() == 0 && want.Len() == 0) && (d.overrides || !next.overrides) {
				return next
			}
		}
	}
	return nil
}

// withBreak returns d if its last line ends with a line break. Otherwise it returns two variants
// of d with a line break, to which lines can be added. In the second variant a block scalar at
// the end keeps its value.
func (d *Document) withBreak() []*Document {
	data := d.text.data
	if len(bytes.TrimPrefix(data, bom)) == 0 || bytes.HasSuffix(data, []byte("\n")) {
		return []*Document{d}
	}
	var list []*Document
	for _, text := range [][]byte{data, d.lastStripped()} {
		b, err := d.parse(slices.Concat(text, []byte(d.eol)))
		if err == nil {
			b.value, b.added = d.value, []byte(d.eol)
			list = append(list, b)
		}
	}
	return list
}

// lastStripped returns the text with the strip indicator on a block scalar at its end, so that a
// trailing line break does not change the scalar.
func (d *Document) lastStripped() []byte {
	n := d.root
	for n != nil && len(n.Content) > 0 && n.Style&yaml3.FlowStyle == 0 {
		n = n.Content[len(n.Content)-1]
	}
	data := d.text.data
	if n == nil || n.Style&(yaml3.LiteralStyle|yaml3.FoldedStyle) == 0 || d.text.end(n) < len(data) {
		return data
	}
	at := d.text.content(n) + 1
	rest := data[at:]
	return slices.Concat(data[:at], []byte("-"), bytes.TrimLeft(rest[:min(2, len(rest))], "+-"), rest[min(2, len(rest)):])
}

// changedFields returns the fields that differ, in the order in which they are written. Removed
// fields come last, so that new fields are placed beside the ones they replace.
func changedFields(old, v yaml.Value, order []string) []string {
	var changed, gone []string
	for _, f := range old.Fields() {
		if is := v.Get(f.Key); !is.Exists() {
			gone = append(gone, f.Key)
		} else if !f.Value.Equal(is) {
			changed = append(changed, f.Key)
		}
	}
	var added []string
	for _, f := range v.Fields() {
		if !old.Get(f.Key).Exists() {
			added = append(added, f.Key)
		}
	}
	slices.SortStableFunc(added, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	return slices.Concat(changed, added, gone)
}

// removed returns the lists, mappings and list items in top-level fields that v lacks. They are
// candidates for moves.
func (d *Document) removed(v yaml.Value) []moved {
	var list []moved
	if d.root == nil || d.root.Kind != yaml3.MappingNode || d.root.Style&yaml3.FlowStyle != 0 {
		return nil
	}
	for i := 0; i+1 < len(d.root.Content); i += 2 {
		key, n := d.root.Content[i], d.root.Content[i+1]
		old := d.value.Get(key.Value)
		if v.Get(key.Value).Exists() || n.Kind == yaml3.AliasNode || n.Anchor != "" || n.Style&yaml3.FlowStyle != 0 || !isBlock(old) {
			continue
		}
		if n.Kind == yaml3.MappingNode && n.Column > 1 {
			start := d.text.comments(n.Line-1, d.text.lineEnd(d.text.start(key)))
			list = append(list, moved{value: old, lines: indented(d.linesOf(start, d.text.end(n)), 1-n.Column)})
		}
		if n.Kind == yaml3.SequenceNode {
			list = append(list, d.movedItems(n, old.Items())...)
		}
	}
	return list
}

// movedItems returns the items of a removed list.
func (d *Document) movedItems(n *yaml3.Node, values []yaml.Value) []moved {
	items, err := d.text.items(n)
	if err != nil || len(items) != len(values) {
		return nil
	}
	var list []moved
	for i, e := range items {
		if !d.text.ownLines(e) || d.text.lineOf(e.dash) != d.text.lineOf(e.content) {
			continue
		}
		from := 0
		if i > 0 {
			from = d.text.lineEnd(items[i-1].end)
		}
		m := moved{value: values[i], isItem: true}
		if start := d.text.comments(d.text.lineOf(e.dash), from); start < d.text.lineStart(e.dash) {
			m.head = indented(d.linesOf(start, d.text.lineStart(e.dash)-1), 1-n.Column)
		}
		by := e.content - e.dash
		lines := d.linesOf(e.dash, e.end)
		// A scalar with a keep indicator needs the blank lines that linesOf drops.
		if strings.Contains(strings.Join(lines, "\n"), "+") {
			continue
		}
		m.lines = append([]string{lines[0][by:]}, indented(lines[1:], 1-n.Column-by)...)
		list = append(list, m)
	}
	return list
}

// linesOf returns the lines from start to the one that contains end. That line is included
// completely if only a comment follows.
func (d *Document) linesOf(start, end int) []string {
	if d.text.isRest(end) {
		end = d.text.lineEnd(end)
	}
	all := strings.TrimRight(string(d.text.data[start:end]), "\r\n")
	return strings.Split(strings.ReplaceAll(all, "\r\n", "\n"), "\n")
}

// styleOf returns the predominant style of a file's lists and mappings, with kustomize's style
// as the default.
func styleOf(root *yaml3.Node, t *text) style {
	indents, dashes, gaps := map[int]int{}, map[int]int{}, map[int]int{}
	var visit func(n *yaml3.Node, column int)
	visit = func(n *yaml3.Node, column int) {
		if n.Style&yaml3.FlowStyle != 0 || n.Kind == yaml3.AliasNode || n.Anchor != "" {
			return
		}
		switch n.Kind {
		case yaml3.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				v := n.Content[i+1]
				if v.Line > n.Content[i].Line && v.Style&yaml3.FlowStyle == 0 && v.Anchor == "" {
					switch by := v.Column - n.Column; v.Kind {
					case yaml3.MappingNode:
						indents[by]++
					case yaml3.SequenceNode:
						dashes[by]++
					}
				}
				visit(v, n.Column)
			}
		case yaml3.SequenceNode:
			for _, v := range n.Content {
				if v.Kind != yaml3.AliasNode && v.Anchor == "" && v.Column > n.Column+1 && v.Column <= n.Column+4 {
					gaps[v.Column-n.Column-1]++
				}
				visit(v, n.Column)
			}
		}
	}
	if root != nil {
		visit(root, 0)
	}
	return style{indent: most(indents, 2), dash: most(dashes, 0), gap: strings.Repeat(" ", most(gaps, 1))}
}

// most returns the key with the highest count, or otherwise if there is none.
func most(counts map[int]int, otherwise int) int {
	best := otherwise
	for k, n := range counts {
		if n > counts[best] || n == counts[best] && k < best {
			best = k
		}
	}
	return best
}
