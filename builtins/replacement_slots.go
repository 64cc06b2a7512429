package builtins

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// ChainReplacements connects transformers so that each passes the fields that it has found to the
// next one. The information is used only if the next transformer gets the same list.
func ChainReplacements(ts []*ReplacementTransformer) {
	for i := range ts[:max(0, len(ts)-1)] {
		ts[i].after = new(slotMail)
		ts[i+1].before = ts[i].after
	}
}

// A slotMail holds the found fields until the next transformer takes them. It is safe for
// concurrent use. A nil slotMail is always empty.
type slotMail struct{ slots atomic.Pointer[fieldSlots] }

// take removes and returns the fields of list. It returns no fields if there are none or if they
// are in a different list.
func (m *slotMail) take(list *krm.List) *fieldSlots {
	if m != nil {
		if s := m.slots.Swap(nil); s != nil && s.list == list {
			return s
		}
	}
	return &fieldSlots{list: list}
}

// put stores fields for the next transformer.
func (m *slotMail) put(s *fieldSlots) {
	if m != nil {
		m.slots.Store(s)
	}
}

// fieldSlots are the fields that consecutive replacements write, in resources that the list owns.
// Many replacements often write to the same fields of many resources. The first one finds a field
// and copies the lists and mappings that lead to it, as any change of a value does. The next ones
// change the field in these copies, which nothing else shares before the chain of replacements
// ends: no other step sees the list in between, and a list with several consumers gives up
// ownership of its resources.
type fieldSlots struct {
	list      *krm.List
	resources map[int]*resourceSlots
}

// of returns the known fields of resource i before it is changed.
func (s *fieldSlots) of(list *krm.List, i int) *resourceSlots {
	if s == nil {
		return nil
	}
	if s.resources == nil {
		s.resources = map[int]*resourceSlots{}
	}
	r := s.resources[i]
	if r == nil {
		r = new(resourceSlots)
		s.resources[i] = r
	}
	if list.Memory(i) == nil { // a different list may share the resource
		r.forget()
	}
	return r
}

// resourceSlots are the known fields of a resource.
type resourceSlots struct {
	object yaml.Value // the object that contains them
	// found has the fields at paths. They are in private lists and mappings, whose first parts are
	// items and fields.
	found  map[string][]*yaml.Value
	keys   []string // the fields by which the paths select items
	fields []*yaml.Field
	items  []*yaml.Value
}

// maxPrivate limits the private lists and mappings, which are searched one by one.
const maxPrivate = 64

func (s *resourceSlots) forget() {
	clear(s.found)
	s.object, s.keys, s.fields, s.items = yaml.Value{}, s.keys[:0], s.fields[:0], s.items[:0]
}

// inPlace copies the value to the fields at path if these are scalars outside of metadata. It
// returns false without any change if they are not, or if the general procedure must report an
// error.
func (c *copier) inPlace(res *krm.Resource, path *fieldPath) bool {
	s := c.known
	if s == nil || res.IsLinked() || !c.value.IsScalar() || !path.isPlain() {
		return false
	}
	if !s.object.Same(res.Value()) || len(s.fields)+len(s.items) > maxPrivate {
		s.forget()
		s.object = res.Value()
	}
	slots, ok := s.found[path.text]
	if !ok {
		object := s.object
		if slots, ok = s.follow(nil, &object, path.parts); !ok {
			return false
		}
		// Only the parts on the path have been copied, so far without a change.
		s.object = object
		res.SetValue(object)
		s.add(path, slots)
	}
	c.asText = false
	values, changed := make([]yaml.Value, 0, 4), false
	taken := len(res.Taken)
	for _, slot := range slots {
		x, err := (&valueTree{copier: c}).set(*slot)
		if err != nil {
			res.Taken = res.Taken[:taken]
			return false
		}
		values = append(values, x)
	}
	for i, slot := range slots {
		if x := values[i]; !x.Same(*slot) {
			res.NoteGrowth(len(x.Text()) - len(slot.Text()))
			*slot, changed = x, true
		}
	}
	if changed {
		c.noteName(res, path)
		if slices.Contains(s.keys, path.parts[len(path.parts)-1].text) {
			s.forget() // paths may now lead to other items
		}
	}
	return true
}

// isPlain reports whether the path cannot lead to metadata or parts of the identity, which
// resources and lists compare to find changes.
func (p *fieldPath) isPlain() bool {
	first := &p.parts[0]
	return first.named && first.kind == keyPart && first.text != "metadata" && first.text != "kind" && first.text != "apiVersion"
}

func (s *resourceSlots) add(path *fieldPath, slots []*yaml.Value) {
	if s.found == nil {
		s.found = map[string][]*yaml.Value{}
	}
	s.found[path.text] = slots
	for i := range path.parts {
		if key := path.parts[i].key; key != "" && !slices.Contains(s.keys, key) {
			s.keys = append(s.keys, key)
		}
	}
}

// follow appends the fields at path in the value at v to slots, and makes the lists and mappings on
// the way private. ok is false if a part of the path has a special meaning, if it leads nowhere, or
// if it does not lead to a scalar.
func (s *resourceSlots) follow(slots []*yaml.Value, v *yaml.Value, path []pathPart) (_ []*yaml.Value, ok bool) {
	if len(path) == 0 {
		return append(slots, v), v.IsScalar()
	}
	switch part := &path[0]; {
	case part.kind == keyPart && part.named && v.Type() == yaml.Map:
		i := v.Index(part.text)
		if i < 0 {
			return nil, false
		}
		if !slices.Contains(s.fields, &v.Fields()[0]) {
			*v = v.WithFields(slices.Clone(v.Fields())...)
			s.fields = append(s.fields, &v.Fields()[0])
		}
		return s.follow(slots, &v.Fields()[i].Value, path[1:])
	case part.kind == itemPart && part.err == nil && part.re == nil && part.key != "" && v.Type() == yaml.Seq:
		before := len(slots)
		for i, item := range v.Items() {
			key := item.Get(part.key)
			if item.Type() != yaml.Map || !key.IsScalar() || strings.ContainsAny(part.value, `'"`) {
				return nil, false
			}
			if !part.matches(key) {
				continue
			}
			if !slices.Contains(s.items, &v.Items()[0]) {
				*v = v.WithItems(slices.Clone(v.Items())...)
				s.items = append(s.items, &v.Items()[0])
			}
			if slots, ok = s.follow(slots, &v.Items()[i], path[1:]); !ok {
				return nil, false
			}
		}
		return slots, len(slots) > before // a missing item may have to be created
	}
	return nil, false
}
