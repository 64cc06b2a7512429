// Package diff says how one list of resources becomes another one, as data: which resources are added, removed and changed, and of those that
// are changed, which fields. It is pure, and the same two lists always give the same changes.
//
// What is compared is the JSON form of the objects: how a file writes a value does not count. Items of lists are told apart by the merge keys of
// their schema; where there is none, by a field that all of them have and no two share; else by what they hold. A text that is YAML or JSON is
// opened up, any other text of several lines is compared line by line.
//
// Values of Secrets never get into the changes, nor passwords in addresses: there is only said that they differ.
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

// What says what has become of a resource.
type What string

// The things that may become of a resource.
const (
	Added   What = "added"
	Removed What = "removed"
	Changed What = "changed"
)

// Changes make a new list of an old one.
type Changes struct {
	// Resources are those that differ: first those that are gone, in the order of the old list, then the others in that of the new one.
	Resources []Resource
	// Moved are the positions in both lists of resources that are in another order, whether they have changed or not.
	Moved [][2]int
	// Same is how many resources have not changed.
	Same int
}

// Any reports whether anything has changed but the order of the resources.
func (c *Changes) Any() bool { return len(c.Resources) > 0 }

// A Resource is one that differs.
type Resource struct {
	What What
	// Old and New are its identities, and where it is on both sides: that of the other side is zero for one that is added or removed.
	Old, New Side
	// Before and After are the objects as they may be shown: what is hidden is replaced by a fixed text, which is another one where it differs.
	Before, After yaml.Value
	// Renamed tells that the name has another content hash at its end, and Base is the name without it. References that follow say so.
	Renamed bool
	Base    string
	// Edits are what has changed in it, in the order of the paths.
	Edits []Edit
}

// ID returns the identity by which people know the resource: the new one, if it has one.
func (r *Resource) ID() krm.ID {
	if r.What == Removed {
		return r.Old.ID
	}
	return r.New.ID
}

// A Side is a resource in one of the lists.
type Side struct {
	ID krm.ID
	// Pos is where its document starts, the zero Pos if nobody knows.
	Pos diag.Pos
	// At is its position in the list.
	At int
}

// Lists returns the changes from the list old to the list now. A nil list is empty. The values of
// Secrets in the lists and the texts of hide are not shown. hide may be nil, and is used only if
// the lists differ.
func Lists(old, now *krm.List, hide *secret.Set) *Changes {
	before, after := all(old), all(now)
	pairs, renames := match(before, after)
	d, c := differ{renames: renames, hide: hide}, &Changes{}
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
		} else if one, differs := d.resource(before[i], r); differs {
			one.Old.At, one.New.At = i, j
			c.Resources = append(c.Resources, one)
		} else {
			c.Same++
		}
	}
	for k, moved := range outOfOrder(pairs) {
		if moved {
			c.Moved = append(c.Moved, pairs[k])
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

// resource returns how one resource becomes another one.
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
	if d.renames[old.ID().Name] == now.ID().Name && old.ID().Name != now.ID().Name {
		r.Renamed, r.Base = true, Base(r.Old.ID.Name)
	}
	return r, true
}

// canonical returns the JSON form of a value.
func canonical(v yaml.Value) yaml.Value { return parseJSON(yaml.AppendJSON(nil, v)) }

// parseJSON reads what [yaml.AppendJSON] has written.
func parseJSON(text []byte) yaml.Value {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic(err) // a mistake of this program
	}
	return valueOf(v)
}

// valueOf returns what package json has decoded. Fields are sorted.
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

// match pairs the resources of two lists: positions in both, in the order of the second. renames are the names that have got another hash.
func match(before, after []*krm.Resource) (pairs [][2]int, renames map[string]string) {
	m := &matching{before: before, after: after, usedOld: make([]bool, len(before)), usedNew: make([]bool, len(after))}
	m.by(func(id krm.ID) krm.ID { return key(id, id.Group, id.Name) })
	m.by(func(id krm.ID) krm.ID { return key(id, "", id.Name) }) // a kind that has moved to another group
	hashed := len(m.pairs)
	m.by(func(id krm.ID) krm.ID {
		if name := Base(id.Name); name != "" {
			return key(id, "", name)
		}
		return krm.ID{}
	})
	renames = map[string]string{}
	for _, p := range m.pairs[hashed:] {
		renames[before[p[0]].ID().Name] = after[p[1]].ID().Name
	}
	slices.SortFunc(m.pairs, func(a, b [2]int) int { return cmp.Compare(a[1], b[1]) })
	return m.pairs, renames
}

// key returns what tells resources apart. Whether a kind has a namespace does not count: the two sides may know it from different schemas.
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
}

// by pairs what has equal keys and no partner yet, in order. The zero key has none.
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

// hashLength is how many characters a content hash in a name has, and hashAlphabet which.
const (
	hashLength   = 10
	hashAlphabet = "2456789bcdfghkmt"
)

// Base returns a name without the content hash at its end, "" if it has none.
func Base(name string) string {
	cut := len(name) - hashLength - 1
	if cut < 1 || name[cut] != '-' || strings.Trim(name[cut+1:], hashAlphabet) != "" {
		return ""
	}
	return name[:cut]
}
