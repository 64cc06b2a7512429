// Follows api/filters/replacement/replacement.go, kyaml/yaml/match.go.

package builtins

import (
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A tree is the editor's access to one kind of document tree. One implementation works on
// immutable values, the other on nodes, which preserve the style of a document embedded in a
// string.
type tree[T any] interface {
	// typ returns Seq, Map or Null, String for any other scalar, and None for anything else.
	typ(T) yaml.Type
	field(T, string) (T, bool)
	items(T) []T
	// withField and withItems return the tree with one field or all items replaced.
	withField(T, string, T) T
	withItems(T, []T) T
	// empty returns an empty mapping or list, or fresh("") for a scalar.
	empty(yaml.Type) T
	// fresh returns a scalar that takes its type from the text assigned to it.
	fresh(text string) T
	// plain returns a scalar with the type that text has when unquoted.
	plain(text string) T
	matches(*pathPart, T) bool
	// set returns the replacement for a field at the end of the path.
	set(T) (T, error)
	// within returns the number of fields at path in a document embedded in a scalar. It changes
	// nothing. After a wildcard or pattern, kustomize finds such fields but discards its changes
	// to them. It likewise discards fields that it adds to null.
	within(T, []pathPart) (int, error)
}

// An editor calls set of a tree for all fields at a path. It creates missing fields unless create
// is None.
type editor[T any] struct {
	tree[T]
	create yaml.Type // the type of a missing field at the end of a path
	lost   int       // number of matched or created fields whose changes kustomize loses
}

// edit returns n with the fields at path set, and the number of these fields.
func (e *editor[T]) edit(n T, path []pathPart) (T, int, error) {
	if len(path) == 0 {
		n, err := e.set(n)
		return n, 1, err
	}
	switch part := &path[0]; part.kind {
	case indexPart:
		return e.index(n, part.index, path[1:])
	case itemPart:
		return e.matching(n, part, path[1:])
	case everyPart:
		return e.every(n, path[1:])
	default:
		return e.key(n, part.text, path[1:])
	}
}

func (e *editor[T]) key(n T, key string, rest []pathPart) (T, int, error) {
	switch typ := e.typ(n); {
	case typ == yaml.Null && e.create == yaml.None:
		return n, 0, nil
	case typ == yaml.Null:
		return e.lose(n)
	case typ != yaml.Map || key == "":
		return n, 0, wrongType(yaml.Map, typ)
	}
	child, ok := e.field(n, key)
	switch {
	case !ok && e.create == yaml.None:
		return n, 0, nil
	case !ok:
		child = e.empty(e.kindBefore(rest))
	case len(rest) > 0 && e.typ(child) < yaml.Seq:
		count, err := e.within(child, rest)
		e.lost += count
		return n, count, err
	}
	child, count, err := e.edit(child, rest)
	if err != nil || count == 0 {
		return n, count, err
	}
	return e.withField(n, key, child), count, nil
}

// kindBefore returns the type of a new value that contains the rest of a path.
func (e *editor[T]) kindBefore(rest []pathPart) yaml.Type {
	switch {
	case len(rest) == 0:
		return e.create
	case rest[0].kind == indexPart || rest[0].kind == itemPart:
		return yaml.Seq
	}
	return yaml.Map
}

// lose counts a field added to null, which kustomize loses.
func (e *editor[T]) lose(n T) (T, int, error) {
	e.lost++
	return n, 1, nil
}

// list returns the items of a list, none for null.
func (e *editor[T]) list(n T) ([]T, error) {
	if typ := e.typ(n); typ != yaml.Seq && typ != yaml.Null {
		return nil, wrongType(yaml.Seq, typ)
	}
	return e.items(n), nil
}

func (e *editor[T]) index(n T, i int, rest []pathPart) (T, int, error) {
	items, err := e.list(n)
	if err != nil {
		return n, 0, err
	}
	if i == len(items) && e.create != yaml.None {
		if e.typ(n) == yaml.Null {
			return e.lose(n)
		}
		items = append(items[:i:i], e.empty(e.kindBefore(rest)))
	}
	if i >= len(items) {
		return n, 0, diag.ReplacementTargetField.Errorf("index %d is out of range for a list of length %d", i, len(items))
	}
	item, count, err := e.edit(items[i], rest)
	if err != nil || count == 0 {
		return n, count, err
	}
	items = append([]T(nil), items...)
	items[i] = item
	return e.withItems(n, items), count, nil
}

func (e *editor[T]) every(n T, rest []pathPart) (T, int, error) {
	return e.each(n, func(item T) (T, int, error) { return e.edit(item, rest) })
}

// each replaces the items of a list for which fn returns a positive count.
func (e *editor[T]) each(n T, fn func(T) (T, int, error)) (T, int, error) {
	old, err := e.list(n)
	if err != nil {
		return n, 0, err
	}
	var items []T
	total := 0
	for i, item := range old {
		item, count, err := fn(item)
		if err != nil {
			return n, 0, err
		}
		if count == 0 {
			continue
		}
		if total += count; items == nil {
			items = append([]T(nil), old...)
		}
		items[i] = item
	}
	if total == 0 {
		return n, 0, nil
	}
	return e.withItems(n, items), total, nil
}

func (e *editor[T]) matching(n T, part *pathPart, rest []pathPart) (T, int, error) {
	if part.err != nil {
		return n, 0, part.err
	}
	edited, count, err := e.each(n, func(item T) (T, int, error) { return e.matchingItem(item, part, rest) })
	if err != nil || count > 0 || e.create == yaml.None {
		return edited, count, err
	}
	if e.typ(n) == yaml.Null {
		return e.lose(n)
	}
	item, count, err := e.newItem(part, rest)
	if err != nil {
		return n, 0, err
	}
	if count == 0 {
		return n, 0, diag.BadFieldPath.Errorf("a new item for %s would not match it", part.text)
	}
	items := e.items(n)
	return e.withItems(n, append(items[:len(items):len(items)], item)), count, nil
}

// newItem makes the item that part describes, and edits it.
func (e *editor[T]) newItem(part *pathPart, rest []pathPart) (T, int, error) {
	value := e.plain(part.value)
	if part.key != "" {
		return e.matchingItem(e.withField(e.empty(yaml.Map), part.key, value), part, rest)
	}
	if !e.matches(part, value) {
		return value, 0, nil
	}
	return e.edit(e.fresh(part.value), nil)
}

// matchingItem edits item if it matches part. If part selects scalars by value, the item itself
// is the field and the rest of the path is ignored.
func (e *editor[T]) matchingItem(item T, part *pathPart, rest []pathPart) (T, int, error) {
	if part.key == "" {
		if !e.matches(part, item) {
			return item, 0, nil
		}
		return e.edit(item, nil)
	}
	if e.typ(item) != yaml.Map {
		return item, 0, nil
	}
	if value, ok := e.field(item, part.key); !ok || !e.matches(part, value) {
		return item, 0, nil
	}
	return e.edit(item, rest)
}
