package planner

import "github.com/krmflow/krmflow/graph"

// draft is a graph that is being made, with what finds its nodes again.
type draft struct {
	g        *graph.Graph
	layers   map[layerKey]*layer
	prefixes map[prefixKey]*prefix
	ids      map[string]int // how many nodes were to be called so
}

func newDraft() *draft {
	return &draft{&graph.Graph{}, map[layerKey]*layer{}, map[prefixKey]*prefix{}, map[string]int{}}
}

// aside compiles into a graph of its own.
func (c *compiler) aside(compile func()) *graph.Graph {
	outer := c.draft
	defer func() { c.draft = outer }()
	c.draft = newDraft()
	compile()
	return c.draft.g
}
