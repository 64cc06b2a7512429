package planner

import (
	"bytes"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/internal/place"
	"github.com/krmflow/krmflow/planner/internal/trusted"
	"github.com/krmflow/krmflow/planner/layerfile"
	"github.com/krmflow/krmflow/planner/layers"
	"github.com/krmflow/krmflow/planner/report"
)

// steps is the compilation of one layer: its current list and the associated state.
type steps struct {
	*build
	dir    *loaders.Dir
	k      *kustomizationFile
	origin place.Place   // if origins are tracked
	prefix string        // of node ids
	alone  bool          // see [graph.Node.Alone]
	empty  int           // number of files in resources without a resource
	reader *layers.Layer // the record of the layer's files and references
	// catalogs are searched first for the layer's functions.
	catalogs []catalog.Listed
	// label precedes the fields in node ids. item is the item of a Composition that is being
	// planned, if any; roots are then the directories of the overrides that changed it.
	label   string
	item    *graph.Item
	roots   []*loaders.Dir
	changes []graph.Origin // to the item

	list    graph.NodeID
	hasList bool
	config  *builtins.Config
	vars    builtins.VarSet
}

// The parts of compiling a layer. Each adds the methods of one subject to steps.
type (
	// fieldSteps compiles the fields of a Kustomization, in kustomize's order.
	fieldSteps struct{ *steps }
	// itemSteps compiles the items of a Composition.
	itemSteps struct{ *steps }
	// functionSteps compiles entries of generators, transformers and validators: built-ins,
	// functions and charts.
	functionSteps struct{ *steps }
	// configSteps reads the configurations that such entries name.
	configSteps struct{ *steps }
)

func (s *steps) fields() fieldSteps       { return fieldSteps{s} }
func (s *steps) items() itemSteps         { return itemSteps{s} }
func (s *steps) functions() functionSteps { return functionSteps{s} }
func (s *steps) configs() configSteps     { return configSteps{s} }

// node appends a node for the field at path of this layer.
func (s *steps) node(path []any, op graph.Op, inputs []graph.NodeID, summary string) graph.NodeID {
	return s.add(&graph.Node{
		ID:      s.id(path),
		Op:      op,
		Inputs:  inputs,
		Summary: summary,
		Origin:  graph.Origin{Source: s.k.Source, Path: path},
		Layer:   s.prefix,
		Item:    s.item,
		Changes: s.changes,
		Alone:   s.alone,
	})
}

// id returns the id of the node for the field at path.
func (s *steps) id(path []any) string {
	field := diag.FieldPath(path)
	switch {
	case s.label == "":
		return s.prefix + "#" + field
	case field == "":
		return s.prefix + "#" + s.label
	}
	return s.prefix + "#" + s.label + "." + field
}

// then appends a node that transforms the current list and makes its output the current list.
func (s *steps) then(path []any, op graph.Op, summary string) {
	s.list = s.node(path, op, s.inputs(), summary)
	s.hasList = true
	if !s.schemaChosen {
		s.use.Step(s.c.draft.g, s.list, op)
	}
}

func (s *steps) inputs() []graph.NodeID {
	if !s.hasList {
		return nil
	}
	return []graph.NodeID{s.list}
}

// ErrorAt records a mistake at a field of this layer, unless it is a consequence of a field that
// could not be read.
func (s *steps) ErrorAt(src *yaml.Source, path []any, err error) {
	for _, e := range report.Mistakes(err) {
		if src != s.k.Source || !builtins.IsMissing(e) || !s.k.IsUnread(path) {
			s.build.ErrorAt(src, path, e)
		}
	}
}

func (s *steps) read(path string) (*yaml.Source, error) {
	if path == "" {
		return nil, layerfile.ErrNoPath
	}
	dir, path := s.place(path)
	src, err := s.c.files.Read(dir, path)
	if err == nil {
		s.noteFetched(src)
		s.reader.Files = append(s.reader.Files, src.File)
	}
	return src, err
}

// noteFetched counts a file if it was fetched.
func (b *build) noteFetched(src *yaml.Source) {
	if b.c.files.IsFetched(src) {
		b.fetchedFiles++
	}
}

