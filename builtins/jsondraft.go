package builtins

import (
	"slices"
	"strconv"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A draft is a mutable copy of an object, or of a mapping or list within it, during a JSON patch.
// It is lazy: n operations on a mapping with n fields copy the mapping once instead of n times.
// The original value does not change.
type draft struct {
	from    yaml.Value
	opened  bool           // parts has been filled
	parts   []draftPart    // the fields or items, once opened
	index   map[string]int // positions of the fields in a large mapping
	changed bool           // the parts differ from the contents of from
	entered bool           // some parts have drafts
}

// A draftPart is a field or an item. Removing a field sets its value to None, so the other fields
// keep their positions.
type draftPart struct {
	key   string
	value yaml.Value
	draft *draft // the draft of value, nil until the first edit within it
}

// drafts holds unused drafts with the storage of their parts. A patch often applies to many
// similar objects.
var drafts = sync.Pool{New: func() any { return new(draft) }}

func newDraft(v yaml.Value) *draft {
	d := drafts.Get().(*draft)
	d.from = v
	return d
}

// finish returns the resulting value and releases the draft, which must not be used afterwards.
func (d *draft) finish() yaml.Value {
	v := d.value()
	clear(d.parts)
	*d = draft{parts: d.parts[:0]}
	drafts.Put(d)
	return v
}

// value returns the current value, which is from if nothing has changed.
func (d *draft) value() yaml.Value {
	if d.entered {
		d.settle()
	}
	if !d.changed {
		return d.from
	}
	d.changed = false
	if d.from.Type() == yaml.Seq {
		items := make([]yaml.Value, len(d.parts))
		for i := range d.parts {
			items[i] = d.parts[i].value
		}
		d.from = yaml.SeqOf(items...)
		return d.from
	}
	fields := make([]yaml.Field, 0, len(d.parts))
	for i := range d.parts {
		if p := &d.parts[i]; p.value.Exists() {
			fields = append(fields, yaml.Field{Key: p.key, Value: p.value})
		}
	}
	d.from = yaml.MapOf(fields...)
	return d.from
}

// settle replaces the drafts of the parts by their values.
func (d *draft) settle() {
	for i := range d.parts {
		if p := &d.parts[i]; p.draft != nil {
			v := p.draft.finish()
			d.changed = d.changed || !v.Same(p.value)
			p.value, p.draft = v, nil
		}
	}
	d.entered = false
}

// edit calls change with the mapping or list that contains the last token of path.
func (d *draft) edit(path []string, change func(in *draft, key string) error) error {
	switch {
	case len(path) == 0 || d.from.Type() != yaml.Map && d.from.Type() != yaml.Seq:
		return errNoPath
	case len(path) == 1:
		return change(d, path[0])
	}
	p, err := d.part(path[0])
	if err != nil || p == nil {
		return errNoPath
	}
	if p.draft == nil {
		p.draft, d.entered = newDraft(p.value), true
	}
	return p.draft.edit(path[1:], change)
}

// part returns the field or item for token, nil if the field does not exist.
func (d *draft) part(token string) (*draftPart, error) {
	d.open()
	if d.from.Type() == yaml.Map {
		if i := d.field(token); i >= 0 {
			return &d.parts[i], nil
		}
		return nil, nil
	}
	i, err := index(token, len(d.parts))
	if err != nil {
		return nil, err
	}
	return &d.parts[i], nil
}

// open fills parts. It rewrites values in brackets by the rules for brackets, since the first
// change to the draft removes the brackets.
func (d *draft) open() {
	if d.opened {
		return
	}
	d.opened = true
	d.parts = slices.Grow(d.parts, d.from.Len()+1)
	for _, x := range d.from.Items() {
		d.parts = append(d.parts, draftPart{value: x})
	}
	for _, f := range d.from.Fields() {
		d.parts = append(d.parts, draftPart{key: f.Key, value: f.Value})
	}
	if !d.from.InBrackets() {
		return
	}
	for i := range d.parts {
		d.parts[i].value = rewrittenIn(d.parts[i].value, yaml.Value{}, true)
	}
}

// field returns the index of a field of a mapping, -1 if there is none.
func (d *draft) field(key string) int {
	const few = 16
	if len(d.parts) <= few {
		return slices.IndexFunc(d.parts, func(p draftPart) bool { return p.key == key && p.value.Exists() })
	}
	if d.index == nil {
		d.index = make(map[string]int, len(d.parts))
		for i := range d.parts {
			if p := &d.parts[i]; p.value.Exists() {
				d.index[p.key] = i
			}
		}
	}
	if i, ok := d.index[key]; ok {
		return i
	}
	return -1
}

func (d *draft) get(token string) (yaml.Value, error) {
	p, err := d.part(token)
	if p == nil || err != nil {
		return yaml.Value{}, err
	}
	return p.now(), nil
}

// now returns the current value of the part.
func (p *draftPart) now() yaml.Value {
	if p.draft != nil {
		return p.draft.value()
	}
	return p.value
}

func (d *draft) add(token string, x yaml.Value) error {
	if d.from.Type() == yaml.Map {
		return d.replace(token, x)
	}
	d.open()
	i := len(d.parts)
	if token != "-" {
		var err error
		if i, err = index(token, len(d.parts)+1); err != nil {
			return err
		}
	}
	d.parts = slices.Insert(d.parts, i, draftPart{value: x})
	d.changed = true
	return nil
}

// replace sets a field or item. It adds a missing field, and keeps a value that is already equal.
func (d *draft) replace(token string, x yaml.Value) error {
	p, err := d.part(token)
	switch {
	case err != nil:
		return err
	case p == nil:
		if d.index != nil {
			d.index[token] = len(d.parts)
		}
		d.parts = append(d.parts, draftPart{key: token, value: x})
		d.changed = true
	case !p.now().Equal(x):
		p.value, p.draft = x, nil
		d.changed = true
	}
	return nil
}

func (d *draft) remove(token string) error {
	p, err := d.part(token)
	switch {
	case err != nil:
		return err
	case p == nil:
		return errNoPath
	case d.from.Type() == yaml.Seq:
		i, _ := index(token, len(d.parts))
		d.parts = slices.Delete(d.parts, i, i+1)
	default:
		*p = draftPart{key: p.key}
		delete(d.index, token)
	}
	d.changed = true
	return nil
}

// index converts a token to an index of a list with n elements. Negative numbers count from the
// end.
func index(token string, n int) (int, error) {
	i, err := strconv.Atoi(token)
	if err != nil {
		return 0, diag.JSONPatchPath.Errorf("%q is not a list index", token)
	}
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return 0, diag.JSONPatchPath.Errorf("index %s is out of range", token)
	}
	return i, nil
}
