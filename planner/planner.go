// Package planner compiles directories into a [Plan]: the graph of everything a run would do. It
// reads files and decides which functions may run. It can execute only pure built-ins (through
// package eval); its imports prove this.
//
// Compilation follows kustomize's order of steps inside a layer: resources, generators,
// components (on the list of their consumer), transformers, validators, vars; and at each root
// the finishing steps. A layer with several consumers is compiled once per key, which includes
// its directory, the schema in effect and the tracking of origins (see layerKey). Compositions
// whose lists begin with the same items share the nodes of these items.
package planner

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/composition"
	"github.com/krmflow/krmflow/planner/helm"
	"github.com/krmflow/krmflow/planner/internal/ahead"
	"github.com/krmflow/krmflow/planner/internal/objects"
	"github.com/krmflow/krmflow/planner/internal/ownschema"
	"github.com/krmflow/krmflow/planner/internal/place"
	"github.com/krmflow/krmflow/planner/internal/summary"
	"github.com/krmflow/krmflow/planner/internal/trusted"
	"github.com/krmflow/krmflow/planner/layerfile"
	"github.com/krmflow/krmflow/planner/layers"
	"github.com/krmflow/krmflow/planner/report"
	"github.com/krmflow/krmflow/trust"
)

// KustomizeVersion is the release of kustomize whose output a plan reproduces.
const KustomizeVersion = "v5.8.2"

// Options control how directories are compiled.
type Options struct {
	// Cwd is the absolute base directory for relative roots and relative paths of catalogs.
	Cwd string
	// FS contains the roots, and the files that layers name by path; see [loaders.Config]. It
	// must be safe for concurrent use if Jobs is greater than 1.
	FS fs.FS
	// FSName is the prefix of names in FS in messages.
	FSName string
	// Unrestricted lets layers read files outside their directory (LoadRestrictionsNone).
	Unrestricted bool
	// Free reports the same for single roots, by their paths without symbolic links, and applies
	// to all layers they use. It may be nil. It must be safe for concurrent use if Jobs is
	// greater than 1.
	Free func(dir string) bool
	// Reorder is kustomize's --reorder: "legacy" or "none". ReorderSet is true if the user set
	// it.
	Reorder    string
	ReorderSet bool
	// Jobs is the number of cores that planning may use; less than 2 means one. It does not
	// affect the plan.
	Jobs int
	// Instead replaces the content of files; see [loaders.Config].
	Instead map[string][]byte
	// Input limits the bytes read; nil means no limit.
	Input *loaders.Budget
	// Fetch fetches remote content. If it is nil, remote references are errors.
	Fetch loaders.Fetch
	// Progress is called with each step as it is planned; it may be nil.
	Progress func(graph.Origin)
	// ManagedByLabel adds the label app.kubernetes.io/managed-by to all resources.
	ManagedByLabel bool
	// Functions control which functions may run.
	Functions Functions
	// Rendered are additional directories that the run renders, without symbolic links. Their
	// output is known without a plan.
	Rendered []string
	// Observe enables [Plan.Observed].
	Observe bool
	// Objects are roots that are GitOps objects, by the names that are passed to [Compile].
	Objects map[string]*gitops.Root
	// Files, if not nil, are planned instead of layers: one entry per root, see [Files].
	Files []*Files
}

// A Warning reports a likely mistake by the user.
type Warning struct {
	Pos   diag.Pos
	Field string
	Msg   string
	Hints []string
	// Code identifies the kind of message.
	Code diag.Code
	// Also is a second file without which there would be no warning. It may be empty.
	Also string
}

// WarningOf returns a message as a warning.
func WarningOf(e *diag.Error) Warning {
	return Warning{e.Pos, e.Field, e.Msg, e.Hints, diag.CodeOf(e), e.Also}
}

// Compare orders warnings by file, line, field and text.
func (w Warning) Compare(o Warning) int {
	return cmp.Or(cmp.Compare(w.Pos.File, o.Pos.File), cmp.Compare(w.Pos.Line, o.Pos.Line), cmp.Compare(w.Field, o.Field),
		cmp.Compare(w.Msg, o.Msg))
}

// Message returns the warning in the form of a displayed message.
func (w Warning) Message() *diag.Error {
	return &diag.Error{Pos: w.Pos, Field: w.Field, Msg: w.Msg, Hints: w.Hints, Code: w.Code}
}

func (w Warning) String() string { return w.Message().Error() }

