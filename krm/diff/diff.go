// Package diff computes the changes between two lists of resources as data: the added, removed and
// changed resources, and the changed fields of each. It has no side effects, and its results are
// deterministic.
//
// Objects are compared in their JSON form, so the style of the YAML source makes no difference.
// List items are matched by the merge keys of their schema. Without merge keys, they are matched
// by a field that all items have and whose values are unique, and otherwise by content. A string
// that contains YAML or JSON is parsed and compared as a value. Any other multi-line string is
// compared line by line.
//
// The changes never contain values of Secrets or passwords in addresses. They only show that such
// values differ.
package diff

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// What is the kind of change to a resource.
type What string

// The kinds of changes.
const (
	Added   What = "added"
	Removed What = "removed"
	Changed What = "changed"
	// Relocated resources have a different namespace or name, in common with other resources. See
	// [Relocation]. They may have further changes.
	Relocated What = "moved"
)

// Changes are the differences between an old and a new list.
type Changes struct {
	// Resources are the resources that differ: first the removed ones in the order of the old
	// list, then the others in the order of the new list.
	Resources []Resource
	// Relocations are the moves of the resources with [Relocated].
	Relocations []Relocation
	// Reordered holds the positions in the old and the new list of resources whose order has
	// changed, whether or not their contents have.
	Reordered [][2]int
	// Same is the number of unchanged resources.
	Same int
}

// Any reports whether there is a change other than a change of order.
func (c *Changes) Any() bool { return len(c.Resources) > 0 }

// A Resource is a resource that differs.
type Resource struct {
	What What
	// Old and New identify the resource on both sides. Old is zero for an added resource, New for
	// a removed one.
	Old, New Side
	// Before and After are the objects with hidden values replaced by [secret.Hidden], or in After
	// by [HiddenChanged] where the value changed.
	Before, After yaml.Value
	// Renamed is true if the old and new names differ only in the content hash at the end. Base is
	// the name without the hash. Edits of references to the name have Follows set.
	Renamed bool
	Base    string
	// SameData is true for Secrets with equal content, which may be in data on one side and in
	// stringData on the other.
	SameData bool
	// Relocation is the index of the move in [Changes.Relocations], if What is [Relocated].
	Relocation int
	// Edits are the changed fields in path order.
	Edits []Edit
}

// Remains reports whether the resource has a change that moves do not explain.
func (r *Resource) Remains() bool {
	return r.What == Added || r.What == Removed || slices.ContainsFunc(r.Edits, func(e Edit) bool { return !e.Moves })
}

// ID returns the identity for messages: the new one, or the old one of a removed resource.
func (r *Resource) ID() krm.ID {
	if r.What == Removed {
		return r.Old.ID
	}
	return r.New.ID
}

// A Side is a resource in one of the two lists.
type Side struct {
	ID krm.ID
	// Pos is the start of the document, the zero Pos if unknown.
	Pos diag.Pos
	// At is its position in the list.
	At int
}

// Lists returns the changes from the list old to the list now. A nil list is empty. Values of
// Secrets in the lists and the texts of hide are not shown. hide may be nil, and is used only if
// the lists differ. Resources with a new namespace or name are removed and added.
func Lists(old, now *krm.List, hide *secret.Set) *Changes { return lists(old, now, hide, false) }

// ListsWithMoves is [Lists], but finds resources that have moved together: see [Relocation].
func ListsWithMoves(old, now *krm.List, hide *secret.Set) *Changes {
	return lists(old, now, hide, true)
}

func lists(old, now *krm.List, hide *secret.Set, findMoves bool) *Changes {
	before, after := all(old), all(now)
	m := match(before, after)
	d, c := differ{renames: m.renames, hide: hide}, &Changes{}
	moveOf := map[int]int{}
	if findMoves {
		c.Relocations, moveOf, d.moves = m.moves(hide)
	}
	pairs := m.sorted()
	paired := make([]int, len(after)) // position in before, plus one
	gone := make([]bool, len(before))
	for i := range gone {
		gone[i] = true
	}
	for _, p := range pairs {
		paired[p[1]], gone[p[0]] = p[0]+1, false
	}
	for i, r := range before {
		if gone[i] {
			c.Resources = append(c.Resources, Resource{What: Removed, Old: d.side(r, i), Before: d.hide.Show(canonical(r.Value()))})
		}
	}
	for j, r := range after {
		i := paired[j] - 1
		if i < 0 {
			c.Resources = append(c.Resources, Resource{What: Added, New: d.side(r, j), After: d.hide.Show(canonical(r.Value()))})
			continue
		}
		move, relocated := moveOf[j]
		d.relocated = relocated
		one, differs := d.resource(before[i], r)
		if !differs {
			c.Same++
			continue
		}
		one.Old.At, one.New.At = i, j
		if relocated {
			one.What, one.Relocation = Relocated, move
		}
		c.Resources = append(c.Resources, one)
	}
	for k, moved := range outOfOrder(pairs) {
		if moved {
			c.Reordered = append(c.Reordered, pairs[k])
		}
	}
	return c
}

func all(l *krm.List) (list []*krm.Resource) {
	if l != nil {
		for _, r := range l.All() {
			list = append(list, r)
		}
	}
	return list
}

func (d differ) side(r *krm.Resource, at int) Side {
	id := r.ID()
	id.Name, id.Namespace = d.hide.Name(id.Name), d.hide.Name(id.Namespace)
	return Side{id, r.Pos, at}
}

