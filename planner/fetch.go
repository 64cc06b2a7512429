package planner

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
)

// withFetches returns g with a node for each image that its functions need, before the first of them. Functions that are denied
// need none, and nothing is pulled of what exists on this machine alone.
func withFetches(g *graph.Graph) *graph.Graph {
	type image struct {
		ref    string
		digest krm.Digest
	}
	if !slices.ContainsFunc(g.Nodes, needsImage) {
		return g
	}
	fetches := map[image]graph.NodeID{}
	moved := make([]graph.NodeID, len(g.Nodes))
	out := &graph.Graph{}
	for i, n := range g.Nodes {
		copied := *n
		copied.Inputs = nil
		for _, in := range n.Inputs {
			copied.Inputs = append(copied.Inputs, moved[in])
		}
		if needsImage(n) {
			f := n.Op.(graph.Call).Function
			key := image{f.Image, f.Digest}
			id, ok := fetches[key]
			if !ok {
				id = out.Add(fetch(n, f))
				fetches[key] = id
			}
			copied.After = []graph.NodeID{id}
		}
		moved[i] = out.Add(&copied)
	}
	for _, r := range g.Roots {
		out.Roots = append(out.Roots, graph.Root{Dir: r.Dir, Node: moved[r.Node]})
	}
	return out
}

// needsImage reports whether n calls a function whose image can be pulled.
func needsImage(n *graph.Node) bool {
	call, ok := n.Op.(graph.Call)
	return ok && call.Function.Image != "" && !strings.HasPrefix(call.Function.Image, "localhost/")
}

// fetch returns the node that obtains the image of f, which n is the first to call.
func fetch(n *graph.Node, f function.Function) *graph.Node {
	id := f.Image
	if !f.Digest.IsZero() {
		id += "@" + f.Digest.String()
	}
	what := function.Function{Name: f.Name, Node: id, Runtime: f.Runtime, Digest: f.Digest, Unverified: f.Unverified, Image: f.Image, Limits: f.Limits}
	return &graph.Node{ID: id, Op: graph.Fetch{Function: what}, Summary: "pulled unless it is on this machine", Origin: n.Origin, Layer: n.Layer, Item: n.Item}
}