// place returns the directory that path is relative to, which also determines the load
// restrictions: the directory of the layer, or of the override that introduced the path.
func (s *steps) place(path string) (*loaders.Dir, string) {
	if len(s.roots) == 0 || filepath.IsAbs(path) {
		return s.dir, path
	}
	abs := filepath.Join(s.dir.Real, path)
	if diag.Within(abs, s.dir.Real) {
		return s.dir, path
	}
	for _, root := range s.roots {
		if rel, err := filepath.Rel(root.Real, abs); err == nil && filepath.IsLocal(rel) {
			return root, rel
		}
	}
	return s.dir, path
}

// env returns the environment of the built-in configured at path.
func (s *steps) env(path []any) builtins.Env {
	warn := func(w *diag.Error) { s.warnText(path, w) }
	place := func(part ...any) diag.Pos { return s.k.Source.Locate(0, append(slices.Clip(path), part...)...) }
	return builtins.Env{Read: s.read, Warn: warn, Place: place, Schema: s.schema, SchemaAt: s.schemaAt,
		Folder: filepath.Base(s.dir.Real)}
}

// resources appends the files and layers in the field resources.
func (s fieldSteps) resources() {
	var inputs []graph.NodeID
	for i, text := range s.k.Resources {
		path := s.k.ResourcePaths[i]
		if id, l := s.resource(path, text); l != nil {
			inputs = append(inputs, id)
			s.absorbLayer(path, l)
		} else if id >= 0 {
			inputs = append(inputs, id)
		}
	}
	s.alone = s.alone || s.empty > 0 && s.empty == len(s.k.Resources)
	s.merge([]any{"resources"}, inputs)
}

// merge combines the current list and the inputs into one list.
func (s fieldSteps) merge(path []any, inputs []graph.NodeID) {
	if s.hasList {
		if len(inputs) == 0 {
			return
		}
		inputs = append([]graph.NodeID{s.list}, inputs...)
	}
	if len(inputs) == 1 {
		s.list, s.hasList = inputs[0], true
		return
	}
	s.list, s.hasList = s.node(path, graph.Merge{}, inputs, fmt.Sprintf("%d lists", len(inputs))), true
}

// absorbLayer merges in the transformer configuration and vars of a layer whose list is an input.
func (s fieldSteps) absorbLayer(path []any, l *layer) {
	if l.k != nil && l.k.SortOptions != nil {
		s.warnUnread(l, "sortOptions")
	}
	if l.k != nil && len(l.k.BuildMetadata) > 0 {
		s.warnUnread(l, "buildMetadata")
	}
	s.mergeConfig(path, l.config)
	vars, err := s.vars.Merge(l.vars)
	if err != nil {
		s.ErrorAt(s.k.Source, path, err)
		return
	}
	s.vars = vars
}

// warnUnread reports a field of a layer below the root that only a root needs.
func (s fieldSteps) warnUnread(l *layer, field string) {
	w := diag.Errorf(diag.Pos{}, l.k.Source.Field([]any{field}), "it has no effect where %s uses this layer: kustomize reads it in the root only", s.k.Source.File)
	w.Pos, w.Also = l.k.Source.Locate(0, field), s.k.Source.File
	s.Warnings.Add(w.With(diag.NoEffectHere))
}

// resource adds one entry of resources: a file (a node of this layer) or a directory (a different
// layer). It returns -1 after recording an error.
func (s fieldSteps) resource(path []any, text string) (graph.NodeID, *layer) {
	if text == "" {
		s.ErrorAt(s.k.Source, path, layerfile.ErrNoPath)
		return -1, nil
	}
	if dir := layerfile.NamedComposition(s.c.files, s.dir, text); dir != "" {
		text = dir
	}
	dir, src, err := s.readUnlessDir(text)
	if err == nil && src == nil {
		l := s.sublayer(path, text, dir)
		if l == nil || l.failed {
			return -1, nil
		}
		s.end(l)
		return l.out, l
	}
	var kinds iter.Seq[krm.GVK]
	if err == nil {
		kinds, err = krm.Kinds(src)
	}
	if err != nil {
		s.ErrorAt(s.k.Source, path, layerfile.ResourceError(text, src, err))
		return -1, nil
	}
	s.Warnings.Add(src.Warnings()...)
	n := 0
	for kind := range kinds {
		s.use.Meets(kind)
		if !schema.KnowsScope(schema.Kind(kind)) {
			s.Warnings.Add(trusted.NotRun(src, n)...)
		}
		n++
	}
	if n == 0 {
		s.empty++
	}
	s.Warnings.Add(trusted.Encrypted(src)...)
	op := graph.Load{Source: src, Schema: s.schema, Origin: s.fileOrigin(text)}
	return s.node(path, op, nil, src.File+" ("+strconv.Itoa(n)+")"), nil
}

