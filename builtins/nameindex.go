// Follows api/filters/nameref/nameref.go, api/resmap/reswrangler.go.

package builtins

import (
	"slices"

	"github.com/krmflow/krmflow/krm"
)

// A nameIndex finds resources by their previous names. It refers to the resources at the time of
// its creation, so the order in which references are updated does not matter.
type nameIndex struct {
	items []*krm.Resource
	names map[string]chain
	links []link
	// The fields below are filled on demand.
	scratch []int32
	parts   map[nameKey][]int32 // for names shared by many resources
	places  map[place]bool      // nil until the first reference that names a namespace
	results map[resultKey]*group
}

// A chain is the list of resources with one previous name, as indexes into links. Nearly all
// chains have one element, for which slices would waste memory.
type chain struct{ first, last, n int32 }

type link struct{ pos, next int32 }

// A nameKey selects resources by a previous name and, unless empty, by their original and current
// effective namespaces.
type nameKey struct{ name, orig, cur string }

// A query describes a reference: its name, the original or current namespace that it mentions,
// and the required kinds.
type query struct {
	name, orig, cur string
	target, role    krm.GVK
}

type resultKey struct {
	query
	from reach
}

// A place records where resources from the original namespace orig are now: in the effective
// namespace cur, or in the literal namespace cur if literal is set. An empty cur means anywhere.
type place struct {
	orig, cur string
	literal   bool
}

func newNameIndex(list *krm.List) *nameIndex {
	n := list.Len()
	x := &nameIndex{items: make([]*krm.Resource, n), names: make(map[string]chain, n), links: make([]link, 0, n)}
	for i, r := range list.All() {
		x.items[i] = r
		for _, id := range r.Prev {
			x.add(id.Name, int32(i))
		}
	}
	return x
}

// share returns an index of the same resources for use by another goroutine.
func (x *nameIndex) share() *nameIndex {
	return &nameIndex{items: x.items, names: x.names, links: x.links}
}

// add adds the resource pos to the chain of a previous name, once. Resources are added in order.
func (x *nameIndex) add(name string, pos int32) {
	c, ok := x.names[name]
	if ok && x.links[c.last].pos == pos {
		return
	}
	at := int32(len(x.links))
	x.links = append(x.links, link{pos, -1})
	if ok {
		x.links[c.last].next = at
	} else {
		c.first = at
	}
	x.names[name] = chain{c.first, at, c.n + 1}
}

// all returns the resources in c, in order. The slice is valid until the next call.
func (x *nameIndex) all(c chain) []int32 {
	x.scratch = x.scratch[:0]
	for at := c.first; at >= 0; at = x.links[at].next {
		x.scratch = append(x.scratch, x.links[at].pos)
	}
	return x.scratch
}

// indexPlaces fills x.places, which only references with a namespace need.
func (x *nameIndex) indexPlaces() {
	if x.places != nil {
		return
	}
	x.places = map[place]bool{}
	for _, r := range x.items {
		orig, cur := r.OrigID().EffectiveNamespace(), r.ID().EffectiveNamespace()
		x.places[place{orig: orig}] = true
		x.places[place{orig: orig, cur: cur}] = true
		x.places[place{orig: orig, cur: r.ID().Namespace, literal: true}] = true
	}
}

// hasOrigin reports whether a resource within the reach from was originally in namespace ns.
func (x *nameIndex) hasOrigin(ns string, from reach) bool {
	x.indexPlaces()
	switch {
	case ns == "" || ns == krm.ClusterScope:
		return false
	case from.ns == krm.ClusterScope:
		return x.places[place{orig: ns}]
	case x.places[place{orig: ns, cur: krm.ClusterScope}], x.places[place{orig: ns, cur: from.ns}]:
		return true
	}
	for account := range from.accountNamespaces() {
		if x.places[place{orig: ns, cur: account, literal: true}] {
			return true
		}
	}
	return false
}

// candidates returns the positions of the resources that q may refer to. The reference is in r,
// whose reach is from. If several resources qualify, candidates keeps those with fitting prefixes
// and suffixes. The slice is valid until the next call.
func (x *nameIndex) candidates(q query, from reach, r *krm.Resource) []int32 {
	c, ok := x.names[q.name]
	if !ok {
		return nil
	}
	const few = 16
	if c.n <= few {
		own := x.all(c)
		return fitting(x.items, x.filter(own[:0], own, q, from), r)
	}
	key := resultKey{q, from}
	found := x.results[key]
	if found == nil {
		found = &group{pos: x.filter(nil, x.part(c, q, from), q, from)}
		if x.results == nil {
			x.results = map[resultKey]*group{}
		}
		x.results[key] = found
	}
	if len(found.pos) <= few {
		return fitting(x.items, found.pos, r)
	}
	return found.fitting(x.items, r)
}

// part returns the resources in c, a long chain, in the namespaces selected by q and from, in
// order.
func (x *nameIndex) part(c chain, q query, from reach) []int32 {
	x.divide(q.name, c)
	if q.cur != "" || from.ns == krm.ClusterScope {
		return x.parts[nameKey{q.name, q.orig, q.cur}]
	}
	part := x.parts[nameKey{q.name, q.orig, from.ns}]
	part = merge(part, x.parts[nameKey{q.name, q.orig, krm.ClusterScope}])
	for ns := range from.accountNamespaces() {
		if ns == "" {
			ns = krm.DefaultNamespace
		}
		if ns != from.ns {
			part = merge(part, x.parts[nameKey{q.name, q.orig, ns}])
		}
	}
	return part
}

// divide groups the resources in c by their namespaces.
func (x *nameIndex) divide(name string, c chain) {
	if x.parts == nil {
		x.parts = map[nameKey][]int32{}
	}
	if x.parts[nameKey{name: name}] != nil {
		return
	}
	for _, i := range x.all(c) {
		r := x.items[i]
		orig, cur := r.OrigID().EffectiveNamespace(), r.ID().EffectiveNamespace()
		for _, k := range [...]nameKey{{name, "", ""}, {name, "", cur}, {name, orig, ""}, {name, orig, cur}} {
			x.parts[k] = append(x.parts[k], i)
		}
	}
}

// merge returns the union of two sorted lists, without changing them.
func merge(a, b []int32) []int32 {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	union := slices.Concat(a, b)
	slices.Sort(union)
	return slices.Compact(union)
}

// filter appends to dst the resources in list that have the kinds and namespaces of q and are
// within reach. If all of them do, it returns list itself.
func (x *nameIndex) filter(dst, list []int32, q query, from reach) []int32 {
	accept := func(i int32) bool {
		r := x.items[i]
		return wasSelected(r, q.target) && (q.role == krm.GVK{} || wasSelected(r, q.role)) && from.includes(r) &&
			(q.orig == "" || q.orig == r.OrigID().EffectiveNamespace()) && (q.cur == "" || q.cur == r.ID().EffectiveNamespace())
	}
	for _, i := range list {
		if !accept(i) {
			return keep(dst, list, accept)
		}
	}
	return list
}

// wasSelected reports whether selector selects one of the previous kinds of r. It need not be the
// kind from the same time as the matching name.
func wasSelected(r *krm.Resource, selector krm.GVK) bool {
	for i := range r.Prev {
		if selector.Selects(r.PrevID(i).GVK) {
			return true
		}
	}
	return false
}
