package builtins

import (
	"slices"

	"github.com/krmflow/krmflow/krm"
)

// A nameIndex finds resources by the names that they had before they were renamed. It looks at the resources as they were
// when it was made, so that the order in which references are updated does not matter.
type nameIndex struct {
	items   []*krm.Resource
	byName  map[nameKey][]int32
	places  map[place]bool // nil until the first reference that names a namespace
	results map[resultKey]*group
}

// A nameKey selects resources by a previous name and, unless empty, their first and their current effective namespace.
type nameKey struct{ name, orig, cur string }

// A query is a reference: a name, the namespace that it mentions, as an original or a current one, and the kinds wanted.
type query struct {
	name, orig, cur string
	target, role    krm.GVK
}

type resultKey struct {
	query
	from reach
}

// A place is where resources of one original namespace are now: an effective namespace, "" for anywhere, or a literal one.
type place struct {
	orig, cur string
	literal   bool
}

func newNameIndex(list *krm.List) *nameIndex {
	x := &nameIndex{items: make([]*krm.Resource, list.Len()), byName: map[nameKey][]int32{}, results: map[resultKey]*group{}}
	for i, r := range list.All() {
		x.items[i] = r
		for name := range previousNames(r) {
			x.add(nameKey{name: name}, i)
			x.add(nameKey{name: name, cur: r.ID().EffectiveNamespace()}, i)
		}
	}
	return x
}

func (x *nameIndex) add(k nameKey, i int) { x.byName[k] = append(x.byName[k], int32(i)) }

// previousNames iterates over the distinct names that r had.
func previousNames(r *krm.Resource) func(func(string) bool) {
	return func(yield func(string) bool) {
		for i, id := range r.Prev {
			known := slices.ContainsFunc(r.Prev[:i], func(p krm.ID) bool { return p.Name == id.Name })
			if !known && !yield(id.Name) {
				return
			}
		}
	}
}

// renamed reports whether any resource ever had that name before.
func (x *nameIndex) renamed(name string) bool { return len(x.byName[nameKey{name: name}]) > 0 }

// indexPlaces adds what only references that name a namespace need.
func (x *nameIndex) indexPlaces() {
	if x.places != nil {
		return
	}
	x.places = map[place]bool{}
	for i, r := range x.items {
		orig, cur := r.OrigID().EffectiveNamespace(), r.ID().EffectiveNamespace()
		x.places[place{orig: orig}] = true
		x.places[place{orig: orig, cur: cur}] = true
		x.places[place{orig: orig, cur: r.ID().Namespace, literal: true}] = true
		for name := range previousNames(r) {
			x.add(nameKey{name, orig, ""}, i)
			x.add(nameKey{name, orig, cur}, i)
		}
	}
}

// hasOrigin reports whether a resource that from can refer to was in namespace ns originally.
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

// candidates returns the positions of the resources that q can mean when it is found in r, whose reach is from: if there
// are several, those whose prefixes and suffixes fit.
func (x *nameIndex) candidates(q query, from reach, r *krm.Resource) []int32 {
	base := x.base(q, from)
	const few = 8
	if len(base) <= few {
		found := x.filter(base, q, from)
		if len(found) > 1 {
			found = fitting(x.items, found, r)
		}
		return found
	}
	key := resultKey{q, from}
	found := x.results[key]
	if found == nil {
		found = &group{pos: x.filter(base, q, from)}
		x.results[key] = found
	}
	if len(found.pos) <= few {
		return fitting(x.items, found.pos, r)
	}
	return found.fitting(x.items, r)
}

// base returns the candidates by name and namespaces alone, in order.
func (x *nameIndex) base(q query, from reach) []int32 {
	if q.cur != "" || from.ns == krm.ClusterScope {
		return x.byName[nameKey{q.name, q.orig, q.cur}]
	}
	base := x.byName[nameKey{q.name, q.orig, from.ns}]
	base = merge(base, x.byName[nameKey{q.name, q.orig, krm.ClusterScope}])
	for ns := range from.accountNamespaces() {
		if ns == "" {
			ns = krm.DefaultNamespace
		}
		if ns != from.ns {
			base = merge(base, x.byName[nameKey{q.name, q.orig, ns}])
		}
	}
	return base
}

// merge returns the union of two sorted lists; it does not change them.
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

// filter returns the positions in base whose resources are of the kinds that q wants and in reach.
func (x *nameIndex) filter(base []int32, q query, from reach) []int32 {
	accept := func(i int32) bool {
		r := x.items[i]
		return wasSelected(r, q.target) && (q.role == krm.GVK{} || wasSelected(r, q.role)) && from.includes(r)
	}
	for n, i := range base {
		if accept(i) {
			continue
		}
		found := slices.Clone(base[:n])
		for _, i := range base[n+1:] {
			if accept(i) {
				found = append(found, i)
			}
		}
		return found
	}
	return base
}

// wasSelected reports whether selector selects one of the kinds that r had when it was renamed. It need not be the one that
// went with the name.
func wasSelected(r *krm.Resource, selector krm.GVK) bool {
	for i := range r.Prev {
		if selector.Selects(r.PrevID(i).GVK) {
			return true
		}
	}
	return false
}
