// Package graph describes what a run will do: a [Graph] is a list of nodes in dependency order, each an operation on
// resource lists with the places it was configured at. A Graph is plain data. The planner makes it, plan, graph and the
// JSON export print it, and the scheduler, whose only input it is, runs it: what was printed is what runs.
//
// Inputs carry lists, After is order alone. A node may only refer to nodes before it, so that a Graph has no cycles by construction and its
// slice is a valid order of execution.
package graph

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A NodeID is the index of a node in its Graph.
type NodeID int

// A Node is one step.
type Node struct {
	// ID names the node by file and field, for instance "overlays/prod/kustomization.yaml#patches[1]". It is unique in
	// its Graph and does not depend on other nodes, so that plans of two revisions can be compared.
	ID string
	// Op is what the node does.
	Op Op
	// Inputs are the nodes whose lists it takes, in that order.
	Inputs []NodeID
	// After are nodes that must be done before, and whose lists it does not take.
	After []NodeID
	// Summary is its configuration in one line, without values of Secrets.
	Summary string
	// Origin is where it was configured.
	Origin Origin
	// Layer names the Kustomization, Component or Composition that the node belongs to; nodes of a layer are drawn together.
	Layer string
	// Changes are where the configuration was changed that the node is made from, in that order: overrides of an item of a
	// Composition, or steps of a directory of configurations.
	Changes []Origin
	// Item says which item of a Composition the node is made from, nil for all other nodes.
	Item *Item
}

// Before yields the nodes that must be done before n: its inputs and those it comes after.
func (n *Node) Before() iter.Seq[NodeID] {
	return func(yield func(NodeID) bool) {
		for _, list := range [][]NodeID{n.Inputs, n.After} {
			for _, id := range list {
				if !yield(id) {
					return
				}
			}
		}
	}
}

// An Item is an entry of the consolidated list of a Composition.
type Item struct {
	Kind, Name string
	// Place is its place in the final order, from 1, and Of the number of items.
	Place, Of int
}

// An Origin is a place in a configuration file.
type Origin struct {
	Source *yaml.Source
	// Path leads to the field: mapping keys and list indexes.
	Path []any
}

// Pos returns file and line of the origin. It parses the file again, so it is meant for messages and plans.
func (o Origin) Pos() diag.Pos {
	if o.Source == nil {
		return diag.Pos{}
	}
	return o.Source.Locate(0, o.Path...)
}

// File returns the path of the configuration file.
func (o Origin) File() string {
	if o.Source == nil {
		return ""
	}
	return o.Source.File
}

// Field returns the path within the file as messages show it: "patches[1].path".
func (o Origin) Field() string {
	if o.Source == nil {
		return diag.FieldPath(o.Path)
	}
	return o.Source.Field(o.Path)
}

// Warning returns what a step tells of itself, with the place of its configuration. An operand that is wrapped with %w and has a place of
// its own gives that.
func (o Origin) Warning(code diag.Code, format string, args ...any) *diag.Error {
	w := diag.Errorf(diag.Pos{}, "", format, args...).With(code)
	if at, ok := w.Err.(*diag.Error); ok && at.Pos.File != "" {
		return at.With(code)
	}
	w.Pos, w.Field = o.Pos(), o.Field()
	return w
}

// A Root is a result that was asked for.
type Root struct {
	// Dir is the directory as the user named it, without credentials.
	Dir string
	// Node yields the root's final list.
	Node NodeID
}

// A Graph is what a run does. It must not be changed once it is handed on.
type Graph struct {
	Nodes []*Node
	Roots []Root
}

// Add appends n and returns its id. The inputs must exist already.
func (g *Graph) Add(n *Node) NodeID {
	for in := range n.Before() {
		if in < 0 || int(in) >= len(g.Nodes) {
			panic(fmt.Sprintf("graph: input %d of %s does not exist", in, n.ID))
		}
	}
	g.Nodes = append(g.Nodes, n)
	return NodeID(len(g.Nodes) - 1)
}

// Calls yields the calls of functions with their nodes, in order.
func (g *Graph) Calls() iter.Seq2[Call, *Node] {
	return func(yield func(Call, *Node) bool) {
		for _, n := range g.Nodes {
			if call, ok := n.Op.(Call); ok && !yield(call, n) {
				return
			}
		}
	}
}

