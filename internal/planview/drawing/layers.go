package drawing

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/layers"
)

// layerParts returns a part for each selected layer. A layer follows the layers it uses.
func (c *choice) layerParts() parts {
	var p parts
	rootsOf := map[int]int{}
	for _, r := range c.roots {
		if l, ok := c.rootLayer(r); ok {
			rootsOf[l]++
		}
	}
	works := c.works()
	number := map[int]int{}
	for _, i := range c.ordered() {
		l := c.all[i]
		number[i] = len(p.list)
		p.list = append(p.list, part{names: []string{filepath.Dir(l.File)}, kind: kindClass(l.Kind), roots: rootsOf[i],
			tally: []tally{works[i].tally}, tips: works[i].tip(l)})
	}
	for _, i := range c.ordered() {
		for _, u := range c.all[i].Uses {
			if from, drawn := number[c.number[u.Layer]]; drawn && from != number[i] && !c.left[layers.Step{From: c.all[i].File, Use: u}] {
				p.edges = append(p.edges, edge{from: from, to: number[i], ways: []string{wayOf(u.Field)}})
			}
		}
	}
	for i, after := range c.after() {
		for _, before := range after {
			p.edges = append(p.edges, edge{from: number[before], to: number[i], ways: []string{asDependency}})
		}
	}
	p.edges = distinct(p.edges)
	return p
}

// rootLayer returns the index of the layer of a root. The steps of a GitOps object are configured
// in the file of the object, which is not a layer.
func (c *choice) rootLayer(r graph.Root) (int, bool) {
	n := c.plan.Graph.Nodes[r.Node]
	if l, ok := c.layerOf(n); ok {
		return l, true
	}
	l, ok := c.number[n.Layer]
	return l, ok
}

// after returns the selected layers of the roots that are applied before the root of a layer.
func (c *choice) after() map[int][]int {
	of := map[string]int{}
	for _, r := range c.roots {
		if l, ok := c.rootLayer(r); ok && c.layers[l] {
			of[r.Dir] = l
		}
	}
	after := map[int][]int{}
	for _, r := range c.roots {
		l, ok := of[r.Dir]
		for _, name := range c.plan.After[r.Dir] {
			if before, drawn := of[name]; ok && drawn && before != l {
				after[l] = append(after[l], before)
			}
		}
	}
	return after
}

// ordered returns the selected layers in topological order: each follows the layers it uses, and
// those of the roots that are applied before it.
func (c *choice) ordered() (order []int) {
	done, after := make([]bool, len(c.all)), c.after()
	var visit func(i int)
	visit = func(i int) {
		if done[i] {
			return
		}
		done[i] = true
		for _, before := range after[i] {
			visit(before)
		}
		for _, u := range c.all[i].Uses {
			visit(c.number[u.Layer])
		}
		if c.layers[i] {
			order = append(order, i)
		}
	}
	for i := range c.all {
		visit(i)
	}
	return order
}

// work summarizes the steps of a layer.
type work struct {
	tally
	kinds map[string]int // loaded resources by kind
	notes []string       // about all other steps
	seen  map[string]bool
}

// works returns the work of each layer. A step that occurs in several roots is counted once.
func (c *choice) works() []work {
	all := make([]work, len(c.all))
	for _, n := range c.plan.Graph.Nodes {
		i, ok := c.layerOf(n)
		if !ok {
			continue
		}
		w := &all[i]
		if w.seen == nil {
			w.seen, w.kinds = map[string]bool{}, map[string]int{}
		}
		id := n.Op.Verb() + " " + n.Origin.Field()
		if n.Item != nil {
			id += " " + n.Item.Kind + "/" + n.Item.Name
		}
		if w.seen[id] {
			continue
		}
		w.seen[id] = true
		w.add(c.plan, n)
	}
	return all
}

func (w *work) add(p *planner.Plan, n *graph.Node) {
	switch op := n.Op.(type) {
	case graph.Load:
		kinds, err := krm.Kinds(op.Source)
		if err != nil {
			return // already reported by the planner
		}
		for kind := range kinds {
			w.kinds[kind.Kind]++
			w.tally[countResources]++
		}
	case graph.Generate:
		w.tally[countGenerators]++
	case graph.Validate:
		w.tally[countValidators]++
	case graph.Transform:
		switch op.Transformer.(type) {
		case *builtins.PatchTransformer, *builtins.PatchStrategicMergeTransformer, *builtins.PatchJson6902Transformer:
			w.tally[countPatches]++
		default:
			w.tally[countTransformers]++
		}
	case graph.Call:
		why, no := denial(p, n)
		if !no {
			w.tally[countAllowed]++
			break
		}
		w.tally[countDenied]++
		w.notes = append(w.notes, why)
	default:
		return
	}
	if _, loads := n.Op.(graph.Load); !loads && len(w.notes) < maxTip {
		w.notes = append(w.notes, stepTip(n, n.Origin.Field()))
	}
}

// denial returns the reason a call is denied, and whether it is denied.
func denial(p *planner.Plan, n *graph.Node) (why string, no bool) {
	dec := p.Decisions[n.ID]
	if dec == nil || dec.Allowed {
		return "", false
	}
	for _, d := range dec.Denials {
		text, _, _ := strings.Cut(d.Err.Error(), "\n")
		return clean(text), true
	}
	return clean(n.Origin.Pos().String()), true
}

// tip returns the tooltip text of a layer: everything that does not fit into its box.
func (w *work) tip(l *layers.Layer) []string {
	lines := []string{clean(l.File), l.Kind}
	var kinds []string
	for _, k := range slices.Sorted(maps.Keys(w.kinds)) {
		kinds = append(kinds, strconv.Itoa(w.kinds[k])+" "+clean(k))
	}
	if len(kinds) > 0 {
		lines = append(lines, "loads "+strings.Join(kinds, ", "))
	}
	for _, u := range l.Uses {
		lines = append(lines, clean(u.Field+": "+u.Layer))
	}
	lines = append(lines, w.notes...)
	for _, f := range l.Files {
		if f != l.File {
			lines = append(lines, "reads "+clean(f))
		}
	}
	return lines
}

func kindClass(kind string) class {
	switch kind {
	case "Component":
		return component
	case "Composition":
		return composition
	}
	return kustomization
}

// wayOf returns the kind of use for a reference in the given field.
func wayOf(field string) string {
	names := strings.Split(field, ".")
	name, _, _ := strings.Cut(names[len(names)-1], "[")
	switch name {
	case "resources", "bases", "paths":
		return asResource
	case "components":
		return asComponent
	case "path":
		return asImport
	}
	return clean(cmp.Or(name, field))
}
