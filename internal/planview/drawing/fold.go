package drawing

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// unfolded is how many boxes are drawn one by one: as many as can be looked at together. More than crowded are folded in any way.
	unfolded = 24
	crowded  = 100
	// leastAlike is how many layers that are alike become one box, and longestChain how many that are used by one another.
	leastAlike   = 3
	longestChain = 4
)

// fold makes one part of several, if there are many: first of those that nothing uses and that use the same in the same ways, then of
// chains, and at last of all that have alike places.
func (p parts) fold() parts {
	if len(p.list) > unfolded {
		p = p.joined(p.alike(false))
	}
	if len(p.list) > unfolded {
		p = p.joined(p.chains())
	}
	if len(p.list) > crowded {
		p = p.joined(p.alike(true))
	}
	return p
}

// alike returns for each part the first one that it is like: that does the same with the same for the same users. What is private to a
// part, because it alone uses that, is the same if it is alike. Without deep only parts that nothing uses are compared, and nothing is private.
func (p parts) alike(deep bool) []int {
	in, out := make([][]edge, len(p.list)), make([][]edge, len(p.list))
	for _, e := range p.edges {
		in[e.to], out[e.from] = append(in[e.to], e), append(out[e.from], e)
	}
	does := p.does(in, func(i int) bool { return deep && len(out[i]) == 1 })
	into := p.apart()
	for _, level := range levels(out) {
		members, keys := map[string][]int{}, []string{}
		for _, i := range level {
			var users []string
			for _, e := range out[i] {
				users = append(users, fmt.Sprint(into[e.to], e.ways))
			}
			slices.Sort(users)
			key := fmt.Sprint(does[i], slices.Compact(users))
			if members[key] == nil {
				keys = append(keys, key)
			}
			members[key] = append(members[key], i)
		}
		for _, key := range keys {
			if list := members[key]; len(list) >= leastAlike {
				for _, i := range list {
					into[i] = list[0]
				}
			}
		}
		if !deep {
			break
		}
	}
	return into
}

// does returns for each part a number that is the same for those that do the same with the same.
func (p parts) does(in [][]edge, private func(int) bool) []int {
	numbers, does := map[string]int{}, make([]int, len(p.list))
	for i, part := range p.list {
		var from []string
		for _, e := range in[i] {
			if private(e.from) {
				from = append(from, fmt.Sprint("like ", does[e.from], e.ways))
			} else {
				from = append(from, fmt.Sprint(e.from, e.ways))
			}
		}
		slices.Sort(from)
		if len(part.names) > 1 {
			from = append(from, part.names[0]) // it is folded already
		}
		key := fmt.Sprint(part.kind, part.roots, from)
		for _, s := range part.steps {
			key += "\n" + s.like
		}
		if _, ok := numbers[key]; !ok {
			numbers[key] = len(numbers)
		}
		does[i] = numbers[key]
	}
	return does
}

// levels returns the parts by how far they are from those that nothing uses, these first.
func levels(out [][]edge) (all [][]int) {
	level := make([]int, len(out))
	for i := len(out) - 1; i >= 0; i-- {
		for _, e := range out[i] {
			level[i] = max(level[i], level[e.to]+1)
		}
		for len(all) <= level[i] {
			all = append(all, nil)
		}
		all[level[i]] = append(all[level[i]], i)
	}
	for _, l := range all {
		slices.Sort(l)
	}
	return all
}

// chains returns for each layer the one that it is used by, at the end of a chain in which each has one user and uses one, as a resource.
func (p parts) chains() []int {
	in, out := make([]int, len(p.list)), make([]int, len(p.list))
	for _, e := range p.edges {
		in[e.to]++
		out[e.from]++
	}
	into, length := p.apart(), make([]int, len(p.list))
	for i := len(p.edges) - 1; i >= 0; i-- {
		e := p.edges[i]
		from, to := &p.list[e.from], &p.list[e.to]
		if in[e.to] != 1 || out[e.from] != 1 || e.stroke() != solid || from.kind != to.kind || len(from.names) > 1 || len(to.names) > 1 || len(to.steps) > 0 {
			continue
		}
		if top := into[e.to]; length[top] < longestChain-1 {
			into[e.from] = top
			length[top]++
			p.list[top].chain = true
		}
	}
	return into
}

// apart returns for each part itself.
func (p parts) apart() []int {
	into := make([]int, len(p.list))
	for i := range into {
		into[i] = i
	}
	return into
}

// joined makes one part of those that into gives the same number.
func (p parts) joined(into []int) parts {
	number := make([]int, len(p.list))
	for i := range number {
		number[i] = -1
	}
	var out parts
	for i, part := range p.list {
		if chain := p.list[into[i]].chain; number[into[i]] < 0 {
			number[into[i]] = len(out.list)
			part.chain, part.steps = chain, slices.Clone(part.steps)
			out.list = append(out.list, part)
			continue
		}
		to := &out.list[number[into[i]]]
		if to.chain { // what uses the others stands behind them in the list
			to.names, to.tips, to.tally = append(part.names, to.names...), append(part.tips, to.tips...), append(part.tally, to.tally...)
		} else {
			to.names, to.tips, to.tally = append(to.names, part.names...), append(to.tips, part.tips...), append(to.tally, part.tally...)
		}
		to.roots += part.roots
		for j, s := range part.steps {
			if first := &to.steps[j]; first.text != s.text {
				first.text = cut(first.like, lineWidth-2) + " …"
			}
		}
	}
	for i := range into {
		number[i] = number[into[i]]
	}
	for _, e := range p.edges {
		if from, to := number[e.from], number[e.to]; from != to {
			out.edges = append(out.edges, edge{from: from, to: to, ways: e.ways})
		}
	}
	out.edges = distinct(out.edges)
	return out
}

// distinct sorts edges and makes one of those that lead the same way.
func distinct(edges []edge) []edge {
	slices.SortStableFunc(edges, func(a, b edge) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return a.to - b.to
	})
	var out []edge
	for _, e := range edges {
		if n := len(out) - 1; n >= 0 && out[n].from == e.from && out[n].to == e.to {
			e.ways = append(slices.Clone(out[n].ways), e.ways...)
			out = out[:n]
		}
		e.ways = slices.Compact(slices.Sorted(slices.Values(e.ways)))
		out = append(out, e)
	}
	return out
}

// label returns what an edge is called: nothing for the usual way, and for a Component, which can be used in one way alone.
func (e edge) label() string {
	if len(e.ways) == 1 && (e.ways[0] == asResource || e.ways[0] == asComponent || e.ways[0] == asInput) {
		return ""
	}
	return strings.Join(e.ways, ", ")
}
