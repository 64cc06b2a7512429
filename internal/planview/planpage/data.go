package planpage

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/internal/planview"
	"github.com/krmflow/krmflow/internal/planview/drawing"
	"github.com/krmflow/krmflow/internal/planview/page"
)

// Sizes of boxes in pixels. planpage.js has the same values.
const (
	layerWidth, layerHeight = 220, 46
	stepWidth, stepHeight   = 240, 42
)

// data is the input of the page's script: all items in the graph. Layers, steps, functions and
// roots refer to each other by their indexes in these lists. The JSON keys are short because a
// plan can have tens of thousands of items.
type data struct {
	Layers []layer `json:"layers"`
	// Groups are the boxes of the graph: a layer, or several that start folded.
	Groups []group `json:"groups"`
	// Ways are edges between groups: from, to, and the points on the way.
	Ways      [][]int              `json:"ways"`
	Steps     []step               `json:"steps"`
	Functions []*planview.Function `json:"functions"`
	Roots     []root               `json:"roots"`
	Compared  bool                 `json:"compared"` // whether the plan was compared with another
}

type layer struct {
	File  string   `json:"f"`
	Kind  string   `json:"k"`
	Root  bool     `json:"o,omitempty"`
	Uses  []use    `json:"u,omitempty"`
	Files []string `json:"p,omitempty"`
	Roots []string `json:"r,omitempty"`
	Steps []int    `json:"s,omitempty"`
	Ways  [][]int  `json:"w,omitempty"` // edges between its steps that pass others, as in data.Ways
	change
}

type group struct {
	Layers []int `json:"m"`
	Chain  bool  `json:"c,omitempty"` // consumers first
	Level  int   `json:"v"`           // the longest distance from a group without inputs
	X      int   `json:"x"`
	Y      int   `json:"y"`
}

type use struct {
	Field string `json:"f"`
	Layer int    `json:"l"`
}

type step struct {
	ID      string   `json:"i"`
	Verb    string   `json:"v"`
	Field   string   `json:"o,omitempty"`
	Summary string   `json:"s,omitempty"`
	At      string   `json:"a"`
	Layer   int      `json:"l"`
	X       int      `json:"x"`
	Y       int      `json:"y"`
	Inputs  []int    `json:"n,omitempty"`
	After   []int    `json:"z,omitempty"`
	Call    int      `json:"c,omitempty"` // index in Functions plus one
	Since   string   `json:"h,omitempty"`
	By      []string `json:"b,omitempty"` // steps that changed its configuration
	Item    string   `json:"t,omitempty"`
	Root    int      `json:"r,omitempty"` // index of the root it renders plus one
	change
}

// A change is the change of an item since the other plan: its mark, and the changed fields.
type change struct {
	Mark   string   `json:"m,omitempty"`
	Fields []string `json:"d,omitempty"`
}

type root struct {
	Dir       string   `json:"d"`
	Step      int      `json:"s"` // -1 if there is none
	Resources []string `json:"k,omitempty"`
}

// A builder builds data from a plan.
type builder struct {
	data
	layers, steps map[string]int
}

// newData returns the data of a plan. old and d are nil without a comparison. Otherwise the data
// also contains the layers and steps that exist only in old, and the changes in d.
func newData(now, old *planview.Document, d *planview.Difference) *data {
	b := &builder{layers: map[string]int{}, steps: map[string]int{}}
	b.Layers, b.Groups, b.Ways, b.Steps, b.Functions, b.Roots = []layer{}, []group{}, [][]int{}, []step{}, []*planview.Function{}, []root{}
	layers, nodes := slices.Clone(now.Layers), slices.Clone(now.Nodes)
	layerOf, stepOf := map[string]planview.Change{}, map[string]planview.Change{}
	if d != nil {
		b.Compared = true
		for _, c := range d.Layers {
			layerOf[c.Name] = c
		}
		for _, c := range d.Nodes {
			stepOf[c.Name] = c
		}
		for _, l := range old.Layers {
			if layerOf[l.File].What == planview.Removed {
				layers = append(layers, l)
			}
		}
		for _, n := range old.Nodes {
			if stepOf[n.ID].What == planview.Removed {
				nodes = append(nodes, n)
			}
		}
	}
	roots := map[string]bool{}
	for _, r := range now.Roots {
		roots[r.Dir] = true
	}
	b.addLayers(layers, layerOf, roots)
	b.addSteps(nodes, stepOf)
	b.addRoots(now)
	b.markLayers(d)
	b.placeLayers()
	b.placeSteps()
	return &b.data
}

