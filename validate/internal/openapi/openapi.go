// Package openapi holds the schemas of all Kubernetes releases since [Oldest], taken from their
// OpenAPI documents. The schemas are one table in the data segment of the program, so neither
// startup nor a lookup decodes or allocates anything.
package openapi

import (
	"cmp"
	"iter"
	"slices"
)

//go:generate go run ../openapigen

// A What is the type of the values that a [Node] describes.
type What uint8

// The types of values. Bytes, Time, Quantity and IntOrString are defined only by the code of
// Kubernetes.
const (
	Any What = iota
	Object
	Map
	List
	String
	Bool
	Int32
	Int64
	Number
	Bytes // base64
	Time  // RFC 3339
	Quantity
	IntOrString
)

// A Node is the schema of an object, a field or an item: an index into the table.
type Node uint16

// The rows of the table. Releases are minor versions counted from Oldest. A field with to = 255
// still exists in the newest release.
type (
	node struct {
		what        What
		first       uint16
		count       uint8
		elem        Node
		keys, value uint8
	}
	field struct {
		name     uint16
		node     Node
		from, to uint8
		required bool
	}
	kind struct {
		kind, group, version string
		node                 Node
		from, to             uint8
		namespaced           bool
	}
)

// What returns the type of the values that n describes.
func (n Node) What() What { return nodes[n].what }

// Elem returns the schema of the items of a list or of the values of a map.
func (n Node) Elem() Node { return nodes[n].elem }

// Keys returns the fields that identify the items of a list. It is empty if the items have no
// identity. The caller must not change the slice.
func (n Node) Keys() []string { return keyLists[nodes[n].keys] }

// Values returns the allowed values of a string, nil if all are allowed. The caller must not
// change the slice.
func (n Node) Values() []string { return valueLists[nodes[n].value] }

// A Field is a field of an object in a range of releases.
type Field struct {
	Name     string
	Node     Node
	Required bool
	// From and To are the first and the last minor version that have this form of the field.
	From, To int
}

// Fields yields the fields of an object, sorted by name. A field that has changed between
// releases occurs several times, the oldest form first.
func (n Node) Fields() iter.Seq[Field] {
	return func(yield func(Field) bool) {
		t := &nodes[n]
		for _, f := range fields[t.first : int(t.first)+int(t.count)] {
			if !yield(Field{names[f.name], f.node, f.required, Oldest + int(f.from), min(Oldest+int(f.to), Newest)}) {
				return
			}
		}
	}
}

// A Kind is a kind of objects served by the API servers of a range of releases.
type Kind struct {
	Group, Version, Kind string
	Node                 Node
	// From and To are the first and the last minor version that serve the kind.
	From, To   int
	Namespaced bool
}

// Lookup returns a kind, and false if no release since [Oldest] has it.
func Lookup(group, version, name string) (Kind, bool) {
	i, ok := slices.BinarySearchFunc(kinds[:], kind{kind: name, group: group, version: version}, func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.group, b.group), cmp.Compare(a.version, b.version))
	})
	if !ok {
		return Kind{}, false
	}
	return kinds[i].exported(), true
}

// Kinds yields all kinds, sorted by kind, group and version.
func Kinds() iter.Seq[Kind] {
	return func(yield func(Kind) bool) {
		for i := range kinds {
			if !yield(kinds[i].exported()) {
				return
			}
		}
	}
}

func (k *kind) exported() Kind {
	return Kind{k.group, k.version, k.kind, k.node, Oldest + int(k.from), Oldest + int(k.to), k.namespaced}
}
