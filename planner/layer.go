package planner

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/internal/ownschema"
	"github.com/krmflow/krmflow/planner/internal/place"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// A layerKey identifies one build of a directory. Roots share a base: the base is compiled once
// for each different key, and its nodes are in the graph once.
//
// The directory alone is not enough. kustomize keeps global state while it builds a root, so a
// base depends on earlier layers:
//
//   - The first layer in load order with a field openapi chooses the schema of the whole root
//     (schema, schemaChosen). Later openapi fields have no effect. The schema decides how
//     strategic merge patches merge lists.
//   - kustomize reads its own schema at some steps. A custom schema adds to the schema read
//     before, and replaces it otherwise (builtinSchema). This matters only for layers with a
//     custom schema, so the field is zero for all others, and their builds are shared.
//   - buildMetadata of the root makes kustomize record where resources come from (tracking). The
//     recorded path depends on the reference through which a base was reached (origin).
//   - Charts without a namespace take that of the enclosing layer (charts).
//   - A controller edits the first layer for a GitOps object (object).
//
// A component has no key: it modifies the list of its consumer, so it is compiled for each
// consumer.
//
// The complete key is not known before a layer is compiled: the layer's files decide whether it
// has a custom schema, or a chart that inherits a namespace. The lookup in build.known therefore
// tries the plain key first, and the draft (see draft.go) records the plain keys that need more
// fields.
type layerKey struct {
	dir           loaders.DirKey
	schema        *schema.Schema
	builtinSchema schema.Builtin // build.own before the layer, if the layer has a custom schema
	schemaChosen  bool           // a schema was chosen, so the layer's own openapi has no effect
	tracking      bool
	origin        place.Place // if origins are tracked
	charts        string      // the inherited namespace, if charts in the layer use it
	object        string      // the name of the part of a GitOps object, for its first layer
}

// A layer is a compiled Kustomization or Composition, or a Component or Composition compiled on
// top of its consumer's list.
type layer struct {
	name   string // path of the kustomization file
	k      *kustomizationFile
	out    graph.NodeID
	config *builtins.Config
	vars   builtins.VarSet
	failed bool
	errs   diag.Mistakes
	after  schemaState
	use    ownschema.Use // the use by the layer itself
	charts charts
}

// layerState is the input of a component: the list, configuration and vars of its consumer.
type layerState struct {
	list   graph.NodeID
	config *builtins.Config
	vars   builtins.VarSet
	prefix string // of node ids
	alone  bool   // see [graph.Node.Alone]
}

// layer compiles the Kustomization in dir, or the Component if parent is given. origin is the
// place of dir. It returns nil after recording mistakes if the layer cannot be compiled.
func (b *build) layer(dir *loaders.Dir, origin place.Place, parent *layerState, from *reference) *layer {
	key := layerKey{dir: dir.Key(), schema: b.schema, schemaChosen: b.schemaChosen, tracking: b.tracking, origin: origin}
	if !b.tracking {
		key.origin = place.Place{}
	}
	if b.part != nil && len(b.stack) == 0 {
		key.object = b.part.Name
	}
	if parent == nil && len(b.stack) > 0 {
		if l := b.reuse(key); l != nil {
			return l
		}
	}
	k := b.load(dir, from)
	if k == nil {
		return nil
	}
	if len(b.stack) == 0 {
		b.tracking = len(k.BuildMetadata) > 0
		key.tracking, key.origin = b.tracking, place.Place{}
		if l := b.reuse(key); l != nil {
			return l // an earlier root uses this one as a base
		}
	}
	if !b.count(k) {
		return nil
	}
	b.c.plan.Compiled++
	// An error that the root already has is an error of this layer as well.
	known, outer := b.Errs, b.charts
	b.Errs, b.charts.inherit = known.Apart(), false
	b.use = &ownschema.Use{Outer: b.use}
	l := b.compile(dir, k, key, parent)
	l.use, b.use = *b.use, b.use.Outer
	l.charts = b.charts
	b.charts.inherit = b.charts.inherit || outer.inherit
	errs := b.Errs
	b.Errs = known
	b.Errs.AddOnce(errs)
	l.failed = errs.Len()+k.errs.Len() > 0 || k.composed != nil && k.composed.Failed
	l.after = b.schemaState
	if parent == nil {
		if l.after.schemaChosen && !key.schemaChosen {
			b.c.draft.schemas[key] = true
			key.builtinSchema = b.own()
		}
		key.charts = l.charts.key()
		b.c.draft.layers[key] = l
		l.errs = k.errs.Since(0)
		l.errs.AddOnce(errs)
	}
	b.use.Add(l.use)
	return l
}

// nested compiles a layer that this one uses. It closes this layer's directories first, because
// layers may be deeply nested.
func (s *steps) nested(dir *loaders.Dir, origin place.Place, parent *layerState, from *reference) *layer {
	if ns := s.k.Namespace; ns != "" {
		defer func(outer charts) { s.build.charts = outer }(s.build.charts)
		s.build.charts.namespace = ns
	}
	s.dir.Close()
	for _, root := range s.roots {
		root.Close()
	}
	return s.layer(dir, origin, parent, from)
}

const (
	// maxLayers limits the layers of a root. A layer on top of a list is compiled for every use:
	// a chain in which each layer uses the next one twice would exhaust memory.
	maxLayers = 1 << 16
	// maxNodes and maxIDs limit the steps of a root and the total bytes of their ids. The ids of
	// a component include the ids of all enclosing layers.
	maxNodes = 1 << 17
	maxIDs   = 32 << 20
)

