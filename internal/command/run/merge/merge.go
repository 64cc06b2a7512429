// Package merge merges newly generated resources with the edits that people made to earlier
// versions.
package merge

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Conflict is a field that the user and the function changed in different ways.
type Conflict struct {
	Path []any
	// Mine is the value in the file and Theirs the generated value, each on one line.
	Mine, Theirs string
}

// Three merges the three versions of a generated resource: base is the version generated last
// time, mine the version in the file, and theirs the version generated now. A change on one
// side only is kept. Without a known base, theirs takes precedence and fields that exist only
// in mine stay.
//
// Mappings are merged field by field. Lists are merged item by item if their items have a
// unique key, see [mergeKey], because indexes change when either side inserts an item. Any
// other value is replaced as a whole. On a conflict the result keeps mine; the caller decides
// whether a conflict is an error.
func Three(base, mine, theirs yaml.Value, known bool) (yaml.Value, []Conflict) {
	m := &merger{known: known}
	for _, v := range []yaml.Value{mine, theirs} {
		for x := range secret.Values(v) {
			m.values = append(m.values, x.Text())
		}
	}
	return m.merge(nil, base, mine, theirs), m.conflicts
}

type merger struct {
	known     bool
	values    []string // Secret values
	conflicts []Conflict
}

func same(a, b yaml.Value) bool {
	if a.Exists() != b.Exists() {
		return false
	}
	_, same := yaml.Unchanged(a, b)
	return same
}

// isBase reports whether v equals base.
func (m *merger) isBase(base, v yaml.Value) bool { return m.known && remembers(base, v) }

func (m *merger) merge(path []any, base, mine, theirs yaml.Value) yaml.Value {
	switch {
	case same(mine, theirs), m.isBase(base, theirs):
		return mine
	case m.isBase(base, mine):
		return theirs
	case mine.Type() == yaml.Map && theirs.Type() == yaml.Map:
		return m.fields(path, base, mine, theirs)
	}
	if mine.Type() == yaml.Seq && theirs.Type() == yaml.Seq {
		if key := mergeKey(base, mine, theirs); key != "" {
			return m.items(path, key, base, mine, theirs)
		}
	}
	if !m.known {
		if theirs.Exists() {
			return theirs
		}
		return mine
	}
	m.conflicts = append(m.conflicts, Conflict{slices.Clone(path), m.show(mine), m.show(theirs)})
	return mine
}

func (m *merger) fields(path []any, base, mine, theirs yaml.Value) yaml.Value {
	var fields []yaml.Field
	add := func(key string) {
		v := m.merge(append(slices.Clip(path), key), base.Get(key), mine.Get(key), theirs.Get(key))
		if v.Exists() {
			fields = append(fields, yaml.Field{Key: key, Value: v})
		}
	}
	for _, f := range mine.Fields() {
		add(f.Key)
	}
	for _, f := range theirs.Fields() {
		if !mine.Get(f.Key).Exists() {
			add(f.Key)
		}
	}
	return yaml.MapOf(fields...)
}

// keys are the fields that identify list items, as in Kubernetes.
var keys = []string{"name", "mountPath", "devicePath", "containerPort", "port", "key", "ip", "topologyKey", "uid", "type"}

// mergeKey returns a field that all items have and that is unique within each list, or "".
func mergeKey(lists ...yaml.Value) string {
	for _, key := range keys {
		if !slices.ContainsFunc(lists, func(l yaml.Value) bool { return !isKey(l, key) }) {
			return key
		}
	}
	return ""
}

func isKey(list yaml.Value, key string) bool {
	seen := map[string]bool{}
	for _, x := range list.Items() {
		k := x.Get(key)
		if !k.IsScalar() || seen[k.Text()] {
			return false
		}
		seen[k.Text()] = true
	}
	return true
}

func find(list yaml.Value, key, text string) (int, yaml.Value) {
	for i, x := range list.Items() {
		if x.Get(key).Text() == text {
			return i, x
		}
	}
	return -1, yaml.Value{}
}

func (m *merger) items(path []any, key string, base, mine, theirs yaml.Value) yaml.Value {
	items := []yaml.Value{}
	add := func(i int, x yaml.Value) {
		text := x.Get(key).Text()
		_, b := find(base, key, text)
		_, a := find(mine, key, text)
		_, t := find(theirs, key, text)
		if v := m.merge(append(slices.Clip(path), i), b, a, t); v.Exists() {
			items = append(items, v)
		}
	}
	for i, x := range mine.Items() {
		add(i, x)
	}
	for _, x := range theirs.Items() {
		if i, _ := find(mine, key, x.Get(key).Text()); i < 0 {
			add(mine.Len(), x)
		}
	}
	return yaml.SeqOf(items...)
}

// show returns a value for a message.
func (m *merger) show(v yaml.Value) string {
	const most = 60
	switch {
	case !v.Exists():
		return "nothing"
	case m.hides(v):
		return "a value that is not shown"
	}
	text := strings.TrimSpace(string(yaml.AppendJSON(nil, v)))
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "..."
	}
	return text
}

// hides reports whether v contains the value of a Secret.
func (m *merger) hides(v yaml.Value) bool {
	switch v.Type() {
	case yaml.Map:
		return slices.ContainsFunc(v.Fields(), func(f yaml.Field) bool { return m.hides(f.Value) })
	case yaml.Seq:
		return slices.ContainsFunc(v.Items(), m.hides)
	}
	return slices.ContainsFunc(m.values, func(x string) bool { return x != "" && strings.Contains(v.Text(), x) })
}
