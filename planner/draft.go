package planner

import (
	"fmt"

	"github.com/krmflow/krmflow/graph"
)

// A draft is a graph under construction, with indexes of its nodes.
type draft struct {
	g             *graph.Graph
	layers        map[layerKey]*layer
	schemas       map[layerKey]bool // keys (without charts and own) of layers with a custom schema
	prefixes      map[prefixKey]*prefix
	prefixSchemas map[prefixKey]bool // prefixes with an item that has a custom schema
	ids           map[string]int     // the number of nodes that requested an id
}

// nodesPerRoot is a typical number of nodes per root. It presizes the map of ids, which would
// otherwise be rehashed at each doubling.
const nodesPerRoot = 16

func newDraft(roots int) *draft {
	return &draft{
		g: &graph.Graph{}, layers: map[layerKey]*layer{}, schemas: map[layerKey]bool{},
		prefixes: map[prefixKey]*prefix{}, prefixSchemas: map[prefixKey]bool{},
		ids: make(map[string]int, roots*nodesPerRoot),
	}
}

// add appends a node and makes its id unique.
func (d *draft) add(n *graph.Node) graph.NodeID {
	before := len(d.ids)
	if d.ids[n.ID]++; len(d.ids) == before {
		n.ID = fmt.Sprintf("%s~%d", n.ID, d.ids[n.ID])
	}
	return d.g.Add(n)
}

// aside runs compile with a separate graph and returns the graph.
func (c *compiler) aside(compile func()) *graph.Graph {
	outer := c.draft
	defer func() { c.draft = outer }()
	c.draft = newDraft(1)
	compile()
	return c.draft.g
}
