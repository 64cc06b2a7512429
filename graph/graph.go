// Package graph describes the work of a run. A [Graph] is a list of nodes in dependency order,
// and each node is an operation on resource lists with the position of its configuration.
//
// A Graph is plain data and is the only input of the scheduler. The planner builds it, and the
// commands plan and graph and the JSON export print it, so the printed plan is exactly the plan
// that runs.
//
// A node receives the lists of its Inputs; After only orders nodes. A node may refer only to
// earlier nodes. Hence a Graph has no cycles by construction, and the order of its nodes is a
// valid order of execution.
package graph

import (
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A NodeID is the index of a node in its Graph.
type NodeID int

// A Node is one step of a run.
type Node struct {
	// ID names the node by file and field, for instance
	// "overlays/prod/kustomization.yaml#patches[1]". It is unique in its Graph. It does not
	// depend on other nodes, so plans of two revisions can be compared.
	ID string
	// Op is the operation of the node.
	Op Op
	// Inputs are the nodes whose lists the operation receives, in order.
	Inputs []NodeID
	// After are nodes that must finish first but whose lists the operation does not receive.
	After []NodeID
	// Summary is the configuration in one line, without values of Secrets.
	Summary string
	// Origin is the position of the configuration.
	Origin Origin
	// Layer names the Kustomization, Component or Composition of the node. Drawings group nodes
	// by layer.
	Layer string
	// Alone is set for a step of a Component that is built as a root, and of a layer with files in
	// resources that are all empty. Such a step does not see the resources that it is meant for.
	Alone bool
	// Changes are the positions of later changes to the configuration, in order: overrides of an
	// item of a Composition, or steps of a directory of configurations.
	Changes []Origin
	// Item identifies the item of a Composition that the node was made from. It is nil for all
	// other nodes.
	Item *Item
}

// Before yields the nodes that must finish before n: its inputs, then the nodes in After.
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
	// Place is the position in the final order, counted from 1. Of is the number of items.
	Place, Of int
}

// An Origin is a position in a configuration file.
type Origin struct {
	Source *yaml.Source
	// Path leads to the field: it consists of mapping keys (string) and list indexes (int).
	Path []any
}

// Pos returns the file and line of o. It parses the file again, so it is meant for messages and
// plans.
func (o Origin) Pos() diag.Pos {
	if o.Source == nil {
		return diag.Pos{}
	}
	return o.Source.Locate(0, o.Path...)
}

// PosOf returns the position of the part of the configuration at o that err is about.
func (o Origin) PosOf(err error) diag.Pos {
	return Origin{o.Source, diag.Below(o.Path, err)}.Pos()
}

// Value returns the value at o, None if there is none.
func (o Origin) Value() yaml.Value {
	if o.Source == nil {
		return yaml.Value{}
	}
	v, _ := o.Source.Value()
	return v.Follow(o.Path...)
}

// File returns the path of the configuration file, "" if there is none.
func (o Origin) File() string {
	if o.Source == nil {
		return ""
	}
	return o.Source.File
}

// ValueIn returns the field below o with the longest value that is part of a text, or o if there is
// none.
func (o Origin) ValueIn(text string) Origin {
	best, longest := o, 0
	var look func(v yaml.Value, at []any)
	look = func(v yaml.Value, at []any) {
		for _, f := range v.Fields() {
			look(f.Value, append(slices.Clip(at), f.Key))
		}
		for i, item := range v.Items() {
			look(item, append(slices.Clip(at), i))
		}
		if v.IsScalar() && len(v.Text()) > longest && strings.Contains(text, v.Text()) {
			best, longest = Origin{Source: o.Source, Path: at}, len(v.Text())
		}
	}
	look(o.Value(), o.Path)
	return best
}

// Folder returns the directory that relative paths in the configuration file start at.
func (o Origin) Folder() string {
	if o.Source != nil && o.Source.Folder != "" {
		return o.Source.Folder
	}
	return path.Dir(o.File())
}

// Field returns the path within the file in the form used in messages, for instance
// "patches[1].path".
func (o Origin) Field() string {
	if o.Source == nil {
		return diag.FieldPath(o.Path)
	}
	return o.Source.Field(o.Path)
}

// Warning returns a warning of a step, positioned at the configuration of the step. If an operand
// wrapped with %w has its own position, that position takes precedence.
func (o Origin) Warning(code diag.Code, format string, args ...any) *diag.Error {
	w := diag.Errorf(diag.Pos{}, "", format, args...).With(code)
	if at, ok := w.Err.(*diag.Error); ok && at.Pos.File != "" {
		return at.With(code)
	}
	w.Pos, w.Field = o.PosOf(w), o.Field()
	return w
}

// A Root is a requested result.
type Root struct {
	// Dir is the directory as the user named it, without credentials.
	Dir string
	// Node returns the final list of the root.
	Node NodeID
}

// A Graph is the plan of a run. It must not be changed after it has been passed on.
type Graph struct {
	Nodes []*Node
	Roots []Root
}

// Add appends n and returns its id. It panics if n refers to a node that does not exist yet.
func (g *Graph) Add(n *Node) NodeID {
	for in := range n.Before() {
		if in < 0 || int(in) >= len(g.Nodes) {
			panic(fmt.Sprintf("graph: input %d of %s does not exist", in, n.ID))
		}
	}
	g.Nodes = append(g.Nodes, n)
	return NodeID(len(g.Nodes) - 1)
}

// Calls yields all function calls with their nodes, in order.
func (g *Graph) Calls() iter.Seq2[Call, *Node] {
	return func(yield func(Call, *Node) bool) {
		for _, n := range g.Nodes {
			if call, ok := n.Op.(Call); ok && !yield(call, n) {
				return
			}
		}
	}
}

// Without returns a Graph that omits the node with this id. Consumers of the node receive the
// list of its first input instead, or no list if it has no inputs. An [Absorb] whose answer
// disappears is omitted in the same way. Without reports false if the node does not exist or is
// the node of a root.
func (g *Graph) Without(id string) (*Graph, bool) {
	out := &Graph{}
	moved := make([]NodeID, len(g.Nodes)) // old position to new one, -1 if there is none
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

// BehindFunctions returns, for each node, whether it is or depends on a function call or a fetch.
func (g *Graph) BehindFunctions() []bool {
	return g.need(func(n *Node) bool { return !Pure(n.Op) })
}

// need returns, for each node, whether it or one of its dependencies satisfies those.
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

// RootsThatNeed returns the roots that depend on a node with one of these ids. It takes ids
// because a part of g has other nodes with the same ids: see [Graph.Only].
func (g *Graph) RootsThatNeed(ids map[string]bool) (roots []Root) {
	needs := g.need(func(n *Node) bool { return ids[n.ID] })
	for _, r := range g.Roots {
		if needs[r.Node] {
			roots = append(roots, r)
		}
	}
	return roots
}

// RootsOf yields each root that depends on a node satisfying those, with all such nodes of the
// root in graph order.
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

// Only returns the part of g that is needed by the roots for which keep returns true.
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
