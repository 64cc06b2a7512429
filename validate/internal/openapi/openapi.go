// Package openapi is what the OpenAPI documents of Kubernetes say about objects, of all releases since [Oldest]. It is a table that the
// linker lays out: nothing is decoded or allocated, neither when a process starts nor when something is looked up.
package openapi

import (
	"cmp"
	"iter"
	"slices"
)

//go:generate go run ../openapigen

// A What says what a [Node] stands for.
type What uint8

// What there is besides scalars of JSON are types whose meaning is in the code of Kubernetes.
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

// A Node is the schema of an object, a field or an item: a number.
type Node uint16

// The table: the release of a field or kind counts minor versions from Oldest, and forever is the one of what is still there.
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

// What returns what n stands for.
func (n Node) What() What { return nodes[n].what }

// Elem returns the schema of the items of a list or of the values of a map.
func (n Node) Elem() Node { return nodes[n].elem }

// Keys returns the fields that tell the items of a list apart, none if nothing does. The slice must not be changed.
func (n Node) Keys() []string { return keyLists[nodes[n].keys] }

// Values returns what a string may be, nil for any. The slice must not be changed.
func (n Node) Values() []string { return valueLists[nodes[n].value] }

// A Field is a field of an object, as some releases have it.
type Field struct {
	Name     string
	Node     Node
	Required bool
	// From and To are the first and the last minor version that have it so.
	From, To int
}

// Fields yields the fields of an object, in the order of their names. One that has changed occurs several times, the oldest first.
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

// A Kind is a kind of objects that API servers of some releases serve.
type Kind struct {
	Group, Version, Kind string
	Node                 Node
	// From and To are the first and the last minor version that serve it.
	From, To   int
	Namespaced bool
}

// Lookup returns a kind.
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
