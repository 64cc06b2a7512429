package drawing

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// unfolded is how many boxes are drawn one by one: as many as can be looked at together.
	unfolded = 24
	// leastAlike is how many layers that are alike become one box, and longestChain how many that are used by one another.
	leastAlike   = 3
	longestChain = 4
)

// fold makes one part of those that nothing uses and that use the same in the same ways, and then of chains, if there are many.
func (p parts) fold() parts {
	if len(p.list) > unfolded {
		p = p.joined(p.alike())
	}
	if len(p.list) > unfolded {
		p = p.joined(p.chains())
	}
	return p
}

// alike returns for each part the first one that it is like.
func (p parts) alike() []int {
	uses, used := make([][]string, len(p.list)), make([]bool, len(p.list))
	for _, e := range p.edges {
		uses[e.to] = append(uses[e.to], fmt.Sprint(e.from, e.ways))
		used[e.from] = true
	}
	members := map[string][]int{}
	for i, part := range p.list {
		if used[i] {
			continue
		}
		slices.Sort(uses[i])
		key := fmt.Sprint(part.kind, part.roots, part.note, uses[i])
		for _, s := range part.steps {
			key += "\n" + s.like
		}
		members[key] = append(members[key], i)
	}
	into := p.apart()
	for _, list := range members {
		if len(list) >= leastAlike {
			for _, i := range list {
				into[i] = list[0]
			}
		}
	}
	return into
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
			part.chain = chain
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