func (b *builder) addLayers(layers []planview.Layer, changes map[string]planview.Change, roots map[string]bool) {
	for _, l := range layers {
		b.layers[l.File] = len(b.Layers)
		b.Layers = append(b.Layers, layer{File: page.Text(l.File), Kind: page.Text(l.Kind), Root: roots[path.Dir(l.File)],
			Files: texts(l.Files), Roots: texts(l.Roots), change: changeOf(changes[l.File])})
	}
	for _, l := range layers {
		at := &b.Layers[b.layers[l.File]]
		for _, u := range l.Uses {
			if used, ok := b.layers[u.Layer]; ok {
				at.Uses = append(at.Uses, use{page.Text(u.Field), used})
			}
		}
	}
}

// elsewhere is the name of a pseudo layer for steps that no layer configures: fetches of images
// and programs.
const elsewhere = "images and programs of functions"

// layerOf returns the index of the layer of a step. It adds the pseudo layer if necessary.
func (b *builder) layerOf(n *planview.Node) int {
	at, ok := b.layers[n.Origin.File]
	if ok && n.Verb != "fetch" {
		return at
	}
	if at, ok = b.layers["\x00"]; !ok {
		at = len(b.Layers)
		b.layers["\x00"] = at
		b.Layers = append(b.Layers, layer{File: elsewhere})
	}
	return at
}

func (b *builder) addSteps(nodes []planview.Node, changes map[string]planview.Change) {
	for i := range nodes {
		b.steps[nodes[i].ID] = i
	}
	places := func(ids []string) (list []int) {
		for _, id := range ids {
			if i, ok := b.steps[id]; ok {
				list = append(list, i)
			}
		}
		return list
	}
	for i := range nodes {
		n := &nodes[i]
		s := step{ID: page.Text(n.ID), Verb: page.Text(n.Verb), Field: page.Text(n.Origin.Field), Summary: page.Text(n.Summary),
			At: place(n.Origin.File, n.Origin.Line), Layer: b.layerOf(n),
			Inputs: places(n.Inputs), After: places(n.After), Since: page.Text(n.Since), change: changeOf(changes[n.ID])}
		by := n.Changes
		if n.Item != nil {
			s.Item = page.Text(fmt.Sprintf("%s %s, item %d of %d", n.Item.Kind, n.Item.Name, n.Item.Place, n.Item.Of))
			by = n.Item.Changes
		}
		for _, o := range by {
			s.By = append(s.By, strings.TrimSuffix(place(o.File, o.Line)+" "+page.Text(o.Field), " "))
		}
		if n.Function != nil {
			b.Functions = append(b.Functions, shown(n.Function))
			s.Call = len(b.Functions)
		}
		b.Steps = append(b.Steps, s)
		l := &b.Layers[s.Layer]
		l.Steps = append(l.Steps, i)
	}
}