// A Plan describes the effects of a run.
type Plan struct {
	Graph *graph.Graph
	// Warnings are likely mistakes by the user, without duplicates. MoreWarnings is the number of
	// warnings beyond the limit, which are not kept.
	Warnings     []Warning
	MoreWarnings int
	// Failed lists the roots that could not be planned, in the order of [Compile]'s arguments,
	// with all their mistakes. Their nodes are not in the Graph, except those that other roots
	// need.
	Failed []RootError
	// Denied lists the reasons why functions of the plan may not run. Unless it is empty, nothing
	// may run.
	Denied []Denial
	// Decisions are the decisions about functions by node id.
	Decisions map[string]*trust.Decision
	// Catalogs are the trusted catalogs that were read, in the order of the flags.
	Catalogs []trust.Trusted
	// After are the roots that a controller applies before a root, by name. Roots are rendered in
	// any order.
	After map[string][]string
	// Compiled and Shared are the numbers of layers that were compiled and reused.
	Compiled, Shared int

	files   *loaders.Local
	reading *layers.Reading
	objects []*yaml.Source // files of GitOps objects
}

// Fetched returns the content that was fetched to make the plan, sorted by reference.
func (p *Plan) Fetched() []loaders.Fetched { return p.files.Fetched() }

// warn stores list as the warnings of the plan.
func (p *Plan) warn(list *report.Warnings) {
	all, more := list.All()
	p.MoreWarnings = more
	for _, w := range all {
		p.Warnings = append(p.Warnings, Warning{w.Pos, w.Field, w.Msg, w.Hints, w.Code, w.Also})
	}
}

// Files returns all files that were read, sorted by name.
func (p *Plan) Files() []*yaml.Source {
	if len(p.objects) == 0 {
		return p.files.Sources()
	}
	files := slices.Concat(p.files.Sources(), p.objects)
	slices.SortStableFunc(files, func(a, b *yaml.Source) int { return cmp.Compare(a.File, b.File) })
	return slices.CompactFunc(files, func(a, b *yaml.Source) bool { return a.File == b.File })
}

// Observed returns the observations of the file system by the layers of a root, by the name of
// its directory: see [loaders.Local.Observed]. Without functions, the root's plan depends on
// these observations only. [Options.Observe] must be set.
func (p *Plan) Observed(dir string) ([]*loaders.Observation, bool) { return p.files.Observed(dir) }

// A RootError holds the mistakes of one root.
type RootError struct {
	Dir  string
	Errs []error
}

// Err returns the mistakes of all roots as one error without duplicates, nil if there are none. A
// mistake in several roots lists them.
func (p *Plan) Err() error {
	var all []error
	roots := map[string][]string{}
	for _, f := range p.Failed {
		all = append(all, f.Errs...)
		for _, err := range f.Errs {
			roots[err.Error()] = append(roots[err.Error()], f.Dir)
		}
	}
	all = report.Distinct(all)
	for i, err := range all {
		var more diag.MoreError
		if dirs := roots[err.Error()]; len(dirs) > 1 && !errors.As(err, &more) {
			e := *diag.AsError(err)
			e.Err, e.Hints = err, append(slices.Clip(e.Hints), "needed by "+diag.Some(dirs))
			all[i] = &e
		}
	}
	return errors.Join(all...)
}

// Compile plans the directories dirs. Mistakes in the input are in [Plan.Failed]; a root with a
// mistake does not prevent the planning of others. If ctx ends, the rest of the plan is a
// mistake.
func Compile(ctx context.Context, dirs []string, o Options) *Plan {
	c := newCompiler(ctx, dirs, o)
	c.dirs = dirs
	if o.Files != nil {
		for i, dir := range dirs {
			c.compileFiles(dir, o.Files[i])
		}
		return c.finish()
	}
	c.ahead = ahead.Start(c.files, objects.Dirs(dirs, o.Objects), o.Jobs, o.Functions.Policy.Helm)
	defer c.ahead.End()
	// Roots are compiled one after the other: sharing, and the order of ids, warnings and
	// schemas, depend on the previous roots. Most of the work is reading and parsing, which the
	// reader in package ahead does on other cores. Two concurrent compilers, even without merging
	// their results, were not faster on two cores.
	for _, dir := range dirs {
		if o := o.Objects[dir]; o != nil {
			c.object(dir, o)
		} else {
			c.root(dir)
		}
	}
	return c.finish()
}

// finish completes the plan.
func (c *compiler) finish() *Plan {
	c.plan.Graph = c.draft.g
	if len(c.plan.Failed) > 0 {
		// Nodes that only a failed root needs must not run.
		c.plan.Graph = c.draft.g.Only(func(graph.Root) bool { return true })
	}
	c.plan.Graph = c.plan.Graph.MarkGranted().WithFetches(c.files.Name)
	c.trusted.Decide()
	if c.plan.foundAll() {
		c.trusted.Unread()
	}
	c.trusted.Unused(c.plan.Graph)
	c.pointers()
	c.plan.warn(&c.warnings)
	c.plan.Catalogs = c.trusted.Loaded()
	return c.plan
}

