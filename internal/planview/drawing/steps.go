package drawing

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/krmflow/krmflow/graph"
)

// stepParts returns a part for each run of selected steps.
func (c *choice) stepParts() parts {
	var p parts
	into := c.runs()
	number := map[int]int{}
	for i, n := range c.plan.Graph.Nodes {
		if !c.nodes[i] {
			continue
		}
		at, ok := number[into[i]]
		if !ok {
			at = len(p.list)
			number[into[i]] = at
			p.list = append(p.list, c.runOf(n))
		}
		p.list[at].add(c, n)
	}
	for i, n := range c.plan.Graph.Nodes {
		if !c.nodes[i] {
			continue
		}
		for _, in := range n.Inputs {
			p.addEdge(number, into, int(in), i, asInput)
		}
		for _, in := range n.After {
			p.addEdge(number, into, int(in), i, asOrder)
		}
	}
	of := map[string]graph.NodeID{}
	for _, r := range c.roots {
		p.list[number[into[r.Node]]].roots++
		of[r.Dir] = r.Node
	}
	for _, r := range c.roots {
		for _, name := range c.plan.After[r.Dir] {
			if before, drawn := of[name]; drawn {
				p.addEdge(number, into, int(before), int(r.Node), asDependency)
			}
		}
	}
	p.edges = distinct(p.edges)
	return p.reordered()
}

func (p *parts) addEdge(number map[int]int, into []int, from, to int, way string) {
	a, known := number[into[from]]
	if b := number[into[to]]; known && a != b {
		p.edges = append(p.edges, edge{from: a, to: b, ways: []string{way}})
	}
}

// runs returns, for each node, the representative of its run. A run is a chain of steps of one
// layer in which each step takes the list of the previous one and no other step does. Only the
// output of a root may have further consumers. Files loaded for a run belong to it.
//
// Calls and fetches are never part of a run, see [alone]. A step that absorbs the results of
// generators belongs to the run of its consumer.
func (c *choice) runs() []int {
	nodes := c.plan.Graph.Nodes
	users := make([]int, len(nodes))
	for i, n := range nodes {
		if c.nodes[i] {
			for in := range n.Before() {
				users[in]++
			}
		}
	}
	into := make([]int, len(nodes))
	for i := range into {
		into[i] = i
	}
	for i := len(nodes) - 1; i >= 0; i-- {
		n := nodes[i]
		if !c.nodes[i] || alone(n) {
			continue
		}
		_, finishes := n.Op.(graph.Finish)
		_, absorbs := n.Op.(graph.Absorb)
		for _, in := range n.Inputs {
			before := nodes[in]
			_, loads := before.Op.(graph.Load)
			switch {
			case before.Layer != n.Layer || alone(before):
			case finishes && users[in] > 1: // the output of the root has other consumers
				into[i] = int(in)
			case users[in] == 1 && (loads || absorbs || len(n.Inputs) == 1):
				into[in] = into[i]
			}
		}
	}
	for i := range into {
		into[i] = into[into[i]]
	}
	return into
}

// alone reports whether a node is drawn as a box of its own. Calls and fetches are, because
// readers of a plan look for external programs first.
func alone(n *graph.Node) bool {
	switch n.Op.(type) {
	case graph.Call, graph.Fetch:
		return true
	}
	return false
}

// runOf returns the part for the run that contains n, without steps.
func (c *choice) runOf(n *graph.Node) part {
	names := strings.Split(n.Layer, " > ")
	var dirs []string
	for file := range strings.SplitSeq(names[len(names)-1], " + ") {
		dirs = append(dirs, filepath.Dir(file))
	}
	p := part{names: []string{strings.Join(dirs, " + ")}, kind: kustomization}
	if i, ok := c.layerOf(n); ok {
		p.kind = kindClass(c.all[i].Kind)
	}
	if len(names) > 1 {
		user, _, _ := strings.Cut(names[len(names)-2], "#")
		p.note = "in " + clean(short(filepath.Dir(user), lineWidth-12))
	}
	if _, fetches := n.Op.(graph.Fetch); fetches {
		p = part{names: []string{n.ID}, kind: plain}
	}
	p.tips = []string{clean(n.Layer)}
	return p
}

// add adds a step to a run.
func (p *part) add(c *choice, n *graph.Node) {
	field := strings.TrimPrefix(strings.TrimPrefix(n.ID, n.Layer), "#")
	field = strings.TrimSuffix(field, "."+n.Op.Verb())
	if len(p.tips) < maxTip { // details are in the file
		p.tips = append(p.tips, stepTip(n, field))
	} else {
		p.tips = append(p.tips, "") // counted only
	}
	why, no := denial(c.plan, n)
	if no {
		p.tips = append(p.tips, why)
	}
	p.steps = append(p.steps, stepLine(n, field, no))
	if verb := n.Op.Verb(); !slices.Contains(p.verbs, verb) {
		p.verbs = append(p.verbs, verb)
	}
}

// stepTip returns the location and the description of a step.
func stepTip(n *graph.Node, field string) string {
	tip := n.Origin.Pos().String() + ": " + n.Op.Verb()
	if field != n.Op.Verb() {
		tip += " " + field
	}
	if n.Summary != "" {
		tip += ": " + n.Summary
	}
	return clean(tip)
}

// stepLine returns the line of a step: its verb, unless the field implies it, the field and the
// summary.
func stepLine(n *graph.Node, field string, no bool) line {
	l := line{verb: verbClass(n.Op.Verb())}
	verb := n.Op.Verb() + " "
	switch {
	case no:
		l.verb, verb = denied, "denied: "
	case l.verb == transforms || l.verb == generates:
		verb = ""
	}
	l.like = clean(verb + field)
	given := n.Summary
	switch _, loads := n.Op.(graph.Load); {
	case loads:
		field, given = "", filepath.Base(given)
	case l.verb == others && (field+" " == verb || field == "resources"):
		field = ""
	case n.Item != nil && strings.HasSuffix(field, "/"+n.Item.Name): // the summary repeats the name
		given = ""
	}
	l.text = strings.TrimSpace(verb + clean(field))
	if given != "" {
		l.text += " " + short(clean(given), max(lineWidth-utf8.RuneCountInString(l.text)-1, 12))
	}
	l.text = cut(l.text, lineWidth)
	return l
}

// reordered returns the parts in topological order. A run is listed at its first step, which may
// precede the end of a run that leads to it.
func (p parts) reordered() parts {
	before := make([][]int, len(p.list))
	for _, e := range p.edges {
		before[e.to] = append(before[e.to], e.from)
	}
	number := make([]int, len(p.list))
	var out parts
	var visit func(i int)
	visit = func(i int) {
		if number[i] != 0 {
			return
		}
		number[i] = -1
		for _, b := range before[i] {
			visit(b)
		}
		out.list = append(out.list, p.list[i])
		number[i] = len(out.list)
	}
	for i := range p.list {
		visit(i)
	}
	for _, e := range p.edges {
		out.edges = append(out.edges, edge{from: number[e.from] - 1, to: number[e.to] - 1, ways: e.ways})
	}
	out.edges = distinct(out.edges)
	return out
}
