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

// Compositions whose lists begin with the same items share the nodes of these items. The names of
// shared nodes must not depend on the Composition that is planned first. The beginning of a list
// is therefore named after the Compositions whose lists, in sequence, it consists of. Only
// Compositions that declare or override items are considered, so that a list that was written out
// has the same names.

// A Place identifies the node of an item: item At of the list Of, after the other lists that
// Layer names.
type Place struct {
	Layer    string
	Of       *List
	At       int
	Catalogs []catalog.Listed // searched for functions
}

// maxJoined limits the number of lists in a name.
const maxJoined = 8

// A beginning describes the first items of a list as a sequence of other lists. The last one may
// be incomplete.
type beginning struct {
	lists []*List
	late  bool // the last of lists is only discovered through a later item
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

// Places returns the place of each item of c. It is the item's own unless another list names it.
// Warnings of Compositions read for this purpose are added to w.
func (s *Set) Places(c *List, w *report.Warnings) []Place {
	if c.places != nil {
		return c.places
	}
	c.places = make([]Place, len(c.Items))
	for i := range c.Items {
		c.places[i] = Place{c.file, c, i, c.Catalogs}
	}
	names := make([]beginning, len(c.Items))
	// complete has the shortest sequences of lists, by their total number of items.
	complete := map[int][]*List{0: nil}
	parts := s.parts(c, w)
	function := slices.IndexFunc(c.Items, (*Item).isFunction)
	for start := range c.Items {
		before, ok := complete[start]
		if !ok || len(before) == maxJoined {
			continue
		}
		for _, p := range parts[start] {
			if end := start + p.same; p.same == len(p.Items) && (complete[end] == nil || len(complete[end]) > len(before)+1) {
				complete[end] = append(slices.Clip(before), p.List)
			}
		}
		// Skip items that an earlier part has named, because a later part is never better. In a
		// chain of imports, each part contains all earlier parts.
		slices.SortFunc(parts[start], part.compare)
		named, low, high := start, start, start // late names end at named; the others are in [low, high)
		for _, p := range parts[start] {
			way := beginning{lists: append(slices.Clip(before), p.List)}
			catalogs := way.catalogs()
			end := start + p.same
			if function >= 0 && function < end && !slices.Equal(c.searched(), catalogs.searched()) {
				end = function
			}
			late, from := way, max(start, p.first)
			late.late = true
			c.name(late, names, start, named, min(from, end), catalogs.Catalogs)
			if from < low || from > high {
				low, high = from, from
			}
			c.name(way, names, start, high, end, catalogs.Catalogs)
			named, high = max(named, end), max(high, end)
		}
	}
	return c.places
}

// catalogs returns a list with the catalogs of all lists of a.
func (a beginning) catalogs() *List {
	all := &List{Catalogs: a.lists[0].Catalogs}
	for _, l := range a.lists[1:] {
		all.absorb(l)
	}
	return all
}

// name names the items of c from one index to another after way, unless they have a better name.
// The last list of way begins at start.
func (c *List) name(way beginning, names []beginning, start, from, to int, catalogs []catalog.Listed) {
	if from >= to {
		return
	}
	layer, last := way.layer(), way.lists[len(way.lists)-1]
	for i := from; i < to; i++ {
		if names[i].lists == nil || way.compare(names[i]) < 0 {
			names[i] = way
			c.places[i] = Place{layer, last, i - start, catalogs}
		}
	}
}

// A part is a list whose first items are also in another list.
type part struct {
	*List
	same  int // number of these items
	first int // index of the first item in the other list that refers to this list
}

func (p part) compare(o part) int {
	return cmp.Or(cmp.Compare(len(p.Items), len(o.Items)), cmp.Compare(p.file, o.file))
}

// parts returns the lists that may be part of c, by the index of their first item in c.
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
		if &in.Items[0] == &c.Items[start] { // a shared slice: see joined
			p.same = min(len(in.Items), len(c.Items)-start)
		}
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

// in returns the consolidated Composition in dir, nil if there is none. It was consolidated
// before, unless it is named only by an item of a list that was written out.
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

// same reports whether two items have the same plan.
func (it *Item) same(o *Item) bool {
	if it == o {
		return true
	}
	sameChange := func(a, b change) bool { return a.dir.Real == b.dir.Real && a.file == b.file }
	return it.ID == o.ID && it.Dir.Real == o.Dir.Real && it.file == o.file && slices.EqualFunc(it.changes, o.changes, sameChange) &&
		it.Value.Equal(o.Value)
}
