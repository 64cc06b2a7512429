package drawing

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/layers"
)

// choice is the part of a plan to draw.
type choice struct {
	plan   *planner.Plan
	all    []*layers.Layer
	number map[string]int // index in all by file
	layers []bool         // selected elements of all
	nodes  []bool         // selected nodes of the plan's graph
	roots  []graph.Root
	failed []planner.RootError
	uses   *layers.Graph        // of all layers
	left   map[layers.Step]bool // references that are not drawn
}

// choose selects the part of a plan to draw. It returns an error if an option names a root,
// layer, node or file that is not part of the plan.
func choose(p *planner.Plan, o Options) (*choice, error) {
	uses := p.Layers()
	c := &choice{plan: p, all: uses.All(), number: map[string]int{}, uses: uses}
	for i, l := range c.all {
		c.number[l.File] = i
	}
	c.layers, c.nodes = make([]bool, len(c.all)), make([]bool, len(p.Graph.Nodes))
	if err := c.chooseRoots(o.Roots); err != nil {
		return nil, err
	}
	if o.To != "" {
		if err := c.to(o.To); err != nil {
			return nil, err
		}
	}
	if o.From != "" {
		if err := c.from(o.From); err != nil {
			return nil, err
		}
	}
	switch {
	case len(o.Path) > 0:
		c.path(o.Path)
	case o.Reduce:
		c.left = c.uses.Implied()
	}
	if o.To != "" || o.From != "" || len(o.Path) > 0 {
		c.failed = nil
		c.roots = slices.DeleteFunc(c.roots, func(r graph.Root) bool { return !c.nodes[r.Node] })
	}
	return c, nil
}

// chooseRoots selects the named roots, or all roots if names is empty, together with their
// dependencies.
func (c *choice) chooseRoots(names []string) error {
	var known []string
	for _, r := range c.plan.Graph.Roots {
		known = append(known, r.Dir)
	}
	for _, f := range c.plan.Failed {
		known = append(known, f.Dir)
	}
	named := map[string]bool{}
	for _, name := range names {
		dir := diag.Redact(name) // matches the redacted names in the plan
		if !slices.Contains(known, dir) {
			dir = filepath.Clean(name)
		}
		if !slices.Contains(known, dir) {
			return unknown("--root", name, "is not a root of the plan", known)
		}
		named[dir] = true
	}
	is := func(dir string) bool { return len(names) == 0 || named[dir] }
	for _, f := range c.plan.Failed {
		if is(f.Dir) {
			c.failed = append(c.failed, f)
		}
	}
	for _, r := range c.plan.Graph.Roots {
		if is(r.Dir) {
			c.roots = append(c.roots, r)
			c.nodes[r.Node] = true
		}
	}
	needed(c.plan.Graph, c.nodes)
	for i, l := range c.all {
		c.layers[i] = slices.ContainsFunc(l.Roots, is)
	}
	return nil
}

// to keeps only the layers and nodes that the named layer or node depends on, and itself.
func (c *choice) to(name string) error {
	nodes, chosen := make([]bool, len(c.nodes)), make([]bool, len(c.all))
	for i, n := range c.plan.Graph.Nodes {
		nodes[i] = n.ID == name
		if l, ok := c.layerOf(n); ok && nodes[i] {
			chosen[l] = true
		}
	}
	if !slices.Contains(nodes, true) {
		for i, l := range c.all {
			chosen[i] = l.Is(name)
		}
		stand := c.standIns(chosen, func(l, used int) (from, to int) { return l, used })
		for i, n := range c.plan.Graph.Nodes {
			l, ok := c.layerOf(n)
			nodes[i] = ok && stand[l]
		}
	}
	if !slices.Contains(chosen, true) {
		return unknown("--to", name, "is not a layer or node of the plan", c.names(true))
	}
	needed(c.plan.Graph, nodes)
	c.closure(chosen, c.uses.Below)
	c.only(chosen, nodes)
	return nil
}

// from keeps only the layers and nodes that depend on the named file or layer, and itself.
func (c *choice) from(name string) error {
	nodes, chosen := make([]bool, len(c.nodes)), make([]bool, len(c.all))
	whole := map[int]bool{} // layers all of whose steps depend on the file
	for i, l := range c.all {
		whole[i] = l.Is(name)
		chosen[i] = whole[i] || slices.Contains(l.Files, name) || slices.Contains(l.Files, filepath.Clean(name))
	}
	if !slices.Contains(chosen, true) {
		return unknown("--from", name, "is not read by any layer of the plan", c.names(false))
	}
	for i, n := range c.plan.Graph.Nodes {
		l, ok := c.layerOf(n)
		load, loads := n.Op.(graph.Load)
		switch {
		case ok && whole[l]:
			nodes[i] = true
		case loads:
			nodes[i] = load.Source.File == name || load.Source.File == filepath.Clean(name)
		}
	}
	c.readers(nodes, c.standIns(chosen, func(l, used int) (from, to int) { return used, l }))
	affected(c.plan.Graph, nodes)
	c.closure(chosen, c.uses.Above)
	c.only(chosen, nodes)
	return nil
}

// readers selects the steps of layers that may have read a file without a load step, such as a
// file read by a generator. It skips layers that have a selected step already, and steps that
// load a different file.
func (c *choice) readers(nodes, chosen []bool) {
	done := map[int]bool{}
	for i, n := range c.plan.Graph.Nodes {
		if l, ok := c.layerOf(n); ok && nodes[i] {
			done[l] = true
		}
	}
	for i, n := range c.plan.Graph.Nodes {
		l, ok := c.layerOf(n)
		if _, loads := n.Op.(graph.Load); ok && !loads && chosen[l] && !done[l] {
			nodes[i] = true
		}
	}
}

