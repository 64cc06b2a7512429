package planner

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/helm"
	"github.com/krmflow/krmflow/planner/internal/trusted"
	"github.com/krmflow/krmflow/trust"
)

// Functions control which functions may run and describe this machine's support for them. The
// zero Functions allow none.
type Functions struct {
	// Trusted are the trusted catalogs in search order. Built-in catalogs come first.
	Trusted []trust.Source
	// Publishers are the publishers whose signatures are accepted.
	Publishers []trust.Publisher
	Policy     trust.Policy
	// ListVersion is the apiVersion of the ResourceList passed to functions,
	// [function.ResourceListV1] if empty.
	ListVersion string
	// Isolation returns the sandbox for programs on this machine, or "" and the reason why there
	// is none. It is called for the first function. A nil Isolation means that there is no
	// sandbox.
	Isolation func() (isolation, missing string)
	// Helm controls rendering of charts, if Policy allows it.
	Helm helm.Options
	// PluginHome is the folder of kustomize's legacy plugins. They are recognized but not run.
	PluginHome string
	// Image returns information about an image, see [trust.Needs], without starting it. It is
	// called once per image. A nil Image means that images are unknown.
	Image func(reference string) trust.Image
}

// A Denial reports that a node may not run. Then nothing runs.
type Denial struct {
	Node   string
	Err    error
	Reason trust.Reason
}

// rendered returns the rendered directories known so far, without symbolic links.
func (c *compiler) rendered() []string {
	dirs := append(c.compositions.Dirs(), c.o.Rendered...)
	for dir := range c.kusts {
		dirs = append(dirs, dir.Real)
	}
	for _, name := range c.dirs {
		if dir, err := c.files.Root(name); err == nil {
			dirs = append(dirs, dir.Real)
		}
	}
	return dirs
}

// foundAll reports whether every function of the plan was found in a catalog.
func (p *Plan) foundAll() bool {
	for _, d := range p.Decisions {
		if d.Entry == nil && d.Runtime != function.RuntimeHelm {
			return false
		}
	}
	return true
}

// deny records a denial. A catalog's denial is recorded once for all functions that need the
// catalog.
func (c *compiler) deny(d Denial) {
	if !slices.ContainsFunc(c.plan.Denied, func(known Denial) bool { return known.Err == d.Err }) {
		c.plan.Denied = append(c.plan.Denied, d)
	}
}

// ownCatalogs returns the catalogs field of a Kustomization or Component.
func (s functionSteps) ownCatalogs() (list []catalog.Listed) {
	file, _ := s.k.Source.Value()
	entries := file.Get("catalogs").Items()
	for i, text := range s.k.Catalogs {
		if text == "" && i < len(entries) && entries[i].Type() != yaml.String {
			if entries[i].IsNull() {
				s.ErrorAt(s.k.Source, []any{"catalogs", i}, diag.MissingField.Errorf("must be a reference, not null"))
			}
			continue // other types were reported by the decoder
		}
		list = append(list, catalog.Listed{Text: text, Dir: s.dir.Real, Source: s.k.Source, Path: []any{"catalogs", i}})
	}
	return list
}

// A listedRef is a reference in a list of a file, independent of its spelling.
type listedRef struct {
	in       *yaml.Source
	location string
	pin      krm.Digest
}

// checkCatalogs reports mistakes in the catalogs field and warns about untrusted catalogs.
func (s functionSteps) checkCatalogs() {
	seen := map[listedRef]bool{}
	for _, c := range s.catalogs {
		ref, err := catalog.ParseRefIn(c.Dir, c.Text, func(path string) bool { s.c.files.Uses(s.dir, path); return loaders.Exists(path) })
		if err != nil {
			s.ErrorAt(c.Source, c.Path, err)
			continue
		}
		one := listedRef{c.Source, ref.In(c.Dir).Location, ref.Pin}
		if seen[one] {
			s.Warn(diag.ListedTwice, c.Source, c.Path, "%q is listed twice", c.Text)
		}
		seen[one] = true
	}
	if len(s.catalogs) > 0 {
		s.c.files.Doubt(s.dir) // the user's trusted catalogs are not files of the layer
		_, named := s.c.trusted.Search(s.catalogs)
		for _, n := range named {
			s.Warnings.Add(n.Warning())
		}
	}
}

