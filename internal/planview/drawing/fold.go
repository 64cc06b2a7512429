package drawing

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// Drawings with at most unfolded boxes, which fit into one view, are not folded. Drawings
	// that still have more than crowded boxes after the first two kinds of folding are folded
	// further.
	unfolded = 24
	crowded  = 100
	// leastAlike is the minimum number of similar layers that fold into one box. longestChain is
	// the maximum number of layers in a folded chain.
	leastAlike   = 3
	longestChain = 4
)

// fold combines parts if there are many. The three kinds of folding are tried in order, from the
// one that hides least to the one that hides most, and only while the drawing is too large:
// similar parts without consumers, then chains, then all similar parts.
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

// alike returns, for each part, the first part that is similar to it, or the part itself.
// Similar parts have the same steps, inputs and consumers.
//
// If deep is set, private inputs, those with a single consumer, are equal if they are similar to
// each other. The search proceeds from the parts without consumers to their inputs, so consumers
// that fold into one part count as the same consumer. If deep is not set, only parts without
// consumers are compared and no input is private.
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

// does returns a number for each part. Parts with equal kinds, roots, steps and inputs have
// equal numbers. Private inputs are compared by their own numbers, other inputs by identity. The
// inputs of a part precede it in the list, so their numbers are known.
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
			from = append(from, part.names[0]) // already folded
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

// levels groups the parts by their longest distance from a part without consumers, starting with
// distance 0.
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

// chains returns, for each part, the part at the end of its chain, or the part itself. In a
// chain, each part has one consumer and one input, both used as resources. Chains are limited to
// [longestChain] parts.
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
		if in[e.to] != 1 || out[e.from] != 1 || e.stroke() != solid || from.kind != to.kind || len(from.names) > 1 || len(to.names) > 1 ||
			len(to.steps) > 0 {
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

// apart returns the identity mapping: each part stays separate.
func (p parts) apart() []int {
	into := make([]int, len(p.list))
	for i := range into {
		into[i] = i
	}
	return into
}

// joined combines the parts that into maps to the same part. Edges within a combined part are
// dropped.
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
		if to.chain {
			to.members = append(part.members, to.members...)
		} else {
			to.members = append(to.members[:len(to.members):len(to.members)], part.members...)
		}
		if to.chain { // the consumer follows its inputs in the list, but comes first in names
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

// distinct sorts the edges and combines edges between the same parts.
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

// label returns the label of an edge. Plain resources and step inputs need no label, and neither
// do Components, which are drawn dashed.
func (e edge) label() string {
	if len(e.ways) == 1 && (e.ways[0] == asResource || e.ways[0] == asComponent || e.ways[0] == asInput) {
		return ""
	}
	return strings.Join(e.ways, ", ")
}