// shown returns a copy of a function whose texts are safe to show.
func shown(f *planview.Function) *planview.Function {
	c := *f
	for _, s := range []*string{&c.Runtime, &c.Source, &c.Digest, &c.Catalog, &c.CatalogDigest, &c.TrustedBy, &c.Executor, &c.Isolation,
		&c.ListVersion, &c.Cache, &c.Config, &c.ConfigFile, &c.Reason} {
		*s = page.Text(*s)
	}
	c.Args, c.Shadows, c.Denials = texts(c.Args), texts(c.Shadows), texts(c.Denials)
	c.Grants = slices.Clone(c.Grants)
	for i, g := range c.Grants {
		c.Grants[i] = planview.Grant{Capability: page.Text(g.Capability), By: page.Text(g.By)}
	}
	if c.Chart != nil {
		c.Chart = &planview.Chart{Name: page.Text(c.Chart.Name), Version: page.Text(c.Chart.Version), Source: page.Text(c.Chart.Source),
			Digest: page.Text(c.Chart.Digest)}
	}
	return &c
}

func (b *builder) addRoots(doc *planview.Document) {
	for i, r := range doc.Roots {
		at := root{Dir: page.Text(r.Dir), Step: -1, Resources: texts(r.Objects)}
		if s, ok := b.steps[r.Node]; ok {
			at.Step = s
			b.Steps[s].Root = i + 1
		}
		if len(at.Resources) == 0 {
			for _, c := range r.Resources {
				at.Resources = append(at.Resources, page.Text(fmt.Sprintf("%s ×%d", c.Name, c.Count)))
			}
		}
		b.Roots = append(b.Roots, at)
	}
}

// markLayers marks layers as changed if any of their steps or files changed.
func (b *builder) markLayers(d *planview.Difference) {
	if d == nil {
		return
	}
	files := map[string]string{}
	for _, c := range d.Files {
		files[page.Text(c.Name)] = planview.Mark(c.What) + " " + page.Text(c.Name)
	}
	for i := range b.Layers {
		l, n := &b.Layers[i], 0
		for _, s := range l.Steps {
			if b.Steps[s].Mark != "" {
				n++
			}
		}
		for _, file := range l.Files {
			if line := files[file]; line != "" && l.Mark != planview.Mark(planview.Added) && l.Mark != planview.Mark(planview.Removed) {
				l.Fields = append(l.Fields, line)
			}
		}
		if n > 0 {
			l.Fields = append(l.Fields, fmt.Sprintf("%d of %d steps", n, len(l.Steps)))
		}
		if len(l.Fields) > 0 {
			l.Mark = cmp.Or(l.Mark, planview.Mark(planview.Changed))
		}
	}
}

// placeLayers groups the layers as a folded drawing does, and computes the positions of the groups.
// Groups are to the right of the groups they use.
func (b *builder) placeLayers() {
	order, number := b.ordered()
	list := make([]drawing.Layer, len(order))
	var uses []drawing.Use
	for k, i := range order {
		l := &b.Layers[i]
		list[k] = drawing.Layer{Kind: l.Kind, Root: l.Root, Look: b.look(l)}
		for _, u := range l.Uses {
			if from := number[u.Layer] - 1; from < k { // the union of two plans can have a cycle
				uses = append(uses, drawing.Use{From: from, To: k, Field: u.Field})
			}
		}
	}
	groups, chains := drawing.Group(list, uses)
	in := make([]int, len(order))
	for g, members := range groups {
		one := group{Chain: chains[g]}
		for _, k := range members {
			in[k] = g
			one.Layers = append(one.Layers, order[k])
		}
		b.Groups = append(b.Groups, one)
	}
	var edges [][2]int
	seen := map[[2]int]bool{}
	for _, u := range uses {
		e := [2]int{in[u.From], in[u.To]}
		if e[0] < e[1] && !seen[e] {
			seen[e] = true
			edges = append(edges, e)
		}
	}
	slices.SortFunc(edges, func(x, y [2]int) int { return slices.Compare(x[:], y[:]) })
	for _, e := range edges { // edges into a group come before edges out of it
		b.Groups[e[1]].Level = max(b.Groups[e[1]].Level, b.Groups[e[0]].Level+1)
	}
	boxes, passes := drawing.Place(len(groups), layerWidth, layerHeight, edges)
	for g := range groups {
		b.Groups[g].X, b.Groups[g].Y = boxes[g].X, boxes[g].Y
	}
	for k, e := range edges {
		b.Ways = append(b.Ways, way(e[0], e[1], passes[k]))
	}
}

