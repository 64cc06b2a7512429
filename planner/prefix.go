package planner

import (
	"cmp"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// Compositions whose lists begin with the same items share the nodes of these. Such nodes need a name that does not depend on who
// is planned first: the beginning of a list is called after the Compositions whose lists, one behind the other, it is. Only
// Compositions count that items are declared or overridden in, so that a list which was written out has the same names.

// place says as which node an item is planned: as item at of the Composition of, behind the other lists that layer names.
type place struct {
	layer    string
	of       *composed
	at       int
	catalogs []catalogRef // where functions are searched
}

// maxJoined bounds of how many lists a name is made.
const maxJoined = 8

// beginning names the first items of a list by other lists, of which the last one need not be complete.
type beginning struct {
	lists []*composed
	late  bool // it takes a later item to know of the last one of lists
}

func (a beginning) compare(b beginning) int {
	if a.late != b.late {
		if b.late {
			return -1
		}
		return 1
	}
	last := func(x beginning) int { return len(x.lists[len(x.lists)-1].items) }
	if d := cmp.Or(cmp.Compare(len(a.lists), len(b.lists)), cmp.Compare(last(a), last(b))); d != 0 {
		return d
	}
	return cmp.Compare(a.layer(), b.layer())
}

func (a beginning) layer() string {
	files := make([]string, len(a.lists))
	for i, l := range a.lists {
		files[i] = l.file
	}
	return strings.Join(files, " + ")
}

// planned returns the place of each item of c, which is its own where no other list names it.
func (b *build) planned(c *composed) []place {
	if c.places != nil {
		return c.places
	}
	c.places = make([]place, len(c.items))
	for i := range c.items {
		c.places[i] = place{c.file, c, i, c.catalogs}
	}
	names := make([]beginning, len(c.items))
	complete := map[int][]*composed{0: nil} // the lists that come to so many items
	parts := b.parts(c)
	for start := range c.items {
		before, ok := complete[start]
		if !ok || len(before) == maxJoined {
			continue
		}
		for _, p := range parts[start] {
			way := beginning{lists: append(slices.Clip(before), p.composed)}
			c.nameAfter(way, names, start, p)
			if end := start + p.same; p.same == len(p.items) && (complete[end] == nil || len(complete[end]) > len(way.lists)) {
				complete[end] = way.lists
			}
		}
	}
	return c.places
}

// nameAfter calls the items of c that p has from start on after way, unless they have a better name. How functions are found must be
// the same for all lists that share them.
func (c *composed) nameAfter(way beginning, names []beginning, start int, p part) {
	all := composed{catalogs: way.lists[0].catalogs}
	for _, l := range way.lists[1:] {
		all.absorb(l)
	}
	layer, end := way.layer(), start+p.same
	if f := slices.IndexFunc(c.items[:end], (*item).isFunction); f >= 0 && !slices.Equal(c.searched(), all.searched()) {
		end = f
	}
	for i := start; i < end; i++ {
		way.late = i < p.first
		if names[i].lists == nil || way.compare(names[i]) < 0 {
			names[i] = way
			c.places[i] = place{layer, p.composed, i - start, all.catalogs}
		}
	}
}

// part is a list of which another one has the first items.
type part struct {
	*composed
	same  int // number of these items
	first int // index of the first item in the other list that tells of this one
}

// parts returns the lists that c may be made of, by the index of their first item in c.
func (b *build) parts(c *composed) map[int][]part {
	at := map[itemID]int{}
	for i, it := range c.items {
		at[it.id] = i
	}
	seen := map[string]bool{}
	parts := map[int][]part{}
	add := func(dir *loaders.Dir, i int) {
		if seen[dir.Real] {
			return
		}
		seen[dir.Real] = true
		in := b.composedIn(dir)
		if in == nil || in == c || in.failed || len(in.items) == 0 {
			return
		}
		start, ok := at[in.items[0].id]
		if !ok {
			return
		}
		p := part{composed: in, first: i}
		for p.same < len(in.items) && start+p.same < len(c.items) && in.items[p.same].same(c.items[start+p.same]) {
			p.same++
		}
		parts[start] = append(parts[start], p)
	}
	for i, it := range c.items {
		add(it.dir, i)
		for _, by := range it.changes {
			add(by.dir, i)
		}
	}
	return parts
}

// composedIn returns what the Composition in dir comes to, nil if there is none. It was consolidated before, unless an item of a
// list that was written out names it.
func (b *build) composedIn(dir *loaders.Dir) *composed {
	if c := b.c.composed[dir.Real]; c != nil {
		return c
	}
	defer dir.Close()
	src, composition, err := layerfile.Find(b.c.files, dir)
	if err != nil || !composition {
		return nil
	}
	return b.c.build().compose(dir, src)
}

// same reports whether two items are planned alike.
func (it *item) same(o *item) bool {
	if it == o {
		return true
	}
	sameChange := func(a, b change) bool { return a.dir.Real == b.dir.Real && a.file == b.file }
	return it.id == o.id && it.dir.Real == o.dir.Real && it.file == o.file && slices.EqualFunc(it.changes, o.changes, sameChange) && it.value.Equal(o.value)
}

// prefixKey tells apart what the items of a list up to one come to, after what was loaded before.
type prefixKey struct {
	layer  string
	last   int
	schema *schema.Schema
	set    bool
	loaded bool // whether that was so before, if an item brings a schema
}

// prefix is what the items of a list up to one come to.
type prefix struct {
	list   graph.NodeID
	config *builtins.Config
	vars   builtins.VarSet
	after  schemaState
	errs   diag.Mistakes // of that item
}

// shareItems makes the nodes of c, except those that other lists have made.
func (s *steps) shareItems(c *composed) {
	start, variant := s.schemaState, strings.TrimPrefix(s.prefix, s.k.Source.File)
	reused := false
	for _, p := range s.planned(c) {
		key := prefixKey{p.layer, p.at, start.schema, start.set, false}
		if s.reusePrefix(key) {
			reused = true
			continue
		}
		before := s.Errs.Len()
		p.layer += variant
		s.composed(p)
		key.loaded = start.loaded && s.set && !start.set
		s.c.draft.prefixes[key] = &prefix{s.list, s.config, s.vars, s.schemaState, s.Errs.Since(before)}
	}
	if reused {
		s.c.plan.Shared++
	}
}

// reusePrefix goes on after items that were compiled before, and reports false if they were not.
func (s *steps) reusePrefix(key prefixKey) bool {
	p := s.c.draft.prefixes[key]
	if s.loaded && (p == nil || p.after.set && !key.set) {
		key.loaded = true
		p = s.c.draft.prefixes[key]
	}
	if p == nil {
		return false
	}
	s.Errs.AddOnce(p.errs)
	s.list, s.hasList, s.config, s.vars = p.list, true, p.config, p.vars
	s.schema, s.set, s.loaded = p.after.schema, p.after.set, s.loaded || p.after.loaded
	return true
}
