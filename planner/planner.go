// Package planner compiles directories into a [Plan]: the graph of everything a run would do. It reads files and decides,
// but can run nothing except pure built-ins (through package eval), which its imports prove.
//
// Compilation follows kustomize's order of steps inside a layer: resources, generators, components (on the list of the
// layer that names them), transformers, validators, vars; and at each root the finishing steps. A layer that several
// others use is compiled once per key: its directory, the schema in effect and whether origins are tracked. So are the items with which the
// lists of several Compositions begin.
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
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/composition"
	"github.com/krmflow/krmflow/planner/helm"
	"github.com/krmflow/krmflow/planner/internal/ahead"
	"github.com/krmflow/krmflow/planner/internal/ownschema"
	"github.com/krmflow/krmflow/planner/internal/summary"
	"github.com/krmflow/krmflow/planner/internal/trusted"
	"github.com/krmflow/krmflow/planner/layers"
	"github.com/krmflow/krmflow/planner/report"
	"github.com/krmflow/krmflow/trust"
)

// KustomizeVersion is the release of kustomize whose output a plan produces.
const KustomizeVersion = "v5.8.2"

// Options say how directories are compiled.
type Options struct {
	// Cwd is the absolute directory that relative roots start from, and relative paths of catalogs.
	Cwd string
	// FS has the roots, and what layers name by a path; see [loaders.Config]. It must be safe for concurrent use if Jobs are several.
	FS fs.FS
	// FSName is what messages put before names in FS.
	FSName string
	// Unrestricted lets layers read files outside their directory (LoadRestrictionsNone).
	Unrestricted bool
	// Free reports that for single roots, by their paths without symbolic links, and for what they use; it may be nil. It must be safe for
	// concurrent use if Jobs are several.
	Free func(dir string) bool
	// Reorder is kustomize's --reorder: "legacy" or "none"; ReorderSet tells that the user gave it.
	Reorder    string
	ReorderSet bool
	// Jobs is how many cores planning may use; less than 2 means one. It changes no plan.
	Jobs int
	// Instead has files that are read with other contents; see [loaders.Config].
	Instead map[string][]byte
	// Input bounds what is read; nil means no limit.
	Input *loaders.Budget
	// Fetch fetches what is remote. Without it, that is an error.
	Fetch loaders.Fetch
	// Progress is called with each step as it is planned; it may be nil.
	Progress func(graph.Origin)
	// ManagedByLabel adds the label app.kubernetes.io/managed-by to everything.
	ManagedByLabel bool
	// Functions say which functions may run.
	Functions Functions
	// Rendered are more directories that the run renders, without symbolic links: what is made of them is known without a plan.
	Rendered []string
	// Observe makes [Plan.Observed] know what layers have seen.
	Observe bool
	// Files are planned in the place of layers, unless they are nil: for each root its own, see [Files].
	Files []*Files
}

// A Warning is something that the user probably did not mean.
type Warning struct {
	Pos   diag.Pos
	Field string
	Msg   string
	Hints []string
	// Code is which kind of message it is.
	Code diag.Code
}

// WarningOf returns a message as a warning.
func WarningOf(e *diag.Error) Warning { return Warning{e.Pos, e.Field, e.Msg, e.Hints, diag.CodeOf(e)} }

// Message returns the warning as messages are shown.
func (w Warning) Message() *diag.Error {
	return &diag.Error{Pos: w.Pos, Field: w.Field, Msg: w.Msg, Hints: w.Hints, Code: w.Code}
}

func (w Warning) String() string { return w.Message().Error() }

// A Plan is what a run would do.
type Plan struct {
	Graph *graph.Graph
	// Warnings are what the user probably did not mean, each once; there are MoreWarnings besides those that are kept.
	Warnings     []Warning
	MoreWarnings int
	// Failed lists the roots that could not be planned, in the order they were given, with all their mistakes. Their
	// part of the tree is not in the Graph.
	Failed []RootError
	// Denied lists what keeps functions of the plan from running. Nothing may run unless it is empty.
	Denied []Denial
	// Decisions are the decisions about the functions, by the id of their node.
	Decisions map[string]*trust.Decision
	// Catalogs are the trusted catalogs that were read, in the order of the flags.
	Catalogs []trust.Trusted
	// Compiled and Shared count how often a Kustomization, Component or Composition was compiled and how often one was reused.
	Compiled, Shared int

	files   *loaders.Local
	reading *reading
}

