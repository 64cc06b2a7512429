package layers

import "slices"

// Implied returns the redundant references: references to a layer that the same layer also
// reaches through others it uses. Layers must not be part of a cycle.
func (g *Graph) Implied() map[Step]bool {
	r := newReduction(g)
	implied := map[Step]bool{}
	for n, l := range g.all {
		more := r.implied(n)
		for _, u := range l.Uses {
			if i, ok := r.number[u.Layer]; ok && more[i] {
				implied[Step{l.File, u}] = true
			}
		}
	}
	return implied
}

// A reduction finds redundant references. The library's transitive reduction visits all layers
// for each layer.
type reduction struct {
	number map[string]int
	uses   [][]int
	height []int // maximum number of references to a layer without any
	seen   []int // the query that visited it last
	asked  int
}

func newReduction(g *Graph) *reduction {
	n := len(g.all)
	r := &reduction{number: map[string]int{}, uses: make([][]int, n), height: make([]int, n), seen: make([]int, n)}
	for i, l := range g.all {
		r.number[l.File] = i
	}
	for i, l := range g.all {
		r.uses[i] = r.used(l)
	}
	measured := make([]bool, n)
	for i := range r.uses {
		r.measure(i, measured)
	}
	return r
}

// used returns the layers that l uses, without duplicates.
func (r *reduction) used(l *Layer) (all []int) {
	for _, u := range l.Uses {
		if i, ok := r.number[u.Layer]; ok {
			all = append(all, i)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// measure computes the height of a layer and of all layers below it. It may recurse because
// nesting is limited, see layerfile.MaxNested.
func (r *reduction) measure(i int, measured []bool) int {
	if !measured[i] {
		measured[i] = true
		for _, u := range r.uses[i] {
			r.height[i] = max(r.height[i], r.measure(u, measured)+1)
		}
	}
	return r.height[i]
}

// implied returns the direct uses of layer i that are reachable through its other direct uses. It
// prunes layers lower than all direct uses, which cannot lead to any of them.
func (r *reduction) implied(i int) map[int]bool {
	uses := r.uses[i]
	if len(uses) < 2 {
		return map[int]bool{}
	}
	r.asked++
	lowest, found := r.height[i], map[int]bool{}
	for _, u := range uses {
		lowest = min(lowest, r.height[u])
	}
	todo := slices.Clone(uses)
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, next := range r.uses[at] {
			if r.seen[next] == r.asked || r.height[next] < lowest {
				continue
			}
			r.seen[next] = r.asked
			if _, ok := slices.BinarySearch(uses, next); ok {
				found[next] = true
			} else {
				todo = append(todo, next)
			}
		}
	}
	return found
}