// look describes the appearance of a layer, apart from its kind.
func (b *builder) look(l *layer) string {
	look := l.Mark
	for _, s := range l.Steps {
		if call := b.Steps[s].Call; call > 0 && !b.Functions[call-1].Allowed {
			return look + " denied"
		}
	}
	return look
}

// ordered returns the layers in topological order, and the place of each in it, from 1.
func (b *builder) ordered() (order, number []int) {
	order, number = make([]int, 0, len(b.Layers)), make([]int, len(b.Layers))
	var visit func(i int)
	visit = func(i int) {
		if number[i] != 0 {
			return
		}
		number[i] = -1
		for _, u := range b.Layers[i].Uses {
			visit(u.Layer)
		}
		order = append(order, i)
		number[i] = len(order)
	}
	for i := range b.Layers {
		visit(i)
	}
	return order, number
}

func way(from, to int, passes []drawing.Point) []int {
	w := []int{from, to}
	for _, p := range passes {
		w = append(w, p.X, p.Y)
	}
	return w
}

// placeSteps computes the positions of the steps of each layer, relative to the layer.
func (b *builder) placeSteps() {
	local := make([]int, len(b.Steps))
	for i := range b.Layers {
		l := &b.Layers[i]
		for k, s := range l.Steps {
			local[s] = k
		}
		var edges [][2]int
		for k, s := range l.Steps {
			for _, in := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(b.Steps[s].Inputs, b.Steps[s].After)))) {
				if b.Steps[in].Layer == i && local[in] < k {
					edges = append(edges, [2]int{local[in], k})
				}
			}
		}
		boxes, passes := drawing.Place(len(l.Steps), stepWidth, stepHeight, edges)
		wrap(boxes, edges, passes)
		for k, s := range l.Steps {
			b.Steps[s].X, b.Steps[s].Y = boxes[k].X, boxes[k].Y
		}
		for k, e := range edges {
			if len(passes[k]) > 0 {
				l.Ways = append(l.Ways, way(l.Steps[e[0]], l.Steps[e[1]], passes[k]))
			}
		}
	}
}

// wrap breaks a layout that is much wider than it is high into several rows, like lines of text.
// Most layers are one long chain.
func wrap(boxes []drawing.Point, edges [][2]int, passes [][]drawing.Point) {
	const gap, aspect = 44, 1.8
	w, h := 0, 0
	for _, at := range boxes {
		w, h = max(w, at.X+stepWidth+gap), max(h, at.Y+stepHeight+gap)
	}
	rows := int(math.Sqrt(float64(w) / (aspect * float64(h+1))))
	if rows < 2 || w < 8*(stepWidth+gap) {
		return
	}
	columns := (w/(stepWidth+gap) + rows - 1) / rows
	row := make([]int, len(boxes))
	move := func(at *drawing.Point, row int) { at.X, at.Y = at.X-row*columns*(stepWidth+gap), at.Y+row*h }
	for i := range boxes {
		row[i] = boxes[i].X / (columns * (stepWidth + gap))
		move(&boxes[i], row[i])
	}
	for i, e := range edges {
		if row[e[0]] != row[e[1]] {
			passes[i] = nil
		}
		for k := range passes[i] {
			move(&passes[i][k], row[e[0]])
		}
	}
}

func changeOf(c planview.Change) change {
	out := change{Mark: planview.Mark(c.What)}
	for _, f := range c.Fields {
		out.Fields = append(out.Fields, page.Text(f.String()))
	}
	return out
}

// texts returns the list in the form of [page.Text].
func texts(list []string) (all []string) {
	for _, s := range list {
		all = append(all, page.Text(s))
	}
	return all
}

// place returns a location in the form file:line, without the line if it is 0.
func place(file string, line int) string {
	if line > 0 {
		file = fmt.Sprintf("%s:%d", file, line)
	}
	return page.Text(file)
}
