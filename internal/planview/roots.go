package planview

import (
	"maps"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/layers"
)

// A root is a root of the plan with the facts shown about it.
type root struct {
	dir    string
	file   string          // of its own layer; "" if it could not be planned
	layers []*layers.Layer // sorted by file
	// changes counts the steps that change or validate resources, makes those that generate
	// resources; both by the field or kind that configures them.
	changes, makes map[string]int
	calls          []*graph.Node
	failed         []error
	warnings       int
	// out is the output, nil if it is not known.
	out *Output
}

// denied returns the number of calls that are not allowed to run.
func (r *root) denied(p *planner.Plan) (n int) {
	for _, call := range r.calls {
		if dec := p.Decisions[call.ID]; dec != nil && !dec.Allowed {
			n++
		}
	}
	return n
}

// charts returns the number of calls that render charts.
func (r *root) charts() (n int) {
	for _, call := range r.calls {
		if call.Op.(graph.Call).Chart != nil {
			n++
		}
	}
	return n
}

// steps counts the steps that generate, change or validate resources.
func (r *root) steps() map[string]int {
	all := maps.Clone(r.changes)
	for name, n := range r.makes {
		all[name] += n
	}
	return all
}

// files returns the sorted paths of the files that the root is built from.
func (r *root) files() []string {
	var all []string
	for _, l := range r.layers {
		all = append(all, l.Files...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// rootsOf returns the roots of a plan in plan order, followed by the roots that could not be
// planned.
func rootsOf(p *planner.Plan, made *Preview) []*root {
	layers := layersOf(p)
	s := &visitor{p: p, made: made, seen: make([]int, len(p.Graph.Nodes))}
	all := make([]*root, 0, len(p.Graph.Roots)+len(p.Failed))
	for i, r := range p.Graph.Roots {
		root := &root{dir: r.Dir, file: p.Graph.Nodes[r.Node].Origin.File(), layers: layers[r.Dir], changes: map[string]int{},
			makes: map[string]int{}}
		s.of(root, r.Node, i+1)
		if made != nil {
			root.out = made.Roots[r.Dir]
		}
		all = append(all, root)
	}
	for _, f := range p.Failed {
		all = append(all, &root{dir: f.Dir, failed: f.Errs})
	}
	countWarnings(all, p.Warnings)
	return all
}

// countWarnings sets the number of warnings that concern files of each root.
func countWarnings(all []*root, warnings []planner.Warning) {
	if len(warnings) == 0 {
		return
	}
	number := map[string]int{} // by file
	for _, w := range warnings {
		number[w.Pos.File]++
	}
	for _, r := range all {
		r.warnings = 0
		for _, file := range r.files() {
			r.warnings += number[file]
		}
	}
}

// layersOf returns the layers of each root by the root's directory.
func layersOf(p *planner.Plan) map[string][]*layers.Layer {
	all := map[string][]*layers.Layer{}
	for _, l := range p.Layers().All() {
		for _, dir := range l.Roots {
			all[dir] = append(all[dir], l)
		}
	}
	return all
}

// A visitor collects the steps of one root after another.
type visitor struct {
	p    *planner.Plan
	made *Preview
	seen []int // the mark of the last root that visited each node
	next []graph.NodeID
}

// of records the steps that a root depends on. mark is a positive number unique to the root: a
// node is visited if seen holds the mark, so seen need not be cleared between roots.
func (s *visitor) of(r *root, top graph.NodeID, mark int) {
	s.next = append(s.next[:0], top)
	for len(s.next) > 0 {
		id := s.next[len(s.next)-1]
		s.next = s.next[:len(s.next)-1]
		if s.seen[id] == mark {
			continue
		}
		s.seen[id] = mark
		n := s.p.Graph.Nodes[id]
		s.next = append(s.next, n.Inputs...)
		if s.made != nil && s.made.Failed[n] != nil {
			r.failed = append(r.failed, s.made.Failed[n])
		}
		switch n.Op.(type) {
		case graph.Call:
			r.calls = append(r.calls, n)
		case graph.Generate:
			r.makes[word(n)]++
		case graph.Transform, graph.Validate:
			r.changes[word(n)]++
		case graph.Load, graph.Merge, graph.Pass, graph.Fetch, graph.Absorb, graph.Finish:
		}
	}
	slices.Reverse(r.calls)
}

// word returns the user's word for the configuration of a node: the field of a Kustomization or
// the kind of an item of a Composition.
func word(n *graph.Node) string {
	if len(n.Origin.Path) > 0 {
		if field, ok := n.Origin.Path[0].(string); ok {
			switch field {
			case "patchesStrategicMerge", "patchesJson6902":
				return "patches"
			}
			return field
		}
	}
	if n.Item != nil {
		return n.Item.Kind
	}
	return n.Op.Verb()
}

// counts returns the names and their numbers on one line, the largest number first: "Deployment
// ×5, Service ×5, Namespace".
func counts(of map[string]int) string {
	names := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		if of[a] != of[b] {
			return of[b] - of[a]
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = times(name, of[name])
	}
	return strings.Join(names, ", ")
}
