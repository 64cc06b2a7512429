package planner

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// composition makes the nodes of a Composition: each item takes what the one before it gave (CE-01).
func (s *steps) composition() {
	c := s.k.composed
	if c.failed {
		return // reading it has said why
	}
	s.catalogs = c.catalogs
	s.checkCatalogs()
	s.mergeConfig(nil, builtins.DefaultConfig())
	if s.hasList || s.tracking { // what goes on top of a list, or says where it comes from, is each user's own
		for i := range c.items {
			s.composed(place{s.prefix, c, i, c.catalogs})
		}
	} else {
		s.shareItems(c)
	}
	if len(c.items) == 0 {
		s.then(nil, graph.Merge{}, "no transformers") // CE-10
	}
}

// composed makes the nodes of one item.
func (s *steps) composed(p place) {
	it := p.of.items[p.at]
	defer func() {
		it.dir.Close()
		for _, dir := range it.roots() {
			dir.Close()
		}
	}()
	x := &steps{
		build: s.build, dir: it.dir, roots: it.roots(), k: &kustomizationFile{File: &layerfile.File{Source: it.src}}, origin: s.originOf(it),
		prefix: p.layer, reader: s.c.plan.reading.layer(it.brought(), layerfile.CompositionKind), label: p.of.label(it), catalogs: p.catalogs,
		list: s.list, hasList: s.hasList, config: s.config, vars: s.vars,
		item: &graph.Item{Kind: it.id.kind, Name: it.id.name, Place: p.at + 1, Of: len(p.of.items)}, changes: it.origins(),
	}
	before := len(s.c.draft.g.Nodes)
	switch {
	case it.id.apiVersion == "builtin" && (it.id.kind == accumulatorKind || it.id.kind == generatorKind):
		x.accumulate(it)
	case isKustomization(it.id):
		x.inlineKustomization(it)
	case it.id.apiVersion == "builtin" && it.id.kind == helmKind:
		x.ErrorAt(it.src, nil, fmt.Errorf("krmflow does not support helm charts yet")) // BT-08
	case isKustomizeKind(it.id):
		x.ErrorAt(it.src, []any{"kind"}, misplacedKind(it.id.kind))
	default:
		x.configured(it)
	}
	if len(s.c.draft.g.Nodes) == before || s.c.draft.g.Nodes[x.list].Item != x.item {
		x.then(nil, graph.Merge{}, "") // the plan shows every item
	}
	s.list, s.hasList, s.config, s.vars = x.list, x.hasList, x.config, x.vars
}

// isKustomizeKind reports whether an item is a layer that cannot stand in a list.
func isKustomizeKind(id itemID) bool {
	group, _, _ := strings.Cut(id.apiVersion, "/")
	return group == layerfile.Group && (id.kind == layerfile.CompositionKind || id.kind == "Component")
}

func misplacedKind(kind string) error {
	err := diag.Errorf(diag.Pos{}, "", "a %s cannot be an item", kind)
	if kind == layerfile.CompositionKind {
		return err.Hint("import it with transformersFrom, or render it with a %s", accumulatorKind)
	}
	return err.Hint("list it under components of an inline Kustomization")
}

// originOf returns the path of the directory that declares an item from the root of the build.
func (s *steps) originOf(it *item) string {
	rel, err := filepath.Rel(s.dir.Real, it.dir.Real)
	if err != nil {
		return s.origin
	}
	return filepath.Join(s.origin, rel)
}

