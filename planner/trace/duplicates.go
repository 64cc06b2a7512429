// Package trace finds the references by which resources became part of a plan.
package trace

import (
	"errors"
	"fmt"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/layers"
)

// Duplicates adds the references that lead to both resources to each error of a run about a
// duplicate resource. It adds nothing if the references are the same, as for a function or a
// chart that makes a resource twice.
//
// The graph does not have these references: a layer that only lists a different layer adds no
// node, and two references to one layer lead to the same nodes. Therefore Duplicates searches the
// references between layers.
func Duplicates(p *planner.Plan, failed []error) {
	var t *tracer
	for _, err := range failed {
		var step interface {
			error
			Step() *graph.Node
		}
		var e *krm.DuplicateError
		if !errors.As(err, &step) || !errors.As(err, &e) {
			continue
		}
		if t == nil {
			t = &tracer{plan: p, layers: p.Layers()}
		}
		e.Ways = t.duplicate(step.Step(), e)
	}
}

// A tracer finds paths of references from one layer to others.
type tracer struct {
	plan   *planner.Plan
	layers *layers.Graph
}

// A search describes the paths to a resource.
type search struct {
	// to is the position of the resource. If it is unknown, to is the zero Pos and the path ends
	// at the first layer.
	to diag.Pos
	// entry is the first field of the path, "" for any.
	entry string
	// without is a layer that is not visited.
	without string

	ends  map[string][]end
	leads map[string]bool // whether a layer leads to an end, by its file
}

// An end is the last reference of a path: the entry of a layer that loads the file of the
// resource, and that file.
type end struct{ field, text string }

const arrow = " -> "

// duplicate returns the paths to both resources of e, the error of a node. It returns nil if they
// are unknown.
func (t *tracer) duplicate(n *graph.Node, e *krm.DuplicateError) []string {
	layer, root := n.Origin.File(), t.root(n)
	if t.layers.Layer(layer) == nil {
		return nil // a step of a GitOps object, whose file is not a layer
	}
	var found []string
	switch {
	case e.Inputs != [2]int{}: // a merge
		// The layer's entries follow the list that a Component is applied to.
		before := 0
		if t.layers.Layer(layer).Kind == "Component" {
			before = 1
		}
		if at := e.Inputs[1] - before; at >= 0 {
			e.Entry = t.entry(n, at)
		}
		for i, to := range []diag.Pos{e.First, e.Second} {
			if at := e.Inputs[i] - before; at < 0 && to.File == "" {
				return nil
			} else if at < 0 {
				found = append(found, t.ways(root, search{to: to, without: layer}, 1)...)
			} else {
				found = append(found, t.from(root, layer, t.ways(layer, search{to: to, entry: fmt.Sprintf("resources[%d]", at)}, 1))...)
			}
		}
	case e.First.File == "" || e.Second.File == "": // made by a step, which the message names
	case e.First == e.Second:
		found = t.from(root, layer, t.ways(layer, search{to: e.First}, 2))
	default:
		start := layer
		if t.layers.Layer(layer).Kind == "Component" {
			start = root
		}
		found = append(t.ways(start, search{to: e.First}, 1), t.ways(start, search{to: e.Second}, 1)...)
		found = t.from(root, start, found)
	}
	if len(found) < 2 {
		return nil
	}
	return found
}

// entry returns the entry at an index of the field of a merge, nil if the field has none.
func (t *tracer) entry(n *graph.Node, at int) []any {
	if len(n.Origin.Path) != 1 || at >= n.Origin.Value().Len() {
		return nil
	}
	return []any{at}
}

// root returns the layer of the first root that needs a node.
func (t *tracer) root(n *graph.Node) string {
	for _, needs := range t.plan.Graph.RootsThatNeed(map[string]bool{n.ID: true}) {
		for _, root := range t.plan.RootLayers() {
			if diag.Redact(root.Field) == needs.Dir {
				return root.Layer
			}
		}
	}
	return n.Origin.File()
}

// from prefixes paths that start at a layer with the path from a root to the layer.
func (t *tracer) from(root, layer string, ways []string) (all []string) {
	before := ""
	if root != layer {
		s := search{ends: map[string][]end{layer: {{}}}}
		if to := t.find(root, s, 1); len(to) > 0 {
			before = to[0]
		}
	}
	for _, way := range ways {
		all = append(all, before+way)
	}
	return all
}

// ways returns the first paths from a layer to a resource, at most most, in the order of the
// references.
func (t *tracer) ways(layer string, s search, most int) []string {
	s.ends = t.ends(layer, s)
	return t.find(layer, s, most)
}

// find returns the first paths from a layer to the ends of a search.
func (t *tracer) find(layer string, s search, most int) (ways []string) {
	s.leads = map[string]bool{s.without: false}
	t.mark(layer, s)
	var walk func(file, way, entry string)
	walk = func(file, way, entry string) {
		for _, end := range s.ends[file] {
			if len(ways) < most && (entry == "" || end.field == entry) {
				ways = append(ways, way+end.text)
			}
		}
		for _, u := range t.layers.Layer(file).Uses {
			if len(ways) < most && s.leads[u.Layer] && (entry == "" || u.Field == entry) {
				walk(u.Layer, way+t.step(file, u)+arrow, "")
			}
		}
	}
	walk(layer, "", s.entry)
	return ways
}

// mark records the layers that lead to an end. A walk that visits only these always finds an end.
func (t *tracer) mark(file string, s search) bool {
	if known, ok := s.leads[file]; ok {
		return known
	}
	leads := len(s.ends[file]) > 0
	s.leads[file] = leads
	for _, u := range t.layers.Layer(file).Uses {
		leads = t.mark(u.Layer, s) || leads
	}
	s.leads[file] = leads
	return leads
}

// ends returns the ends of the paths from a layer to a resource, by the file of the layer with
// the resource. An end is the entry that loads its file, or only its position if the layer makes
// it.
func (t *tracer) ends(layer string, s search) map[string][]end {
	ends := map[string][]end{}
	if s.to.File == "" {
		for _, u := range t.layers.Layer(layer).Uses {
			ends[u.Layer] = []end{{text: u.Layer}}
		}
		return ends
	}
	for _, n := range t.plan.Graph.Nodes {
		load, ok := n.Op.(graph.Load)
		if !ok || load.Source.File != s.to.File {
			continue
		}
		file, field := n.Origin.File(), n.Origin.Field()
		e := end{field, n.Origin.Pos().String() + ": " + field + arrow + s.to.String()}
		// A layer planned in two variants loads its files twice.
		if !slices.Contains(ends[file], e) {
			ends[file] = append(ends[file], e)
		}
	}
	if len(ends) > 0 {
		return ends
	}
	for _, l := range t.layers.All() {
		if slices.Contains(l.Files, s.to.File) {
			ends[l.File] = []end{{text: s.to.String()}}
		}
	}
	return ends
}

// step formats a reference from one layer to another.
func (t *tracer) step(file string, u layers.Use) string {
	l := t.layers.Layer(file)
	if text := l.Text(u); text != "" {
		return fmt.Sprintf("%s: %s %q", l.Place(u), u.Field, diag.Redact(text))
	}
	return l.Place(u).String() + ": " + u.Field
}
