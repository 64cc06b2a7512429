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

// A Document is the text of one file and what it holds. It is immutable.
type Document struct {
	name  string
	order []string // the fields in the order in which they are written
	text  *text
	root  *yaml3.Node // nil if the file holds nothing
	value yaml.Value  // a mapping; None if the file holds nothing
	style style
	eol   string
	added []byte // the break that the last line got; see withBreak

	// overrides is whether a << merges a key into a mapping that has it above: readers disagree about which of the two counts.
	overrides bool

	keepComments bool
	object       bool // see ParseObject
}

// Parse parses a file. name is what messages call it; order are its top-level fields in the order in which kustomize writes them, by which the
// place of new ones is found. The error is an [*diag.Error] with the line.
func Parse(name string, data []byte, order []string) (*Document, error) {
	return parse(name, data, order, false)
}

// ParseObject parses a document that holds an object of Kubernetes, whose values are those that [yaml.Source.Content] has. Fields that are added go
// to the end.
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

// parse parses another text of the same file.
func (d *Document) parse(data []byte) (*Document, error) {
	next, err := parse(d.name, data, d.order, d.object)
	if err == nil {
		next.keepComments = d.keepComments
	}
	return next, err
}

// KeepingComments returns d, but what is removed from it does not take along the comments above it.
func (d *Document) KeepingComments() *Document {
	kept := *d
	kept.keepComments = true
	return &kept
}

// change returns a change of the text that has none yet.
func (d *Document) change() *change {
	return &change{text: d.text, style: d.style, eol: d.eol, keepComments: d.keepComments}
}

// Value returns what the file holds: a mapping, or None if it holds nothing.
func (d *Document) Value() yaml.Value { return d.value }

// Name returns what messages call the file.
func (d *Document) Name() string { return d.name }

// Line returns the line of a top-level field, 0 if there is none.
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

// Text returns the file.
func (d *Document) Text() []byte { return d.text.data }

// errOpaque says that a change cannot be made where it is: what is around it must be written anew.
var errOpaque = errors.New("cannot be changed in place")

// With returns a Document that holds v: a mapping. What stays the same keeps its text.
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

// Renamed returns a Document in which a field has another name, and d itself if that cannot be written.
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

// WithName returns a mapping in which a field has another name.
func WithName(v yaml.Value, from, to string) yaml.Value {
	fields := slices.Clone(v.Fields())
	for i := range fields {
		if fields[i].Key == from {
			fields[i].Key = to
		}
	}
	return yaml.MapOf(fields...)
}

// withField returns a Document that holds want, which differs in one field. The first way of writing it that has this meaning is taken: the smallest
// change, the same after what aliases in other fields stand for was written out, or the whole field anew.
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
	return nil, diag.Errorf(diag.Pos{File: d.name}, field, "cannot be edited without changing what else the file says").Hint("edit it by hand")
}

// written returns a Document in which a field is changed in place, or written anew. It returns nil if that does not hold want.
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

// withBreak returns d if its last line has a break, and otherwise forms of it that have one, to which lines can be added. In the second one a block
// scalar at the end keeps what it holds.
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

// lastStripped returns the text in which a block scalar at its end ends without a line break, whether there is one or not.
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

// changedFields returns the fields that differ, in the order in which they are to be written. Those that go are the last: new ones are put beside
// those that they replace.
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

// removed returns the lists and mappings, and items of lists, that the fields of the file have which v does not have: they may have moved.
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

// movedItems returns the items of a list that is removed.
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
		if strings.Contains(strings.Join(lines, "\n"), "+") { // a scalar may keep blank lines, which linesOf drops
			continue
		}
		m.lines = append([]string{lines[0][by:]}, indented(lines[1:], 1-n.Column-by)...)
		list = append(list, m)
	}
	return list
}

// linesOf returns the lines from start to the one that end is in, which is whole: what follows end in it is a comment.
func (d *Document) linesOf(start, end int) []string {
	if d.text.isRest(end) {
		end = d.text.lineEnd(end)
	}
	all := strings.TrimRight(string(d.text.data[start:end]), "\r\n")
	return strings.Split(strings.ReplaceAll(all, "\r\n", "\n"), "\n")
}

// styleOf returns how a file is written: what most of its lists and mappings have, or else what kustomize writes.
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
