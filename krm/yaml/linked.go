package yaml

import (
	"slices"
	"strings"
	"unsafe"
)

// Linked returns a string value that is one node in all its places in a resource: if a step
// changes it in one place, the resource changes it in all. Values from different calls are
// different nodes.
//
// kustomize puts the same node under every field to which a transformer adds a label. A later
// patch of metadata.labels.app therefore changes the selectors and pod labels that got app from
// the same transformer, and existing trees depend on it. A JSON patch or a function cuts the links
// of a resource.
//
// Values are immutable, so a step cannot change a node for all its places. Instead, [KeepLinks]
// compares the object before and after a step, finds the linked strings that have changed in some
// place, and replaces them everywhere.
func Linked(s string) Value {
	return Value{p: unsafe.Pointer(&link{s}), n: uint32(len(s)), typ: String, flags: linked}
}

// A link is the shared node of all values from one call of [Linked].
type link struct{ text string }

// apart returns v as a string that is not linked. Other values are returned unchanged.
func (v Value) apart() Value {
	if !v.is(linked) {
		return v
	}
	w := Str(v.Text())
	w.flags = v.flags &^ linked
	return w
}

// IsLinked reports whether v was made by [Linked].
func (v Value) IsLinked() bool { return v.is(linked) }

func unlink(v Value) Value {
	return mapScalars(v, Value.apart)
}

// mapScalars returns v with fn applied to every linked scalar.
func mapScalars(v Value, fn func(Value) Value) Value {
	switch v.typ {
	case Map:
		w := v
		for i, f := range v.Fields() {
			if x := mapScalars(f.Value, fn); x != f.Value {
				if w == v {
					w = v.WithFields(append([]Field(nil), v.Fields()...)...)
				}
				w.Fields()[i].Value = x
			}
		}
		return w
	case Seq:
		w := v
		for i, item := range v.Items() {
			if x := mapScalars(item, fn); x != item {
				if w == v {
					w = v.WithItems(append([]Value(nil), v.Items()...)...)
				}
				w.Items()[i] = x
			}
		}
		return w
	}
	if v.is(linked) {
		return fn(v)
	}
	return v
}

// KeepLinks returns v, which a step has made from old, with each change of a linked value applied
// to all places of that value. Linked values at a place where old has none become ordinary copies,
// unless added is true.
func KeepLinks(old, v Value, added bool) Value {
	s := relinker{added: added}
	v = s.relink(old, v)
	if len(s.changed) == 0 {
		return v
	}
	return mapScalars(v, func(x Value) Value {
		for w, ok := s.changed[x]; ok; w, ok = s.changed[x] {
			x = w
		}
		return x
	})
}

type relinker struct {
	changed map[Value]Value // linked values of the old object, and their replacements
	added   bool
}

// relink records the linked values of old that have changed in v, and puts linked replacements in
// their places. It descends only into parts that differ.
func (s *relinker) relink(old, v Value) Value {
	if old == v {
		return v
	}
	if !s.added {
		v = v.apart()
	}
	if old.is(linked) {
		return s.change(old, v)
	}
	if old.typ != v.typ {
		if s.added {
			return v
		}
		return unlink(v)
	}
	w := v
	fields := old.Fields()
	extends := sameFields(fields, v.Fields()) == len(fields) // v has only new fields after those of old
	var order [8]int
	for _, i := range v.changedFields(order[:0], fields) {
		f := v.Fields()[i]
		var before Value
		if i < len(fields) || !extends {
			before = old.counterpart(i, f.Key)
		}
		if x := s.relink(before, f.Value); x != f.Value {
			if w == v {
				w = v.WithFields(append([]Field(nil), v.Fields()...)...)
			}
			w.Fields()[i].Value = x
		}
	}
	items := old.Items()
	for i, item := range v.Items() {
		if i < len(items) && items[i] == item {
			continue
		}
		if x := s.relink(old.itemCounterpart(i, v), item); x != item {
			if w == v {
				w = v.WithItems(append([]Value(nil), v.Items()...)...)
			}
			w.Items()[i] = x
		}
	}
	return w
}

// changedFields appends the positions of the fields of v that differ from old. They are in the
// order in which kustomize visits them: the last change of a linked value takes precedence.
func (v Value) changedFields(order []int, old []Field) []int {
	fields := v.Fields()
	for i := sameFields(old, fields); i < len(fields); i++ {
		if i >= len(old) || old[i].Value != fields[i].Value || old[i].Key != fields[i].Key {
			order = append(order, i)
		}
	}
	if len(order) < 2 {
		return order
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(fields[a].Key, fields[b].Key) })
	return order
}

// change records that the linked value old became v in one place. If it has already changed in a
// different place, the last change takes precedence.
func (s *relinker) change(old, v Value) Value {
	prev, again := s.changed[old]
	switch {
	case !v.Exists(), again && v == prev:
		return v
	case again && v.typ == prev.typ && v.Text() == prev.Text() && v.IsScalar():
		return prev
	case v.typ == String:
		v = Linked(v.Text())
	}
	if s.changed == nil {
		s.changed = map[Value]Value{}
	}
	s.changed[old] = v
	if again && prev.is(linked) {
		s.changed[prev] = v
	}
	return v
}

// counterpart is Get for a key that is probably field i.
func (v Value) counterpart(i int, key string) Value {
	if fields := v.Fields(); i < len(fields) && fields[i].Key == key {
		return fields[i].Value
	}
	return v.Get(key)
}

// itemCounterpart returns the item of v that became item i of the list w. A merge may have moved
// it, so items are matched by name, or else by index if the lists are of equal length.
func (v Value) itemCounterpart(i int, w Value) Value {
	item := w.Items()[i]
	for _, key := range [][]string{{"name"}, {"metadata", "name"}} {
		if name := item.At(key...); name.Exists() {
			for _, old := range v.Items() {
				if old.At(key...).Equal(name) {
					return old
				}
			}
		}
	}
	if v.Len() == w.Len() {
		return v.Items()[i]
	}
	return Value{}
}

// Unlinked returns a copy of v without links, for use in a different place.
func (v Value) Unlinked() Value { return unlink(v) }