// accumulate adds the files, Kustomizations and Compositions that an item names (RA-01 to RA-08).
func (s *steps) accumulate(it *item) {
	c := yaml.NewCursor(it.value, func(path ...any) diag.Pos { return it.src.Locate(0, path...) })
	for _, f := range it.value.Fields() {
		switch f.Key {
		case "apiVersion", "kind", "metadata", "paths", "files":
		default:
			s.Warn(it.src, []any{f.Key}, "unknown field %q is ignored", f.Key)
		}
	}
	list := c.Either("paths", "files")
	if !list.Exists() {
		c.Field("paths").Errorf("is missing").Hint("it lists files and directories, as resources of a Kustomization does")
	}
	var texts []string
	for _, x := range list.Items() {
		texts = append(texts, x.Required())
	}
	for _, e := range c.Mistakes() {
		e.Field = it.src.FieldOf(e.Field)
		s.Fail(e)
	}
	if len(c.Mistakes()) > 0 {
		return
	}
	var inputs []graph.NodeID
	for i, text := range texts {
		path := append(list.Path(), i)
		id, l := s.resource(path, text)
		if l != nil {
			s.absorbLayer(path, l)
		}
		if id >= 0 {
			inputs = append(inputs, id)
		}
	}
	s.list, s.hasList = s.node(nil, graph.Merge{}, append(s.inputs(), inputs...), strings.Join(texts, ", ")), true
}

// inlineKustomization runs an item that is a Kustomization on what the items before it gave (KT-01 to KT-05).
func (s *steps) inlineKustomization(it *item) {
	if f := layerfile.Decode(it.src, nil, s.Reporter); f != nil {
		s.k = &kustomizationFile{File: f}
		s.kustomization()
	}
}

// configured runs an item that is a built-in or the configuration of a function.
func (s *steps) configured(it *item) {
	r := krm.NewResource(it.value, s.schema)
	r.Pos = it.src.Locate(0)
	if s.tracking {
		r.Origin = &krm.Origin{Path: filepath.Join(s.origin, filepath.Base(it.src.File))}
	}
	role := function.TransformerRole
	if strings.HasSuffix(it.id.kind, "Validator") {
		role = function.ValidatorRole // BT-03
	}
	if it.id.apiVersion != "builtin" {
		r.SetValue(s.ownRuntime(it))
	}
	e := s.entry(document{r: r, item: it}, role)
	if e == nil || s.call(e) {
		return
	}
	switch b := e.builtin.(type) {
	case builtins.Generator:
		s.then(nil, graph.Generate{Generator: b, Schema: s.schema, Origin: e.origin}, e.summary)
	case builtins.Transformer:
		s.then(nil, graph.Transform{Transformer: b, Origin: e.origin}, e.summary)
	}
}

// ownRuntime returns the configuration of a function. If an override brought the paths of its program or mounts, they and
// the function's directory become those of the overriding file.
func (s *steps) ownRuntime(it *item) yaml.Value {
	v := it.value
	if len(s.roots) == 0 {
		return v
	}
	root := s.dir
	for _, field := range pathFields(it.id) {
		editPaths(v, field, func(path string) string {
			if dir, _ := s.place(path); dir != s.dir && !filepath.IsAbs(path) {
				root = dir
			}
			return path
		})
	}
	if root == s.dir {
		return v
	}
	for _, field := range pathFields(it.id) {
		v = editPaths(v, field, func(path string) string {
			if path == "" || filepath.IsAbs(path) {
				return path
			}
			rel, err := filepath.Rel(root.Real, filepath.Join(it.dir.Real, path))
			if err != nil {
				return path
			}
			return rel
		})
	}
	s.dir, s.roots = root, nil
	return v
}

// useDefaultFields gives a built-in that names no fields those of the field of a Kustomization that it stands for (BT-05). An
// empty list means none (BT-06).
func useDefaultFields(b builtins.Builtin, config yaml.Value) {
	if !config.Get("fieldSpecs").IsNull() {
		return
	}
	d := builtins.DefaultConfig()
	switch t := b.(type) {
	case *builtins.PrefixTransformer:
		t.FieldSpecs = d.NamePrefix
	case *builtins.SuffixTransformer:
		t.FieldSpecs = d.NameSuffix
	case *builtins.PrefixSuffixTransformer:
		t.FieldSpecs = d.NamePrefix
	case *builtins.LabelTransformer:
		t.FieldSpecs = d.CommonLabels
	case *builtins.AnnotationsTransformer:
		t.FieldSpecs = d.CommonAnnotations
	case *builtins.NamespaceTransformer:
		t.FieldSpecs = d.Namespace
	case *builtins.ReplicaCountTransformer:
		t.FieldSpecs = d.Replicas
	case *builtins.ImageTagTransformer:
		t.FieldSpecs = d.Images
	}
}