// resource returns the differences between the resources old and now, if any.
func (d differ) resource(old, now *krm.Resource) (r Resource, differs bool) {
	if old.Value().Equal(now.Value()) {
		return r, false
	}
	jsonOld, jsonNow := yaml.AppendJSON(nil, old.Value()), yaml.AppendJSON(nil, now.Value())
	if bytes.Equal(jsonOld, jsonNow) {
		return r, false
	}
	before, after := parseJSON(jsonOld), parseJSON(jsonNow)
	d.value(nil, before, after, now.Schema().For(schema.Kind(now.ID().GVK)), false)
	r = Resource{What: Changed, Old: d.side(old, 0), New: d.side(now, 0), Edits: d.edits, Before: masked(d.hide.Show(before), d.edits)}
	r.After = Apply(r.Before, marked(d.edits))
	r.SameData = isSecret(old.ID().GVK) && isSecret(now.ID().GVK) && maps.Equal(secretData(before), secretData(after))
	if d.renames[old.ID().Name] == now.ID().Name && old.ID().Name != now.ID().Name {
		r.Renamed, r.Base = true, Base(r.Old.ID.Name)
	}
	return r, true
}

// canonical returns the JSON form of v.
func canonical(v yaml.Value) yaml.Value { return parseJSON(yaml.AppendJSON(nil, v)) }

// parseJSON parses the output of [yaml.AppendJSON].
func parseJSON(text []byte) yaml.Value {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic(err) // a bug: the text is our own
	}
	return valueOf(v)
}

// valueOf converts a value decoded by encoding/json. Fields are sorted by key.
func valueOf(v any) yaml.Value {
	switch v := v.(type) {
	case bool:
		return yaml.BoolValue(v)
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return yaml.Number(yaml.Float, v.String())
		}
		return yaml.Number(yaml.Int, v.String())
	case string:
		return yaml.Str(v)
	case []any:
		items := make([]yaml.Value, len(v))
		for i, x := range v {
			items[i] = valueOf(x)
		}
		return yaml.SeqOf(items...)
	case map[string]any:
		fields := make([]yaml.Field, 0, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			fields = append(fields, yaml.Field{Key: key, Value: valueOf(v[key])})
		}
		return yaml.MapOf(fields...)
	}
	return yaml.NullValue
}

// Values returns the edits from the value old to the value now. node is the schema of the values.
// The texts of hide are not shown.
func Values(old, now yaml.Value, node schema.Node, hide *secret.Set) []Edit {
	d := differ{hide: hide}
	d.value(nil, canonical(old), canonical(now), node, false)
	return d.edits
}

// match pairs the resources of two lists by identity. The pairs are positions in before and after.
func match(before, after []*krm.Resource) *matching {
	m := &matching{before: before, after: after, usedOld: make([]bool, len(before)), usedNew: make([]bool, len(after)),
		renames: map[string]string{}}
	m.by(func(id krm.ID) krm.ID { return key(id, id.Group, id.Name) })
	// Match kinds that moved to a different group next.
	m.by(func(id krm.ID) krm.ID { return key(id, "", id.Name) })
	hashed := len(m.pairs)
	m.by(func(id krm.ID) krm.ID {
		if name := Base(id.Name); name != "" {
			return key(id, "", name)
		}
		return krm.ID{}
	})
	for _, p := range m.pairs[hashed:] {
		m.renames[before[p[0]].ID().Name] = after[p[1]].ID().Name
	}
	return m
}

// key returns the identity for matching. It ignores whether the kind is cluster-scoped, because
// the lists may come from builds with different schemas.
func key(id krm.ID, group, name string) krm.ID {
	if id.Namespace == krm.DefaultNamespace {
		id.Namespace = ""
	}
	return krm.ID{GVK: krm.GVK{Group: group, Kind: id.Kind}, Name: name, Namespace: id.Namespace}
}

type matching struct {
	before, after    []*krm.Resource
	usedOld, usedNew []bool
	pairs            [][2]int
	renames          map[string]string // old names to new names that differ only in the content hash
}

// sorted returns the pairs, sorted by position in the new list.
func (m *matching) sorted() [][2]int {
	slices.SortFunc(m.pairs, func(a, b [2]int) int { return cmp.Compare(a[1], b[1]) })
	return m.pairs
}

// by pairs unpaired resources with equal keys, in order. Resources with a zero key stay unpaired.
func (m *matching) by(key func(krm.ID) krm.ID) {
	waiting := map[krm.ID][]int{}
	for i, r := range m.before {
		if k := key(r.ID()); !m.usedOld[i] && k != (krm.ID{}) {
			waiting[k] = append(waiting[k], i)
		}
	}
	for j, r := range m.after {
		k := key(r.ID())
		if list := waiting[k]; !m.usedNew[j] && len(list) > 0 {
			waiting[k] = list[1:]
			m.usedOld[list[0]], m.usedNew[j] = true, true
			m.pairs = append(m.pairs, [2]int{list[0], j})
		}
	}
}

// hashLength is the length of a content hash in a name, and hashAlphabet its characters.
const (
	hashLength   = 10
	hashAlphabet = "2456789bcdfghkmt"
)

// Base returns name without the content hash at its end, "" if it has none.
func Base(name string) string {
	cut := len(name) - hashLength - 1
	if cut < 1 || name[cut] != '-' || strings.Trim(name[cut+1:], hashAlphabet) != "" {
		return ""
	}
	return name[:cut]
}
