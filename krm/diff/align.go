package diff

import "slices"

// common returns a common subsequence of a and b, as pairs of positions. It is long, but not
// always the longest one.
//
// The algorithm is patience diff: after the common prefix and suffix, it anchors the result at
// elements that occur exactly once in both sequences, and continues between the anchors. This
// takes less time and memory than a table for the whole sequences, and unique lines are better
// anchors than blank lines or brackets.
func common(a, b []int) (pairs [][2]int) {
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		pairs = append(pairs, [2]int{start, start})
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
	}
	for _, p := range between(a[start:endA], b[start:endB]) {
		pairs = append(pairs, [2]int{p[0] + start, p[1] + start})
	}
	for ; endA < len(a); endA, endB = endA+1, endB+1 {
		pairs = append(pairs, [2]int{endA, endB})
	}
	return pairs
}

// maxTable limits the cells of the table in [longest]. Larger ranges without anchors are treated
// as having nothing in common.
const maxTable = 1 << 20

// between is [common] for sequences without a common prefix or suffix.
func between(a, b []int) (pairs [][2]int) {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	frame := once(a, b)
	if len(frame) == 0 {
		if len(a)*len(b) > maxTable {
			return nil
		}
		return longest(a, b)
	}
	i, j := 0, 0
	for _, p := range append(frame, [2]int{len(a), len(b)}) {
		for _, q := range common(a[i:p[0]], b[j:p[1]]) {
			pairs = append(pairs, [2]int{q[0] + i, q[1] + j})
		}
		if p[0] < len(a) && p[1] < len(b) {
			pairs = append(pairs, p)
		}
		i, j = p[0]+1, p[1]+1
	}
	return pairs
}

// once returns the positions of the elements that occur exactly once in both sequences. It drops
// those that are out of order.
func once(a, b []int) (frame [][2]int) {
	type places struct{ inA, inB, nA, nB int }
	known := map[int]*places{}
	for i, x := range a {
		p := known[x]
		if p == nil {
			p = &places{}
			known[x] = p
		}
		p.inA, p.nA = i, p.nA+1
	}
	for j, x := range b {
		if p := known[x]; p != nil {
			p.inB, p.nB = j, p.nB+1
		}
	}
	for j, x := range b {
		if p := known[x]; p != nil && p.nA == 1 && p.nB == 1 {
			frame = append(frame, [2]int{p.inA, j})
		}
	}
	moved := outOfOrder(frame)
	kept := frame[:0]
	for k, p := range frame {
		if !moved[k] {
			kept = append(kept, p)
		}
	}
	return kept
}

// longest returns a longest common subsequence. It takes len(a)*len(b) time and memory.
func longest(a, b []int) (pairs [][2]int) {
	width := len(b) + 1
	table := make([]int32, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				table[i*width+j] = table[(i+1)*width+j+1] + 1
			} else {
				table[i*width+j] = max(table[(i+1)*width+j], table[i*width+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case table[(i+1)*width+j] >= table[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}

// outOfOrder reports which pairs have moved: all except a longest subsequence in which the first
// positions increase. pairs must be sorted by second position.
func outOfOrder(pairs [][2]int) []bool {
	var tails []int // for each length, the pair that ends the best subsequence
	before := make([]int, len(pairs))
	for k, p := range pairs {
		at, _ := slices.BinarySearchFunc(tails, p[0], func(t, first int) int { return pairs[t][0] - first })
		before[k] = -1
		if at > 0 {
			before[k] = tails[at-1]
		}
		if at == len(tails) {
			tails = append(tails, k)
		} else {
			tails[at] = k
		}
	}
	moved := make([]bool, len(pairs))
	for k := range moved {
		moved[k] = true
	}
	if len(tails) > 0 {
		for k := tails[len(tails)-1]; k >= 0; k = before[k] {
			moved[k] = false
		}
	}
	return moved
}