// pointers warns about files that are Git LFS pointers: a pointer has three lines instead of the
// content.
func (c *compiler) pointers() {
	for _, name := range c.files.Pointers() {
		e := &loaders.PointerError{Path: filepath.Base(name)}
		w := diag.Errorf(diag.Pos{File: name, Line: 1}, "", "%s", e).With(e.Kind())
		w.Hints = e.Hints()
		c.warnings.Add(w)
	}
}

// failed records that a root cannot be planned, if b has mistakes.
func (c *compiler) failed(name string, b *build) {
	if b.Errs.Len() > 0 {
		c.plan.Failed = append(c.plan.Failed, RootError{name, report.Distinct(b.Errs.Errors())})
	}
}

// A compiler holds the state shared by the roots of one plan.
type compiler struct {
	ctx   context.Context
	o     Options
	dirs  []string // the roots, as named by the caller
	files *loaders.Local
	ahead *ahead.Reader
	draft *draft
	plan  *Plan
	kusts map[loaders.DirKey]*kustomizationFile
	// entered has the paths of the directories compiled so far, and of all directories above them.
	entered      map[string]bool
	compositions *composition.Set
	trusted      *trusted.Catalogs
	images       map[string]trust.Image
	helm         helm.Program
	// legacyPlaces and schemaChecked record which warnings were given or ruled out.
	legacyPlaces  map[string]bool
	schemaChecked map[*catalog.Entry]bool
	warnings      report.Warnings
	schemas       ownschema.Custom
	labels        layerfile.LabelFields
	// own holds the lists of nodes that planning had to compute.
	own ownschema.Lists
}

func newCompiler(ctx context.Context, dirs []string, o Options) *compiler {
	if probe := o.Functions.Isolation; probe != nil {
		o.Functions.Isolation = sync.OnceValues(probe) // it starts processes
	}
	files := loaders.NewLocal(ctx, loaders.Config{Cwd: o.Cwd, FS: o.FS, FSName: o.FSName, Roots: objects.Files(dirs, o.Objects),
		Unrestricted: o.Unrestricted, Free: o.Free, Budget: o.Input, Fetch: o.Fetch, Instead: o.Instead, Observe: o.Observe})
	reading := layers.NewReading()
	c := &compiler{
		ctx: ctx, o: o, dirs: dirs, entered: map[string]bool{},
		compositions: composition.NewSet(compositionReader{files, reading}, o.Unrestricted),
		files:        files, ahead: &ahead.Reader{}, draft: newDraft(len(dirs)),
		plan:  &Plan{Decisions: map[string]*trust.Decision{}, files: files, reading: reading},
		kusts: map[loaders.DirKey]*kustomizationFile{}, images: map[string]trust.Image{}, labels: layerfile.LabelFields{},
		helm:         o.Functions.Helm.Find(files),
		own:          ownschema.Lists{},
		legacyPlaces: map[string]bool{}, schemaChecked: map[*catalog.Entry]bool{},
	}
	c.trusted = trusted.New(trusted.Config{
		Sources: o.Functions.Trusted, Publishers: o.Functions.Publishers, Cwd: o.Cwd, Policy: o.Functions.Policy, Files: files,
		Rendered: c.rendered, Warnings: &c.warnings,
		Deny: func(err error, why trust.Reason) { c.deny(Denial{"", err, why}) },
	})
	return c
}

// root plans one directory that the user named.
func (c *compiler) root(name string) {
	b := c.build()
	dir, err := c.rootDir(name)
	name = diag.Redact(name)
	if err != nil {
		b.Fail(rootError(name, err))
	} else {
		defer dir.Close()
		b.root(name, dir)
	}
	c.failed(name, b)
}

// rootDir returns the directory of a root. A local directory takes precedence over a remote
// reference.
func (c *compiler) rootDir(name string) (*loaders.Dir, error) {
	dir, err := c.files.Root(name)
	if err != nil && loaders.IsRemote(name) {
		return c.files.FetchDir(nil, name)
	}
	return dir, err
}

func rootError(name string, err error) error {
	if at := diag.AsError(err); at.Pos.File != "" && at.Pos.Line > 0 {
		return at
	}
	e := diag.Errorf(diag.Pos{File: cmp.Or(diag.Redact(name), ".")}, "", "%w", err)
	if loaders.IsRemote(name) {
		e.Pos.File = "" // the error has it
	}
	e.Hints = append(e.Hints, report.Hints(err)...)
	return e
}

