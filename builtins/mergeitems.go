// Follows kyaml/yaml/walk/associative_sequence.go, kyaml/yaml/merge2/smpdirective.go.

package builtins

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// seqDirective returns the directive of a list, which is an item {$patch: ...}, and the list
// without that item. Only the first item with the key is examined. If it has further fields, the
// directive belongs to the item and not to the list.
func seqDirective(v yaml.Value) (directive, yaml.Value, error) {
	for _, item := range v.Items() {
		x := item.Get(directiveKey)
		if !x.Exists() {
			continue
		}
		if item.Len() > 1 {
			break
		}
		d, err := parseDirective(x)
		if err != nil {
			return d, v, err
		}
		items, err := setItem(v.Items(), yaml.Value{}, []string{directiveKey}, []string{x.Text()})
		return d, yaml.SeqOf(items...), err
	}
	return mergeDirective, v, nil
}

func atItem(i int, err error) error { return atStep(i, err) }

// maxItemSteps limits the steps of an [itemMerge], which grow with the square of the number of
// items.
const maxItemSteps = 1 << 26

// An itemMerge merges two lists item by item. It simulates kustomize's procedure, which modifies
// both lists while it reads them. A simpler algorithm would not do: with missing or duplicate
// keys, the result depends on every step of the procedure.
type itemMerge struct {
	m           *merger
	elem        schema.Node
	keys        []string // the merge keys; one empty key for a list of scalars
	dest, patch []yaml.Value
	same        bool // dest and patch are the same list, so any change to dest also changes patch
}

func newItemMerge(m *merger, dest, patch []yaml.Value, n schema.Node) *itemMerge {
	keys := n.MergeKeys()
	if len(keys) == 0 {
		keys = []string{""}
	}
	return &itemMerge{m: m, elem: n.Elem(), keys: keys, dest: slices.Clone(dest), patch: slices.Clone(patch)}
}

func (l *itemMerge) run() (yaml.Value, error) {
	ids := l.ids()
	if len(ids) == 0 {
		return yaml.SeqOf(l.dest...), nil
	}
	if len(ids)*(len(l.dest)+len(l.patch)) > maxItemSteps {
		return yaml.Value{}, diag.Limitf("lists of %d and %d items, some without a key, take too long to merge", len(l.dest), len(l.patch))
	}
	if len(l.keys) > 1 {
		unifyIDs(ids)
	}
	keys := usedKeys(ids, l.keys)
	var items []yaml.Value
	for i, id := range ids {
		values := valuesOf(id, l.keys, keys)
		item, err := l.item(id, keys, values)
		if err != nil {
			return yaml.Value{}, atItem(i, err)
		}
		if item.IsNull() || item.Type() == yaml.Map && item.Len() == 0 {
			if l.dest, err = setItem(l.dest, yaml.Value{}, keys, values); err != nil {
				return yaml.Value{}, err
			}
			continue
		}
		if items, err = setItem(items, item, keys, values); err != nil {
			return yaml.Value{}, err
		}
	}
	items, err := appendItems(items, l.dest, keys)
	return yaml.SeqOf(items...), err
}

// ids returns the distinct identities of all items, starting with those in the patch.
func (l *itemMerge) ids() [][]string {
	var ids [][]string
	seen := map[string]bool{}
	for i, list := range [][]yaml.Value{l.patch, l.dest} {
		if i == 1 && l.same {
			break
		}
		for _, item := range list {
			id := make([]string, len(l.keys))
			for j, key := range l.keys {
				if key == "" {
					id[j] = item.SourceText()
				} else {
					id[j] = item.Get(key).Text()
				}
			}
			if text := strings.Join(id, "\x00"); !seen[text] {
				seen[text] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// unifyIDs unifies identities that agree in at least one part and differ only where one of them
// is empty. For instance, a port without a protocol equals the port with the same number and any
// protocol.
func unifyIDs(ids [][]string) {
	for i := range ids {
		a := ids[i]
		for j := range ids {
			if u, ok := unify(a, ids[j]); ok {
				ids[i], ids[j] = u, u
			}
		}
	}
}

func unify(a, b []string) (u []string, ok bool) {
	for i := range a {
		switch {
		case a[i] == b[i]:
			ok = true
			u = append(u, a[i])
		case a[i] != "" && b[i] != "":
			return nil, false
		default:
			u = append(u, a[i]+b[i])
		}
	}
	return u, ok
}

// usedKeys returns the keys for which any of ids has a value, or all keys if there are none.
func usedKeys(ids [][]string, keys []string) []string {
	var used []string
	for i, key := range keys {
		if slices.ContainsFunc(ids, func(id []string) bool { return id[i] != "" }) {
			used = append(used, key)
		}
	}
	if used == nil {
		return keys
	}
	return used
}

// valuesOf returns the parts of id for a subset of keys.
func valuesOf(id, keys, subset []string) []string {
	var values []string
	for i, key := range keys {
		if slices.Contains(subset, key) {
			values = append(values, id[i])
		}
	}
	return values
}

// item merges the items with one identity and ensures that the result contains the keys.
func (l *itemMerge) item(id, keys, values []string) (yaml.Value, error) {
	own := usedKeys([][]string{id}, l.keys)
	ownValues := valuesOf(id, l.keys, own)
	di, pi := itemIndex(l.dest, own, ownValues), itemIndex(l.patch, own, ownValues)
	if l.same {
		pi = di
	}
	v, home, err := l.merge(di, pi)
	if err != nil {
		return v, err
	}
	for i, key := range keys {
		if v.Len() > 0 && values[i] != "" && !v.Get(key).Exists() {
			v = v.With(key, yaml.Plain(values[i]))
		}
	}
	if home != nil && v.Exists() {
		*home = v
	}
	return v, nil
}

// merge merges dest item di and patch item pi; -1 means none. The result belongs to the item home
// of one of the lists, which the caller must update. merge removes directives from the patch even
// if the item becomes empty.
func (l *itemMerge) merge(di, pi int) (v yaml.Value, home *yaml.Value, err error) {
	var dest, patch yaml.Value
	if di >= 0 {
		dest = l.dest[di]
	}
	if pi >= 0 && !l.same {
		patch = l.patch[pi]
	}
	switch {
	case di < 0 && pi < 0:
		return yaml.Value{}, nil, nil
	case l.same:
		v, err = l.m.settle(dest, l.elem)
		home, patch = &l.dest[di], dest
	case pi < 0:
		v, err = l.m.keep(dest, l.elem)
		return v, &l.dest[di], err
	case di < 0:
		v, err = l.m.add(patch, l.elem)
		home = &l.patch[pi]
	default:
		if v, err = l.m.merge(dest, patch, l.elem); dest.IsScalar() {
			return patch, nil, err
		}
		home = &l.dest[di]
		if d, _, _ := mapDirective(patch); d == replaceDirective {
			home = &l.patch[pi]
		}
	}
	if patch.Type() == yaml.Map && !l.same {
		if _, stripped, err := mapDirective(patch); err == nil {
			l.patch[pi] = stripped
		}
	} else if l.same && !v.Exists() {
		_, stripped, _ := mapDirective(patch)
		l.dest[di], home = stripped, nil
	}
	return v, home, err
}
