// Follows api/filters/nameref/nameref.go, api/resource/resource.go.

package builtins

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/krm"
)

// fitting returns the resources at pos whose name prefixes and suffixes fit those of r. Two lists
// fit if the shorter one is the end of the longer one. An empty list fits any list unless several
// resources remain. A single resource always fits.
func fitting(items []*krm.Resource, pos []int32, r *krm.Resource) []int32 {
	if len(pos) <= 1 {
		return pos
	}
	near := keep(nil, pos, func(i int32) bool { return nearAffixes(items[i], r) })
	if len(near) <= 1 {
		return near
	}
	return keep(nil, near, func(i int32) bool { return sameAffixes(items[i], r) })
}

func nearAffixes(a, b *krm.Resource) bool {
	near := func(s, t []string) bool { return len(s) == 0 || len(t) == 0 || sameEnd(s, t) }
	return near(a.Prefixes, b.Prefixes) && near(a.Suffixes, b.Suffixes)
}

func sameAffixes(a, b *krm.Resource) bool {
	return sameEnd(a.Prefixes, b.Prefixes) && sameEnd(a.Suffixes, b.Suffixes)
}

// sameEnd reports whether the shorter list is the end of the longer one. An empty list is the end
// of another empty list only.
func sameEnd(a, b []string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) == 0 {
		return len(b) == 0
	}
	return slices.Equal(a, b[len(b)-len(a):])
}

func keep(dst, pos []int32, ok func(int32) bool) []int32 {
	for _, i := range pos {
		if ok(i) {
			dst = append(dst, i)
		}
	}
	return dst
}

// A group is a long list of candidates common to many references, indexed by prefixes and
// suffixes. Without the index, a base used with a thousand prefixes would take quadratic time:
// each of its references occurs a thousand times and has a thousand candidates.
type group struct {
	pos      []int32
	prefixes affixIndex
	suffixes affixIndex
}

// fitting is like the function [fitting], but does not scan all of g.
func (g *group) fitting(items []*krm.Resource, r *krm.Resource) []int32 {
	if g.prefixes == nil {
		g.prefixes, g.suffixes = affixIndex{}, affixIndex{}
		for _, i := range g.pos {
			g.prefixes.add(items[i].Prefixes, i)
			g.suffixes.add(items[i].Suffixes, i)
		}
	}
	if len(r.Prefixes) == 0 && len(r.Suffixes) == 0 {
		// All candidates are near, so only candidates as bare as r can remain.
		return keep(nil, g.prefixes[affixKey{}], func(i int32) bool { return sameAffixes(items[i], r) })
	}
	near := g.pos
	if len(r.Prefixes) > 0 {
		near = g.prefixes.near(r.Prefixes)
	}
	if len(r.Suffixes) > 0 {
		if bySuffix := g.suffixes.near(r.Suffixes); len(bySuffix) < len(near) {
			near = bySuffix
		}
	}
	near = keep(nil, near, func(i int32) bool { return nearAffixes(items[i], r) })
	if len(near) > 1 {
		near = keep(nil, near, func(i int32) bool { return sameAffixes(items[i], r) })
	}
	slices.Sort(near)
	return near
}

// An affixIndex finds resources by their complete list of prefixes or suffixes, and by each end
// of that list.
type affixIndex map[affixKey][]int32

type affixKey struct {
	list string
	end  bool // list is an end of the resource's list, possibly all of it
}

func joinAffixes(list []string) string { return strings.Join(list, "\x00") }

func (x affixIndex) add(list []string, i int32) {
	whole := affixKey{list: joinAffixes(list)}
	x[whole] = append(x[whole], i)
	for n := range list {
		end := affixKey{joinAffixes(list[n:]), true}
		x[end] = append(x[end], i)
	}
}

// near returns the resources whose list is empty, is an end of list, or ends in list.
func (x affixIndex) near(list []string) []int32 {
	found := slices.Clone(x[affixKey{}])
	for n := 1; n < len(list); n++ {
		found = append(found, x[affixKey{list: joinAffixes(list[n:])}]...)
	}
	return append(found, x[affixKey{joinAffixes(list), true}]...)
}