// readUnlessDir returns the file at path, or nil if path is a directory. For a fetched directory
// it also returns the directory. A path with the extension of a file is opened without checking
// for a directory first, because trees have many more files than directories.
func (s *steps) readUnlessDir(path string) (*loaders.Dir, *yaml.Source, error) {
	if loaders.IsRemote(path) {
		dir, src, err := s.c.files.FetchAny(s.dir, path)
		if folder, named := layerfile.CompositionDir(path); named && src != nil && layerfile.IsComposition(src) {
			dir, err = s.c.files.FetchDir(s.dir, folder)
			return dir, nil, err
		}
		if src != nil {
			s.noteFetched(src)
			s.reader.Files = append(s.reader.Files, src.File)
		}
		return dir, src, err
	}
	named := strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".yml")
	if !named && s.c.files.IsDir(s.dir, path) {
		return nil, nil, nil
	}
	src, err := s.read(path)
	if err != nil && named && s.c.files.IsDir(s.dir, path) {
		return nil, nil, nil
	}
	return nil, src, err
}

// warnText adds a warning about a text. For a text in the layer's own file at path, the warning's
// position is that field.
func (s *steps) warnText(path []any, w *diag.Error) {
	switch {
	case w.Pos.File != "":
		s.Warnings.Add(w)
	case !s.k.IsUnread(path):
		s.Warn(w.Code, s.k.Source, path, "%w", w)
	}
}

// sublayer compiles the layer named by an entry of resources. dir is its directory; if it is nil,
// text is resolved.
func (s fieldSteps) sublayer(path []any, text string, dir *loaders.Dir) *layer {
	if dir == nil {
		dir = s.enter(path, text)
	} else {
		dir = s.enterDir(path, dir)
	}
	if dir == nil {
		return nil
	}
	defer dir.Close()
	l := s.nested(dir, s.origin.At(dir, text), nil, &reference{s.k.Source, path, text})
	if l == nil {
		return nil
	}
	s.reader.Refer(s.k.Source, path, l.k.Source.File)
	if l.k.Kind == "Component" {
		s.ErrorAt(s.k.Source, path, diag.Errorf(diag.Pos{}, "", "%q is a Component",
			text).With(diag.Misplaced).Hint("list it under components"))
		return nil
	}
	return l
}

func (s *steps) fileOrigin(text string) *krm.Origin {
	if !s.tracking {
		return nil
	}
	return s.origin.Origin(text)
}

// builtinOrigin returns the origin that kustomize records for resources generated or changed by
// the built-in of a kustomization field.
func (s *steps) builtinOrigin(kind string) *krm.Origin {
	if !s.tracking {
		return nil
	}
	return &krm.Origin{
		Repo: s.origin.Repo, Ref: s.origin.Ref,
		ConfiguredIn: filepath.Join(s.origin.Path, filepath.Base(s.k.Source.File)),
		ConfiguredBy: krm.ID{GVK: krm.ParseGVK("builtin", kind)},
	}
}

// configurations merges the default transformer configuration with those of the layer's files and
// CRDs.
func (s fieldSteps) configurations() {
	var files []*builtins.Config
	for i, text := range s.k.Configurations {
		if c := new(builtins.Config); s.decodeFile([]any{"configurations", i}, text, c) {
			files = append(files, c)
		}
	}
	config := builtins.DefaultConfig()
	if len(files) > 0 {
		var err error
		if config, err = builtins.LayerConfig(files...); err != nil {
			s.ErrorAt(s.k.Source, []any{"configurations"}, err)
			return
		}
	}
	s.mergeConfig([]any{"configurations"}, config)
	for i, text := range s.k.CRDs {
		path := []any{"crds", i}
		if crds, err := s.crds(text); err != nil {
			s.ErrorAt(s.k.Source, path, err)
		} else {
			s.mergeConfig(path, crds)
		}
	}
}