// function decides whether the function configured by a document may run, and stores its call in
// e. A denied function also gets a node in the plan. If the configuration is invalid, e.call
// stays nil.
func (s functionSteps) function(d document, role function.Role, e *entry) {
	policy := s.c.o.Functions.Policy
	req := trust.Request{
		ID: d.r.ID(), Pos: d.r.Pos, Node: s.id(e.path), Config: d.r.Value(), Dir: s.dir.Real, Name: s.dir.Name,
		Remote: s.configs().isFetched(d),
		OS:     runtime.GOOS, Arch: runtime.GOARCH,
	}
	if f := s.c.o.Functions.Isolation; f != nil {
		req.Facts.Isolation, req.Facts.NotIsolated = f()
	}
	inline, err := function.ReadInline(d.r.Value(), d.locate)
	if !errors.As(err, &req.Conflict) && err != nil {
		s.Fail(err)
		return
	}
	req.Inline = inline
	if s.c.o.Files == nil { // with Files, the annotation is the usual place
		s.c.legacy(inline)
	}
	s.c.trusted.Read()
	req.Facts.Legacy = loaders.LegacyPlugin(s.c.o.Functions.PluginHome, d.r.ID().GVK)
	req.Catalogs, req.Named = s.c.trusted.Search(s.catalogs)
	byProgram := trust.ByProgram(&req, d.byProgram)
	s.c.trusted.Examine(s.dir, &req, s.c.image)
	dec := policy.Decide(req)
	s.Warnings.Add(dec.Warnings...)
	for _, denial := range dec.Denials {
		s.c.deny(Denial{req.Node, denial.Err, denial.Reason})
		s.c.files.DependsOn(s.dir, slices.Collect(maps.Keys(req.Facts.Programs))...)
		// A different program, or a different mode of it, may be allowed.
	}
	config := function.Config(d.r.Value())
	if dec.Entry != nil && !byProgram {
		s.validateConfig(d, dec.Entry, config)
	}
	fn := dec.Function
	if dec.Entry != nil && !byProgram {
		if fields := dec.Entry.Fields(); fields != nil {
			fn.Env = append(slices.Clip(fn.Env), function.FieldsVariable+"="+strings.Join(fields, ","))
		}
	}
	if s.dir.IsVirtual() {
		if err := trusted.Tree(s.c.files, s.dir, &fn); err != nil {
			s.Fail(err)
			return
		}
	}
	fn.Config = d.configText(config)
	at := d.r.Pos
	if d.inline || d.item != nil {
		at.Line = 0 // the line changes with other entries of the file
	}
	e.summary = fmt.Sprintf("%s  %s  %s", strings.TrimSuffix(req.ID.GVK.String()+" "+req.ID.Name, " "), at, dec.Line())
	e.decision = &dec
	e.call = &graph.Call{
		Function: fn, Config: config, ConfigPos: d.r.Pos, Role: role, Schema: s.schema, Version: s.c.o.Functions.ListVersion,
		Origin:   e.origin,
		Reusable: dec.NotReused == "",
		Granted:  dec.Entry != nil && len(dec.Entry.Requires.Needs) > 0,
	}
}

// validateConfig checks a configuration against the schema of the catalog entry.
func (s functionSteps) validateConfig(d document, entry *catalog.Entry, config yaml.Value) {
	for _, e := range entry.Validate(config) {
		s.Fail(&diag.Error{Pos: d.locate(e.Path...), Msg: d.r.ID().String() + ": " + e.Text(), Hints: e.Hints, Code: diag.BadFunction})
	}
	if s.c.schemaChecked[entry] {
		return
	}
	s.c.schemaChecked[entry] = true
	if w := entry.SchemaWarning(); w != nil {
		s.Warnings.Add(w)
	}
}

// legacy warns about outdated fields that name a function, once for each such field.
func (c *compiler) legacy(in *function.Inline) {
	if in == nil || in.Starlark != "" { // it has no newer spelling and cannot run
		return
	}
	for _, place := range in.Deprecated() {
		if c.legacyPlaces[place] {
			continue
		}
		c.legacyPlaces[place] = true
		shown := *in
		if in.Exec != nil {
			program := *in.Exec
			program.Path = diag.Redact(program.Path)
			shown.Exec = &program
		}
		w := diag.Errorf(in.Pos, "", "%s is deprecated: name the function in the field %s", place,
			function.PlaceRuntime).With(diag.OldFunctionPlace)
		c.warnings.Add(w.Hint("write %s: %s", function.PlaceRuntime, yaml.AppendJSON(nil, shown.Value())))
	}
}

// image returns information about an image.
func (c *compiler) image(reference string) trust.Image {
	known, ok := c.images[reference]
	if !ok && c.o.Functions.Image != nil {
		known = c.o.Functions.Image(reference)
		c.images[reference] = known
	}
	return known
}