// A build is the compilation of one root. It holds the state that kustomize keeps during a build:
// the schema, which is chosen by the root or else by the first layer that names one, for all
// later steps.
type build struct {
	c *compiler
	*report.Reporter
	schemaState
	use    *ownschema.Use // of the layer being compiled
	charts charts
	// fetchedFiles is the number of files that were read by name and fetched.
	fetchedFiles int
	// tracking is set if the root has buildMetadata: kustomize then records origins.
	tracking bool
	stack    []*frame
	part     *objects.Part // of the root, if it is a GitOps object
	// layers and nodes count the compiled layers and added nodes; ids is the total length of the
	// ids.
	layers, nodes, ids int
	crowded            bool // a limit was exceeded
}

// schemaState is the schema in effect.
type schemaState struct {
	schema       *schema.Schema
	schemaChosen bool // a layer has chosen it
	schemaAt     func() diag.Pos
}

// build returns a new build.
func (c *compiler) build() *build {
	return &build{c: c, use: &ownschema.Use{}, Reporter: &report.Reporter{Warnings: &c.warnings}}
}

// A frame is a layer that is being compiled.
type frame struct {
	dir  *loaders.Dir
	file string // its kustomization file, for messages
}

// root plans a directory.
func (b *build) root(name string, dir *loaders.Dir) {
	l := b.layer(dir, place.Place{}, nil, nil)
	if l == nil {
		return
	}
	if id, ok := b.finish(l); ok {
		b.c.draft.g.Roots = append(b.c.draft.g.Roots, graph.Root{Dir: name, Node: id})
		b.c.plan.reading.AddRoot(name, l.k.Source.File)
	}
}

// finish adds the last step of a root. It reports whether the root has no mistakes.
func (b *build) finish(l *layer) (id graph.NodeID, ok bool) {
	path := []any{"sortOptions"}
	if err := l.k.SortOptions.Validate(); err != nil && !(builtins.IsMissing(err) && l.k.IsUnread(path)) {
		b.ErrorAt(l.k.Source, path, err)
	}
	if l.failed || b.Errs.Len() > 0 {
		return 0, false
	}
	fin := &builtins.Finish{
		NameReference:          l.config.NameReference,
		Vars:                   l.vars,
		VarReference:           l.config.VarReference,
		Sort:                   b.sortOptions(l),
		OriginAnnotations:      slices.Contains(l.k.BuildMetadata, "originAnnotations"),
		TransformerAnnotations: slices.Contains(l.k.BuildMetadata, "transformerAnnotations"),
	}
	if b.c.o.ManagedByLabel || slices.Contains(l.k.BuildMetadata, "managedByLabel") {
		fin.ManagedBy = "kustomize-" + KustomizeVersion
	}
	return b.add(&graph.Node{
		ID:      l.name + "#finish",
		Op:      graph.Finish{Transformer: fin},
		Inputs:  []graph.NodeID{l.out},
		Summary: summary.Finish(fin),
		Origin:  graph.Origin{Source: l.k.Source},
		Layer:   l.name,
	}), true
}

// sortOptions returns the order of the output: the root's sortOptions, otherwise that of
// --reorder.
func (b *build) sortOptions(l *layer) *builtins.SortOptions {
	if l.k.SortOptions != nil {
		if b.c.o.ReorderSet {
			b.Warn(diag.SortOrder, l.k.Source, []any{"sortOptions"}, "decides the order; --reorder is ignored")
		}
		return l.k.SortOptions
	}
	if b.c.o.Reorder == "none" {
		return nil
	}
	return builtins.LegacyOrder()
}

func (b *build) progress(at graph.Origin) {
	if b.c.o.Progress != nil {
		b.c.o.Progress(at)
	}
}

// add appends a node with a unique id. When the number of nodes exceeds the limit, it records one
// error and stops appending.
func (b *build) add(n *graph.Node) graph.NodeID {
	if b.crowded && len(b.c.draft.g.Nodes) > 0 {
		return graph.NodeID(len(b.c.draft.g.Nodes) - 1)
	}
	b.progress(n.Origin)
	b.nodes++
	b.ids += len(n.ID)
	if b.nodes > maxNodes || b.ids > maxIDs {
		b.crowded = true
		b.ErrorAt(n.Origin.Source, n.Origin.Path, diag.Limitf("the root has more than %s, or their ids exceed %d MiB",
			diag.Count(maxNodes, "step"), maxIDs>>20).With(diag.Limit))
	}
	return b.c.draft.add(n)
}