// Without returns a Graph in which the node called id is left out: its consumers take the list of its first input
// instead, or nothing if it had none. An [Absorb] whose answer is gone is left out in the same way. It reports false if
// there is no such node or it is a root's.
func (g *Graph) Without(id string) (*Graph, bool) {
	out := &Graph{}
	moved := make([]NodeID, len(g.Nodes)) // old position to new one, -1 for nothing
	found := false
	for i, n := range g.Nodes {
		var inputs []NodeID
		for _, in := range n.Inputs {
			if to := moved[in]; to >= 0 {
				inputs = append(inputs, to)
			}
		}
		absorbsNothing := false
		if _, absorbs := n.Op.(Absorb); absorbs && len(n.Inputs) > 0 {
			absorbsNothing = moved[n.Inputs[len(n.Inputs)-1]] < 0
		}
		if n.ID == id || absorbsNothing {
			found = found || n.ID == id
			moved[i] = -1
			if len(inputs) > 0 {
				moved[i] = inputs[0]
			}
			continue
		}
		copied := *n
		copied.Inputs, copied.After = inputs, nil
		for _, id := range n.After {
			if moved[id] >= 0 {
				copied.After = append(copied.After, moved[id])
			}
		}
		moved[i] = out.Add(&copied)
	}
	for _, r := range g.Roots {
		if moved[r.Node] < 0 || g.Nodes[r.Node].ID == id {
			return nil, false
		}
		out.Roots = append(out.Roots, Root{r.Dir, moved[r.Node]})
	}
	return out, found
}

// BehindFunctions tells, for each node, whether it is a call of a function or a fetch, or needs one.
func (g *Graph) BehindFunctions() []bool {
	return g.need(func(n *Node) bool { return !Pure(n.Op) })
}

// need tells, for each node, whether it or a node that it needs is one of those.
func (g *Graph) need(those func(*Node) bool) []bool {
	needs := make([]bool, len(g.Nodes))
	for i, n := range g.Nodes {
		needs[i] = those(n)
		for in := range n.Before() {
			needs[i] = needs[i] || needs[in]
		}
	}
	return needs
}

// RootsThatNeed returns the roots that need any of the nodes that have these ids. A part of a graph has other nodes of the same ids: see [Graph.Only].
func (g *Graph) RootsThatNeed(ids map[string]bool) (roots []Root) {
	needs := g.need(func(n *Node) bool { return ids[n.ID] })
	for _, r := range g.Roots {
		if needs[r.Node] {
			roots = append(roots, r)
		}
	}
	return roots
}

// RootsOf yields the roots that need any of those nodes, each with all of these that it needs, in their order.
func (g *Graph) RootsOf(those func(*Node) bool) iter.Seq2[Root, []*Node] {
	return func(yield func(Root, []*Node) bool) {
		needs := g.need(those)
		for _, r := range g.Roots {
			if !needs[r.Node] {
				continue
			}
			var all []*Node
			todo, met := []NodeID{r.Node}, map[NodeID]bool{r.Node: true}
			for len(todo) > 0 {
				n := g.Nodes[todo[len(todo)-1]]
				todo = todo[:len(todo)-1]
				for in := range n.Before() {
					if needs[in] && !met[in] {
						met[in] = true
						todo = append(todo, in)
					}
				}
			}
			for _, id := range slices.Sorted(maps.Keys(met)) {
				if n := g.Nodes[id]; those(n) {
					all = append(all, n)
				}
			}
			if !yield(r, all) {
				return
			}
		}
	}
}

// Only returns the part of g that the roots for which keep returns true need.
func (g *Graph) Only(keep func(Root) bool) *Graph {
	needed := make([]bool, len(g.Nodes))
	out := &Graph{}
	for _, r := range g.Roots {
		if keep(r) {
			needed[r.Node] = true
		}
	}
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		if needed[i] {
			for in := range g.Nodes[i].Before() {
				needed[in] = true
			}
		}
	}
	moved := make([]NodeID, len(g.Nodes))
	for i, n := range g.Nodes {
		if !needed[i] {
			continue
		}
		copied := *n
		copied.Inputs = make([]NodeID, len(n.Inputs))
		for j, in := range n.Inputs {
			copied.Inputs[j] = moved[in]
		}
		copied.After = nil
		for _, id := range n.After {
			copied.After = append(copied.After, moved[id])
		}
		moved[i] = out.Add(&copied)
	}
	for _, r := range g.Roots {
		if keep(r) {
			out.Roots = append(out.Roots, Root{r.Dir, moved[r.Node]})
		}
	}
	return out
}