// only restricts the selection to the given layers and nodes.
func (c *choice) only(chosen, nodes []bool) {
	for i := range chosen {
		c.layers[i] = c.layers[i] && chosen[i]
	}
	for i := range nodes {
		c.nodes[i] = c.nodes[i] && nodes[i]
	}
}

// path keeps only the layers on a path from one layer to another, and their steps.
func (c *choice) path(path []layers.Step) {
	chosen, nodes := make([]bool, len(c.all)), make([]bool, len(c.nodes))
	on := map[layers.Step]bool{}
	for _, s := range path {
		on[s] = true
		chosen[c.number[s.From]], chosen[c.number[s.Layer]] = true, true
	}
	c.left = map[layers.Step]bool{}
	for _, l := range c.all {
		for _, u := range l.Uses {
			if s := (layers.Step{From: l.File, Use: u}); !on[s] {
				c.left[s] = true
			}
		}
	}
	for i, n := range c.plan.Graph.Nodes {
		l, ok := c.layerOf(n)
		nodes[i] = ok && chosen[l]
	}
	c.only(chosen, nodes)
}

// closure adds the layers that reach returns for the chosen ones.
func (c *choice) closure(chosen []bool, reach func(files ...string) map[string]int) {
	var files []string
	for i, is := range chosen {
		if is {
			files = append(files, c.all[i].File)
		}
	}
	for file := range reach(files...) {
		chosen[c.number[file]] = true
	}
}

// standIns returns the chosen layers and replacements for those without steps. A layer has no
// steps if it passes on a single list unchanged or is evaluated while planning. Its replacements
// are the nearest layers with steps in the direction of way.
func (c *choice) standIns(chosen []bool, way func(l, used int) (from, to int)) []bool {
	steps := make([]bool, len(c.all))
	for _, n := range c.plan.Graph.Nodes {
		if l, ok := c.layerOf(n); ok {
			steps[l] = true
		}
	}
	all := slices.Clone(chosen)
	c.reach(all, way, func(l int) bool { return !steps[l] })
	return all
}

// reach extends chosen along the references of layers. way maps a reference to the direction to
// follow, and leave reports whether the search continues from a layer.
func (c *choice) reach(chosen []bool, way func(l, used int) (from, to int), leave func(int) bool) {
	next := make([][]int, len(c.all))
	for i, l := range c.all {
		for _, u := range l.Uses {
			from, to := way(i, c.number[u.Layer])
			next[from] = append(next[from], to)
		}
	}
	var todo []int
	for i, is := range chosen {
		if is {
			todo = append(todo, i)
		}
	}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !leave(i) {
			continue
		}
		for _, n := range next[i] {
			if !chosen[n] {
				chosen[n] = true
				todo = append(todo, n)
			}
		}
	}
}

// needed adds the dependencies of the selected nodes. One pass in reverse order suffices,
// because the nodes are in topological order.
func needed(g *graph.Graph, nodes []bool) {
	for i := len(nodes) - 1; i >= 0; i-- {
		if nodes[i] {
			for in := range g.Nodes[i].Before() {
				nodes[in] = true
			}
		}
	}
}

// affected adds the nodes that depend on the selected ones.
func affected(g *graph.Graph, nodes []bool) {
	for i := range nodes {
		for in := range g.Nodes[i].Before() {
			nodes[i] = nodes[i] || nodes[in]
		}
	}
}

// layerOf returns the index of the layer in whose file a node is configured, and false if there
// is none.
func (c *choice) layerOf(n *graph.Node) (int, bool) {
	i, ok := c.number[n.Origin.File()]
	return i, ok
}

// names returns the valid names for suggestions: layers, and nodes or files.
func (c *choice) names(nodes bool) (all []string) {
	for _, l := range c.all {
		all = append(all, filepath.Dir(l.File), l.File)
		if !nodes {
			all = append(all, l.Files...)
		}
	}
	if nodes {
		for _, n := range c.plan.Graph.Nodes {
			all = append(all, n.ID)
		}
	}
	return all
}

// unknown returns an error for a name that is not in the plan, with hints at similar names.
func unknown(flag, name, what string, known []string) error {
	e := diag.Errorf(diag.Pos{}, "", "%s %s: %s", flag, diag.Redact(name), what)
	base := filepath.Base(name)
	e.Hints = diag.DidYouMean(name, known)
	if len(e.Hints) > 0 {
		return e
	}
	var near []string
	for _, k := range known { // same base name
		if strings.HasSuffix(k, "/"+base) && !slices.Contains(near, k) {
			near = append(near, k)
		}
	}
	if len(near) > 0 {
		e.Hints = append(e.Hints, "there are: "+diag.Some(near))
	} else if len(known) > 0 {
		e.Hints = append(e.Hints, "there are: "+diag.Some(known[:min(len(known), 10)]))
	}
	return e
}

// title returns the caption of the drawing.
func (c *choice) title(o Options, below string) string {
	n := 0
	for _, is := range c.layers {
		if is {
			n++
		}
	}
	text := diag.Plural(n, "layer")
	if len(c.roots) > 0 {
		text = diag.Plural(len(c.roots), "root") + ", " + text
	}
	if o.From != "" {
		text += ", from " + clean(o.From)
	}
	if o.To != "" {
		text += ", to " + clean(o.To)
	}
	if below != "" {
		text += ", below " + clean(below)
	}
	return text
}