func (s fieldSteps) crds(text string) (*builtins.Config, error) {
	src, err := s.read(text)
	if err != nil {
		return nil, err
	}
	v, err := src.Value()
	if err != nil {
		return nil, err
	}
	// kustomize then parses it strictly as JSON.
	if bytes.HasPrefix(src.Data, []byte("{")) {
		if err := src.Repeated(); err != nil {
			return nil, err
		}
	}
	s.Warnings.Add(src.Warnings()...)
	return builtins.CRDConfig(v)
}

func (s fieldSteps) mergeConfig(path []any, more *builtins.Config) {
	merged, err := s.config.Merge(more)
	if err != nil {
		s.ErrorAt(s.k.Source, path, err)
		return
	}
	s.config = merged
}

// decodeFile strictly decodes a file that the layer names and reports success.
func (s *steps) decodeFile(path []any, text string, into any) bool {
	src, err := s.read(text)
	if err != nil {
		s.ErrorAt(s.k.Source, path, err)
		return false
	}
	v, err := src.Value()
	if err != nil {
		s.ErrorAt(s.k.Source, path, err)
		return false
	}
	if err := src.Repeated(); err != nil {
		s.Fail(err)
		return false
	}
	s.Warnings.Add(src.Warnings()...)
	errs := yaml.Decoding{ScalarsAsText: true}.Decode(v, into)
	s.FailIn(src, errs)
	return len(errs) == 0
}

// components applies each component to the current list.
func (s fieldSteps) components() {
	for i, text := range s.k.Components {
		path := []any{"components", i}
		dir := s.enter(path, text)
		if dir == nil {
			continue
		}
		s.component(path, text, dir)
		dir.Close()
	}
}

func (s fieldSteps) component(path []any, text string, dir *loaders.Dir) {
	if k := s.load(dir, &reference{s.k.Source, path, text}); k == nil {
		return
	} else if k.IsUnread([]any{"kind"}) || k.Kind != "Component" && k.Kind != "Kustomization" && k.composed == nil {
		return // loading it reported the error
	} else if k.Kind != "Component" {
		s.ErrorAt(s.k.Source, path, diag.Errorf(diag.Pos{}, "", "%q is a %s, not a Component", text, k.Kind).With(diag.Misplaced).Hint(
			"list it under resources, or make it one: apiVersion: %s, kind: Component", layerfile.ComponentVersion))
		return
	}
	parent := &layerState{list: s.list, config: s.config, vars: s.vars, prefix: s.id(path), alone: s.alone}
	l := s.nested(dir, s.origin.At(dir, text), parent, nil)
	if l == nil {
		return
	}
	s.reader.Refer(s.k.Source, path, l.k.Source.File)
	if l.failed {
		return
	}
	s.end(l)
	s.list, s.vars = l.out, l.vars
	// kustomize merges a component's resulting configuration into an empty one. In that order,
	// entries may contradict each other.
	s.config = &builtins.Config{}
	s.mergeConfig(path, l.config)
}

// varsStep records the resources that provide the values of the layer's vars.
func (s fieldSteps) varsStep() {
	if len(s.k.Vars) == 0 {
		return
	}
	for i := range s.k.Vars {
		s.k.Vars[i].Pos = s.k.Source.Locate(0, "vars", i)
	}
	vars, err := s.vars.Merge(s.k.Vars)
	if err != nil {
		s.ErrorAt(s.k.Source, []any{"vars"}, err)
		return
	}
	s.vars = vars
	s.then([]any{"vars"}, graph.Transform{Transformer: recordVars(s.k.Vars)}, diag.Plural(len(s.k.Vars), "var"))
}

// end marks the last node of a layer with a consumer, if it is a step that can give two resources
// the same identity.
func (s fieldSteps) end(l *layer) {
	n := s.c.draft.g.Nodes[l.out]
	if op, ok := n.Op.(graph.Transform); ok {
		op.Last = true
		n.Op = op
	}
}

// recordVars is the step that records the resources that provide the values of vars.
type recordVars []builtins.Var

func (recordVars) Configure(builtins.Env) error { return nil }

func (v recordVars) Transform(list *krm.List, _ builtins.Warn) error {
	return builtins.RecordVars(list, v)
}
