package planner

import (
	"fmt"

	"github.com/krmflow/krmflow/graph"
)

// draft is a graph that is being made, with what finds its nodes again.
type draft struct {
	g             *graph.Graph
	layers        map[layerKey]*layer
	schemas       map[layerKey]bool // layers with a custom schema, by keys without charts and own
	prefixes      map[prefixKey]*prefix
	prefixSchemas map[prefixKey]bool // prefixes with an item that has a custom schema
	ids           map[string]int     // the number of nodes that asked for an id
}

// nodesPerRoot is how many nodes a root has, more or less: the ids of many roots then are not moved each time that there are twice as many.
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

// aside compiles into a graph of its own.
func (c *compiler) aside(compile func()) *graph.Graph {
	outer := c.draft
	defer func() { c.draft = outer }()
	c.draft = newDraft(1)
	compile()
	return c.draft.g
}