// Fetched returns what was fetched to make the plan, sorted by reference.
func (p *Plan) Fetched() []loaders.Fetched { return p.files.Fetched() }

// warn makes list the warnings of the plan.
func (p *Plan) warn(list *report.Warnings) {
	all, more := list.All()
	p.MoreWarnings = more
	for _, w := range all {
		p.Warnings = append(p.Warnings, Warning{w.Pos, w.Field, w.Msg, w.Hints, w.Code})
	}
}

// Files returns all files that were read, sorted by name.
func (p *Plan) Files() []*yaml.Source { return p.files.Sources() }

// Observed returns what the layers of a root have seen, by the name of its directory: see [loaders.Local.Observed]. Their plan follows from
// that alone, unless there are functions. [Options.Observe] must have been set.
func (p *Plan) Observed(dir string) ([]*loaders.Observation, bool) { return p.files.Observed(dir) }

// A RootError holds the mistakes of one root.
type RootError struct {
	Dir  string
	Errs []error
}

// Err returns the mistakes of all roots as one error, each mentioned once, with the roots if these are several; nil if there are none.
func (p *Plan) Err() error {
	var all []error
	roots := map[string][]string{}
	for _, f := range p.Failed {
		all = append(all, f.Errs...)
		for _, err := range f.Errs {
			roots[err.Error()] = append(roots[err.Error()], f.Dir)
		}
	}
	all = distinct(all)
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

// Compile plans the directories dirs. Mistakes in the input are in [Plan.Failed]; a root with a mistake does not keep the
// others from being planned. When ctx has ended, the rest of the plan is a mistake.
func Compile(ctx context.Context, dirs []string, o Options) *Plan {
	c := newCompiler(ctx, dirs, o)
	c.dirs = dirs
	if o.Files != nil {
		for i, dir := range dirs {
			c.compileFiles(dir, o.Files[i])
		}
		return c.finish()
	}
	c.ahead = ahead.Start(c.files, dirs, o.Jobs, o.Functions.Policy.Helm)
	defer c.ahead.End()
	// The roots are compiled one after the other: what they share, and in which order ids, warnings and schemas come, depends on those before. To read and to
	// parse is most of the work, which the reader ahead does on other cores; two compilers, even with nothing to merge, were no faster on two cores.
	for _, dir := range dirs {
		c.root(dir)
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
	c.plan.Graph = c.plan.Graph.WithFetches(c.files.Name)
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
		c.plan.Failed = append(c.plan.Failed, RootError{name, distinct(b.Errs.Errors())})
	}
}

// compiler holds what the roots of one plan share.
type compiler struct {
	ctx          context.Context
	o            Options
	dirs         []string // the roots, as they are named
	files        *loaders.Local
	ahead        *ahead.Reader
	draft        *draft
	plan         *Plan
	kusts        map[loaders.DirKey]*kustomizationFile
	compositions *composition.Set
	trusted      *trusted.Catalogs
	images       map[string]trust.Image
	helm         helm.Program
	// legacyPlaces and schemaChecked are what there was a warning about, if one was due.
	legacyPlaces  map[string]bool
	schemaChecked map[*catalog.Entry]bool
	warnings      report.Warnings
	// schemas are the schemas that were read, by file.
	schemas     map[schemaKey]*schema.Schema
	schemaNames map[*schema.Schema]string // what tells schemas apart in node ids
	labels      map[labelsKey]*builtins.FieldSpecs
	// own has the lists of nodes that planning had to compute.
	own ownschema.Lists
}

func newCompiler(ctx context.Context, dirs []string, o Options) *compiler {
	if probe := o.Functions.Isolation; probe != nil {
		o.Functions.Isolation = sync.OnceValues(probe) // it starts processes
	}
	files := loaders.NewLocal(ctx, loaders.Config{Cwd: o.Cwd, FS: o.FS, FSName: o.FSName, Roots: dirs, Unrestricted: o.Unrestricted, Free: o.Free, Budget: o.Input, Fetch: o.Fetch, Instead: o.Instead, Observe: o.Observe})
	reading := newReading()
	c := &compiler{
		ctx: ctx, o: o, dirs: dirs,
		compositions: composition.NewSet(compositionReader{files, reading}, o.Unrestricted),
		files:        files, ahead: &ahead.Reader{}, draft: newDraft(len(dirs)),
		plan:    &Plan{Decisions: map[string]*trust.Decision{}, files: files, reading: reading},
		schemas: map[schemaKey]*schema.Schema{}, schemaNames: map[*schema.Schema]string{},
		kusts: map[loaders.DirKey]*kustomizationFile{}, images: map[string]trust.Image{}, labels: map[labelsKey]*builtins.FieldSpecs{},
		helm:         o.Functions.Helm.Find(files),
		own:          ownschema.Lists{},
		legacyPlaces: map[string]bool{}, schemaChecked: map[*catalog.Entry]bool{},
	}
	c.trusted = trusted.New(trusted.Config{
		Sources: o.Functions.Trusted, Publishers: o.Functions.Publishers, Cwd: o.Cwd, Policy: o.Functions.Policy, Files: files, Rendered: c.rendered, Warnings: &c.warnings,
		Deny: func(err error, why trust.Reason) { c.deny(Denial{"", err, why}) },
	})
	return c
}

type schemaKey struct {
	src *yaml.Source
	own schema.Builtin
}

// root plans one directory that the user asked for.
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

// rootDir returns the directory of a root. What there is on this machine is not looked for elsewhere.
func (c *compiler) rootDir(name string) (*loaders.Dir, error) {
	dir, err := c.files.Root(name)
	if err != nil && loaders.IsRemote(name) {
		return c.files.FetchDir(nil, name)
	}
	return dir, err
}

// distinct returns errs without those whose text was there before: several layers may have the same mistake in one file.
func distinct(errs []error) []error {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(errs), func(err error) (again bool) {
		again, seen[err.Error()] = seen[err.Error()], true
		return again
	})
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

// build is the compilation of one root. It carries what kustomize keeps for the duration of a build: the schema, which
// the root or else the first layer that names one decides for everything after it.
type build struct {
	c *compiler
	*report.Reporter
	schemaState
	use    *ownschema.Use // of the layer that is being compiled
	charts charts
	// fetchedFiles counts the files that were read by name and fetched.
	fetchedFiles int
	// tracking is true if the root's buildMetadata asks for anything: kustomize then records origins.
	tracking bool
	stack    []*frame
	// layers are those that have been compiled, nodes those that were added, and ids the length of their ids.
	layers, nodes, ids int
	crowded            bool // there were too many
}

// schemaState is the schema in effect.
type schemaState struct {
	schema       *schema.Schema
	schemaChosen bool // a layer has chosen it
}

// build returns a build that has not begun.
func (c *compiler) build() *build {
	return &build{c: c, use: &ownschema.Use{}, Reporter: &report.Reporter{Warnings: &c.warnings}}
}

// frame is a layer that is being compiled.
type frame struct {
	dir  *loaders.Dir
	file string // its kustomization file, for messages
}

func (b *build) root(name string, dir *loaders.Dir) {
	l := b.layer(dir, place{}, nil, nil)
	if l == nil {
		return
	}
	path := []any{"sortOptions"}
	if err := l.k.SortOptions.Validate(); err != nil && !(builtins.IsMissing(err) && l.k.IsUnread(path)) {
		b.ErrorAt(l.k.Source, path, err)
	}
	if l.failed || b.Errs.Len() > 0 {
		return
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
	id := b.add(&graph.Node{
		ID:      l.name + "#finish",
		Op:      graph.Finish{Transformer: fin},
		Inputs:  []graph.NodeID{l.out},
		Summary: summary.Finish(fin),
		Origin:  graph.Origin{Source: l.k.Source},
		Layer:   l.name,
	})
	b.c.draft.g.Roots = append(b.c.draft.g.Roots, graph.Root{Dir: name, Node: id})
	b.c.plan.reading.roots = append(b.c.plan.reading.roots, layers.Use{Field: name, Layer: l.k.Source.File})
}

// sortOptions returns the order of the output: the root's sortOptions, else that of --reorder.
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

// add appends a node and makes sure that its id is unique. When there are too many nodes it records that once, and appends no more.
func (b *build) add(n *graph.Node) graph.NodeID {
	if b.crowded && len(b.c.draft.g.Nodes) > 0 {
		return graph.NodeID(len(b.c.draft.g.Nodes) - 1)
	}
	b.progress(n.Origin)
	b.nodes++
	b.ids += len(n.ID)
	if b.nodes > maxNodes || b.ids > maxIDs {
		b.crowded = true
		b.ErrorAt(n.Origin.Source, n.Origin.Path, diag.Limitf("the root comes to more than %s, or their ids to more than %d MiB",
			diag.Count(maxNodes, "step"), maxIDs>>20).With(diag.Limit))
	}
	return b.c.draft.add(n)
}
