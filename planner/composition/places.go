package composition

import (
	"cmp"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/layerfile"
	"github.com/krmflow/krmflow/planner/report"
)

// Compositions whose lists begin with the same items share the nodes of these. Such nodes need a name that does not depend on who
// is planned first: the beginning of a list is called after the Compositions whose lists, one behind the other, it is. Only
// Compositions count that items are declared or overridden in, so that a list which was written out has the same names.

// A Place says as which node an item is planned: as item At of the list Of, behind the other lists that Layer names.
type Place struct {
	Layer    string
	Of       *List
	At       int
	Catalogs []catalog.Listed // where functions are searched
}

// maxJoined bounds of how many lists a name is made.
const maxJoined = 8

// beginning names the first items of a list by other lists, of which the last one need not be complete.
type beginning struct {
	lists []*List
	late  bool // it takes a later item to know of the last one of lists
}

func (a beginning) compare(b beginning) int {
	if a.late != b.late {
		if b.late {
			return -1
		}
		return 1
	}
	last := func(x beginning) int { return len(x.lists[len(x.lists)-1].Items) }
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

// Places returns the place of each item of c, which is its own where no other list names it. Warnings of Compositions that have to be
// read for that are added to w.
func (s *Set) Places(c *List, w *report.Warnings) []Place {
	if c.places != nil {
		return c.places
	}
	c.places = make([]Place, len(c.Items))
	for i := range c.Items {
		c.places[i] = Place{c.file, c, i, c.Catalogs}
	}
	names := make([]beginning, len(c.Items))
	complete := map[int][]*List{0: nil} // the lists that come to so many items
	parts := s.parts(c, w)
	for start := range c.Items {
		before, ok := complete[start]
		if !ok || len(before) == maxJoined {
			continue
		}
		for _, p := range parts[start] {
			way := beginning{lists: append(slices.Clip(before), p.List)}
			c.nameAfter(way, names, start, p)
			if end := start + p.same; p.same == len(p.Items) && (complete[end] == nil || len(complete[end]) > len(way.lists)) {
				complete[end] = way.lists
			}
		}
	}
	return c.places
}

// nameAfter calls the items of c that p has from start on after way, unless they have a better name. How functions are found must be
// the same for all lists that share them.
func (c *List) nameAfter(way beginning, names []beginning, start int, p part) {
	all := List{Catalogs: way.lists[0].Catalogs}
	for _, l := range way.lists[1:] {
		all.absorb(l)
	}
	layer, end := way.layer(), start+p.same
	if f := slices.IndexFunc(c.Items[:end], (*Item).isFunction); f >= 0 && !slices.Equal(c.searched(), all.searched()) {
		end = f
	}
	for i := start; i < end; i++ {
		way.late = i < p.first
		if names[i].lists == nil || way.compare(names[i]) < 0 {
			names[i] = way
			c.places[i] = Place{layer, p.List, i - start, all.Catalogs}
		}
	}
}

// part is a list of which another one has the first items.
type part struct {
	*List
	same  int // number of these items
	first int // index of the first item in the other list that tells of this one
}

// parts returns the lists that c may be made of, by the index of their first item in c.
func (s *Set) parts(c *List, w *report.Warnings) map[int][]part {
	at := map[ID]int{}
	for i, it := range c.Items {
		at[it.ID] = i
	}
	seen := map[string]bool{}
	parts := map[int][]part{}
	add := func(dir *loaders.Dir, i int) {
		if seen[dir.Real] {
			return
		}
		seen[dir.Real] = true
		in := s.in(dir, w)
		if in == nil || in == c || in.Failed || len(in.Items) == 0 {
			return
		}
		start, ok := at[in.Items[0].ID]
		if !ok {
			return
		}
		p := part{List: in, first: i}
		for p.same < len(in.Items) && start+p.same < len(c.Items) && in.Items[p.same].same(c.Items[start+p.same]) {
			p.same++
		}
		parts[start] = append(parts[start], p)
	}
	for i, it := range c.Items {
		add(it.Dir, i)
		for _, by := range it.changes {
			add(by.dir, i)
		}
	}
	return parts
}

// in returns what the Composition in dir comes to, nil if there is none. It was consolidated before, unless an item of a
// list that was written out names it.
func (s *Set) in(dir *loaders.Dir, w *report.Warnings) *List {
	if l := s.lists[dir.Key()]; l != nil {
		return l
	}
	defer dir.Close()
	src, composition, err := layerfile.Find(s.files, dir)
	if err != nil || !composition {
		return nil
	}
	return s.Consolidate(dir, src, nil, &report.Reporter{Warnings: w})
}

// same reports whether two items are planned alike.
func (it *Item) same(o *Item) bool {
	if it == o {
		return true
	}
	sameChange := func(a, b change) bool { return a.dir.Real == b.dir.Real && a.file == b.file }
	return it.ID == o.ID && it.Dir.Real == o.Dir.Real && it.file == o.file && slices.EqualFunc(it.changes, o.changes, sameChange) && it.Value.Equal(o.Value)
}
