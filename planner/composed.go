package planner

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner/composition"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// composition adds the nodes of a Composition. Each item transforms the output of the previous
// one (CE-01).
func (s itemSteps) composition() {
	c := s.k.composed
	if c.Failed {
		return // reported when it was read
	}
	s.catalogs = c.Catalogs
	s.functions().checkCatalogs()
	s.fields().mergeConfig(nil, builtins.DefaultConfig())
	defer func(outer charts) { s.build.charts = outer }(s.build.charts)
	s.build.charts = charts{}    // its items may be shared
	if s.hasList || s.tracking { // items on top of a list, or with tracked origins, are not shared
		for i := range c.Items {
			s.composed(composition.Place{Layer: s.prefix, Of: c, At: i, Catalogs: c.Catalogs})
		}
	} else {
		s.shareItems(c)
	}
	if len(c.Items) == 0 {
		s.then(nil, graph.Merge{}, "no transformers") // CE-10
	}
}

// composed adds the nodes of one item.
func (s itemSteps) composed(p composition.Place) {
	it := p.Of.Items[p.At]
	defer func() {
		it.Dir.Close()
		for _, dir := range it.Roots() {
			dir.Close()
		}
	}()
	x := &steps{
		build: s.build, dir: it.Dir, roots: it.Roots(), k: &kustomizationFile{File: &layerfile.File{Source: it.Source}},
		origin: s.origin.Declared(s.dir, it.Dir),
		prefix: p.Layer, reader: s.c.plan.reading.Layer(it.Brought(), layerfile.CompositionKind), label: p.Of.Label(it),
		catalogs: p.Catalogs,
		list:     s.list, hasList: s.hasList, config: s.config, vars: s.vars,
		item: &graph.Item{Kind: it.ID.Kind, Name: it.ID.Name, Place: p.At + 1, Of: len(p.Of.Items)}, changes: originsOf(it),
	}
	before := len(s.c.draft.g.Nodes)
	switch {
	case it.ID.IsAccumulator():
		x.items().accumulate(it)
	case it.ID.IsKustomization():
		x.items().inlineKustomization(it)
	case it.ID.Misplaced() != nil:
		x.ErrorAt(it.Source, []any{"kind"}, it.ID.Misplaced())
	default:
		x.items().configured(it)
	}
	if len(s.c.draft.g.Nodes) == before || s.c.draft.g.Nodes[x.list].Item != x.item {
		x.then(nil, graph.Merge{}, "") // the plan shows every item
	}
	s.list, s.hasList, s.config, s.vars = x.list, x.hasList, x.config, x.vars
}

// originsOf returns the positions of the overrides that changed an item.
func originsOf(it *composition.Item) (list []graph.Origin) {
	for _, src := range it.Overrides() {
		list = append(list, graph.Origin{Source: src})
	}
	return list
}

// accumulate adds the files, Kustomizations and Compositions that an item names (RA-01 to RA-08).
func (s itemSteps) accumulate(it *composition.Item) {
	texts, field, ok := it.Accumulated(s.Reporter)
	if !ok {
		return
	}
	var inputs []graph.NodeID
	for i, text := range texts {
		path := append(slices.Clip(field), i)
		id, l := s.fields().resource(path, text)
		if l != nil {
			s.fields().absorbLayer(path, l)
		}
		if id >= 0 {
			inputs = append(inputs, id)
		}
	}
	s.list, s.hasList = s.node(nil, graph.Merge{}, append(s.inputs(), inputs...), strings.Join(texts, ", ")), true
}

// inlineKustomization applies an item that is a Kustomization to the output of the previous items
// (KT-01 to KT-05).
func (s itemSteps) inlineKustomization(it *composition.Item) {
	if f := layerfile.Decode(it.Source, nil, s.Reporter); f != nil {
		s.k = &kustomizationFile{File: f}
		s.fields().kustomization()
	}
}

// configured adds the step of an item that configures a built-in or a function.
func (s itemSteps) configured(it *composition.Item) {
	r := krm.NewResource(it.Value, s.schema)
	r.Pos = it.Source.Locate(0)
	if s.tracking {
		r.Origin = s.origin.Origin(filepath.Base(it.Source.File))
	}
	role := function.TransformerRole
	if strings.HasSuffix(it.ID.Kind, "Validator") {
		role = function.ValidatorRole // BT-03
	}
	if it.ID.APIVersion != "builtin" {
		r.SetValue(s.ownRuntime(it))
	}
	e := s.functions().entry(document{r: r, item: it}, role)
	if e == nil || s.functions().call(e) {
		return
	}
	switch b := e.builtin.(type) {
	case builtins.Generator:
		s.then(nil, graph.Generate{Generator: b, Schema: s.schema, Origin: e.origin}, e.summary)
	case builtins.Transformer:
		s.then(nil, graph.Transform{Transformer: b, Origin: e.origin}, e.summary)
	}
}

// ownRuntime returns the configuration of a function. If an override introduced the paths of its
// program or mounts, these paths and the function's directory become relative to the overriding
// file.
func (s itemSteps) ownRuntime(it *composition.Item) yaml.Value {
	root := s.dir
	for _, path := range it.Paths() {
		if dir, _ := s.place(path); dir != s.dir {
			root = dir
		}
	}
	if root == s.dir {
		return it.Value
	}
	s.dir, s.roots = root, nil
	return it.From(root)
}