// count counts a layer before compilation and reports false if the limit is exceeded.
func (b *build) count(k *kustomizationFile) bool {
	b.layers++
	if b.layers == maxLayers+1 {
		b.ErrorAt(k.Source, nil, diag.Limitf("the root consists of more than %d layers: some layers use each other repeatedly",
			maxLayers).With(diag.Limit))
	}
	return b.layers <= maxLayers && !b.crowded
}

// reuse returns the layer compiled for key, nil if there is none.
func (b *build) reuse(key layerKey) *layer {
	l := b.known(key)
	if l == nil && b.c.o.Functions.Policy.Helm {
		key.charts = charts{b.charts.namespace, true}.key()
		l = b.known(key)
	}
	if l == nil {
		return nil
	}
	b.charts.inherit = b.charts.inherit || l.charts.inherit
	b.c.plan.Shared++
	b.Errs.AddOnce(l.errs)
	b.schemaState = l.after
	b.use.Add(l.use)
	return l
}

func (b *build) known(key layerKey) *layer {
	plain := key
	if plain.charts = ""; b.c.draft.schemas[plain] {
		key.builtinSchema = b.own()
	}
	return b.c.draft.layers[key]
}

// compile adds the nodes of a layer, in kustomize's order of execution.
func (b *build) compile(dir *loaders.Dir, k *kustomizationFile, key layerKey, parent *layerState) *layer {
	b.progress(graph.Origin{Source: k.Source})
	for path := dir.Real; !b.c.entered[path]; path = filepath.Dir(path) {
		b.c.entered[path] = true
	}
	b.stack = append(b.stack, &frame{dir, k.Source.File})
	defer func() { b.stack = b.stack[:len(b.stack)-1] }()

	s := &steps{build: b, dir: dir, k: k, origin: key.origin, prefix: k.Source.File, reader: b.c.plan.reading.Layer(k.Source.File, k.Kind)}
	if parent != nil {
		s.prefix = parent.prefix + " > " + k.Source.File
	} else if v := b.c.variant(key, b.bringsSchema(k)); v != "" && key.object == "" {
		s.prefix += "@" + v
	}
	l := &layer{name: s.prefix, k: k}
	if parent != nil {
		s.list, s.config, s.vars, s.alone = parent.list, parent.config, parent.vars, parent.alone
		s.hasList = true
	} else {
		s.config, s.alone = &builtins.Config{}, k.Kind == "Component"
	}
	if k.composed != nil {
		s.items().composition()
	} else {
		s.fields().kustomization()
	}
	l.out, l.config, l.vars = s.list, s.config, s.vars
	return l
}

// kustomization adds the nodes of a Kustomization or Component.
func (s fieldSteps) kustomization() {
	s.catalogs = s.functions().ownCatalogs()
	s.openapi()
	s.functions().checkCatalogs()
	s.resources()
	s.configurations()
	s.generators()
	s.components()
	s.transformers()
	s.validators()
	s.varsStep()
}

// variant returns a short name for the differences between this build of a directory and the
// plain one, "" for the plain one. If the directory has a custom schema, own is the previous
// state of kustomize's own schema.
func (c *compiler) variant(k layerKey, own schema.Builtin) string {
	if !k.schemaChosen && !k.tracking && own == schema.Unread && k.dir.IsUsual() {
		return ""
	}
	h := sha256.New()
	fmt.Fprintf(h, "%v %q", k.tracking, k.origin.Path)
	if k.origin.Repo != "" {
		fmt.Fprintf(h, " %q %q", k.origin.Repo, k.origin.Ref)
	}
	switch own {
	case schema.Deferred:
		fmt.Fprint(h, " beneath")
	case schema.Read:
		fmt.Fprint(h, " on top")
	}
	if !k.dir.IsUsual() {
		fmt.Fprint(h, " unrestricted")
	}
	if k.schema == nil && k.schemaChosen {
		fmt.Fprint(h, " built in")
	}
	if k.schema != nil {
		fmt.Fprintf(h, " %s", c.schemas.Name(k.schema))
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:3])
}

// A reference is the field that names a directory.
type reference struct {
	src  *yaml.Source
	path []any
	text string
}

// enter resolves a directory that a layer refers to. It reports a cycle if the directory contains
// one that is being compiled.
func (s *steps) enter(path []any, text string) *loaders.Dir {
	if err := layerfile.CheckReference(text); err != nil {
		s.ErrorAt(s.k.Source, path, err)
		return nil
	}
	if len(s.stack) >= layerfile.MaxNested {
		s.ErrorAt(s.k.Source, path, layerfile.ErrNested())
		return nil
	}
	dir, err := s.c.files.Sub(s.dir, text)
	if err != nil {
		s.ErrorAt(s.k.Source, path, err)
		return nil
	}
	return s.enterDir(path, dir)
}

// enterDir checks that a directory that a layer refers to does not contain one that is being
// compiled. A new directory contains none: a search for each layer of a long chain would be
// quadratic.
func (s *steps) enterDir(path []any, dir *loaders.Dir) *loaders.Dir {
	if !s.c.entered[dir.Real] {
		return dir
	}
	for i, f := range s.stack {
		if dir.Contains(f.dir) {
			if dir.Real == f.dir.Real {
				s.reader.Refer(s.k.Source, path, f.file)
			}
			s.ErrorAt(s.k.Source, path, s.cycle(i, dir))
			return nil
		}
	}
	return dir
}

// cycle returns the error for the references from the directory of stack[i] to dir.
func (b *build) cycle(i int, dir *loaders.Dir) error {
	var dirs []*loaders.Dir
	for _, f := range b.stack[i:] {
		dirs = append(dirs, f.dir)
	}
	return layerfile.ErrCycle(append(dirs, dir))
}
