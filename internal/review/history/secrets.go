package history

import (
	"sync"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Secrets collects Secret values from the steps of a run, including Secrets that a later step
// removes from the result. The zero value is ready to use. It is safe for concurrent use.
type Secrets struct {
	mu   sync.Mutex
	seen map[string]*seen // by node ID
}

type seen struct {
	values []yaml.Value // objects that are Secrets or may contain one
	taken  []string
}

// Seen records the list of a step: see [scheduler.Options.Seen]. For steps that load or create a
// list it keeps all objects, and [Secrets.Add] searches them for Secrets only if necessary,
// because the search takes time. The result contains all additions of later steps.
func (c *Secrets) Seen(n *graph.Node, list *krm.List) {
	found := &seen{}
	all := false
	switch n.Op.(type) {
	case graph.Load, graph.Call:
		all = true
	case graph.Merge, graph.Generate, graph.Transform, graph.Validate, graph.Pass, graph.Fetch, graph.Absorb, graph.Finish:
	}
	for _, r := range list.All() {
		if id := r.ID(); all || id.Kind == "Secret" && id.Group == "" {
			found.values = append(found.values, r.Value())
		}
		found.taken = append(found.taken, r.Taken...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = map[string]*seen{}
	}
	c.seen[n.ID] = found
}

// Add adds the Secret values in the steps of a root to s. The steps must have ended.
func (c *Secrets) Add(s *secret.Set, g *graph.Graph, root graph.Root) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range before(g, root.Node) {
		found := c.seen[n.ID]
		if found == nil {
			continue
		}
		for _, v := range found.values {
			s.Add(v)
		}
		for _, text := range found.taken {
			s.AddTaken(text)
		}
	}
}

// AddOf calls [Secrets.Add] for the root in a directory.
func (c *Secrets) AddOf(s *secret.Set, g *graph.Graph, dir string) {
	for _, root := range g.Roots {
		if root.Dir == dir {
			c.Add(s, g, root)
		}
	}
}

// before returns a node and its transitive inputs, inputs first.
func before(g *graph.Graph, end graph.NodeID) (nodes []*graph.Node) {
	needed := make([]bool, len(g.Nodes))
	needed[end] = true
	for i := int(end); i >= 0; i-- {
		if needed[i] {
			for _, in := range g.Nodes[i].Inputs {
				needed[in] = true
			}
		}
	}
	for i, n := range g.Nodes {
		if needed[i] {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// Secrets returns the Secret values in all known lists.
func (h *History) Secrets() *secret.Set {
	return secret.NewSet(func(s *secret.Set) {
		known := map[*krm.Resource]bool{}
		for _, list := range h.lists {
			if list == nil {
				continue
			}
			for _, r := range list.All() {
				if !known[r] {
					known[r] = true
					r.AddSecrets(s)
				}
			}
		}
	})
}
