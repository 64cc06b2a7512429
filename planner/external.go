package planner

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/eval"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/composition"
	"github.com/krmflow/krmflow/planner/layerfile"
	"github.com/krmflow/krmflow/planner/report"
	"github.com/krmflow/krmflow/trust"
)

// A document is a configuration document and the field that it came from. src is the text that
// contains it as resource n, nil if it is the result of a build.
type document struct {
	r      *krm.Resource
	path   []any
	src    *yaml.Source
	n      int
	inline bool // the text is in the layer's own file
	// byProgram is set to search catalogs by program: see [FileCall.ByProgram].
	byProgram bool
	// changes are the steps that changed the result of a build.
	changes []graph.Origin
	// fetched is set for the result of a build with any fetched input.
	fetched bool
	// item is set instead of path, src and n for an item of a Composition.
	item *composition.Item
	// composition is set, together with path only, for a reference to a Composition.
	composition string
}

// locate returns the position of a field of the document.
func (d document) locate(path ...any) diag.Pos {
	if d.item != nil {
		return d.item.Locate(path)
	}
	if d.src == nil || d.inline {
		return d.r.Pos
	}
	return d.src.Locate(d.n, path...)
}

// configText returns the document as the function's input file, with comments and style if there
// is a source text.
func (d document) configText(config yaml.Value) []byte {
	if d.src == nil {
		return yaml.AppendYAML(nil, config)
	}
	return function.ConfigText(d.src, d.n)
}

// external returns the configured entries of generators, transformers or validators. As in
// kustomize, inline documents precede those from files and folders, and identities must be
// unique.
func (s functionSteps) external(field string, values []yaml.TextOrMap, role function.Role) []*entry {
	if len(values) == 0 {
		return nil
	}
	var inline, files []document
	for i, v := range values {
		path := []any{field, i}
		if v.Map.Exists() {
			if d := s.configs().mapping(path, v.Map); d != nil {
				inline = append(inline, *d)
			}
			continue
		}
		in, others := s.configs().documents(path, v.Text)
		inline, files = append(inline, in...), append(files, others...)
	}
	docs := append(inline, files...)
	list := krm.NewList()
	count := map[string]int{}
	var entries []*entry
	for _, d := range docs {
		if d.composition != "" {
			entries = append(entries, &entry{path: d.path, composition: d.composition})
			continue
		}
		s.use.Meets(d.r.ID().GVK)
		if err := list.Append(d.r); err != nil {
			s.ErrorAt(s.k.Source, d.path, err)
			continue
		}
		key := diag.FieldPath(d.path)
		if n := count[key]; n > 0 {
			d.path = append(d.path[:len(d.path):len(d.path)], n)
		}
		count[key]++
		if e := s.entry(d, role); e != nil {
			entries = append(entries, e)
		}
	}
	return entries
}

// mapping returns the document of an entry that is a mapping (KX-10).
func (s configSteps) mapping(path []any, v yaml.Value) *document {
	if v.Get("kind").Text() == "" {
		s.ErrorAt(s.k.Source, path, diag.Nameless.Errorf("the object has no kind"))
		return nil
	}
	d := document{r: krm.NewResource(v, s.schema), path: path, inline: true}
	d.r.Pos = s.k.Source.Locate(0, path...)
	if s.tracking {
		d.r.Origin = s.origin.Origin(filepath.Base(s.k.Source.File))
	}
	return &d
}

// documents returns the documents in an entry's text, or in the file or folder that the text
// names.
func (s configSteps) documents(path []any, text string) (inline, files []document) {
	rs, src, err := s.inline(path, text)
	switch {
	case err == nil:
		for n, r := range rs {
			inline = append(inline, document{r: r, path: path, src: src, n: n, inline: true})
		}
		return inline, nil
	case strings.Contains(text, "\n"):
		s.ErrorAt(s.k.Source, path, errors.New(diag.AsError(err).Msg))
		return nil, nil
	}
	if in := layerfile.CompositionAt(s.c.files, s.dir, text); in != "" {
		return nil, []document{{path: path, composition: in}}
	}
	return nil, s.configDocuments(path, text)
}

// inline parses an entry's text as documents and returns them with the text. If the text is not
// YAML resources, the error is the reason: a single-line text is then a path.
func (s configSteps) inline(path []any, text string) ([]*krm.Resource, *yaml.Source, error) {
	src := &yaml.Source{File: s.k.Source.File, Data: []byte(text)}
	rs, err := krm.Configs(src, s.schema)
	if err != nil {
		return nil, nil, err
	}
	at := s.k.Source.Locate(0, path...)
	for _, w := range src.Losses() {
		s.warnText(path, &diag.Error{Msg: w.Msg})
	}
	for _, r := range rs {
		r.Pos = at
		if s.tracking {
			r.Origin = s.origin.Origin(filepath.Base(s.k.Source.File))
		}
	}
	return rs, src, nil
}

// configDocuments returns the configuration documents in a file, or the build result of the layer
// in a folder. Planning needs this result, so the folder is evaluated here and can use only
// built-ins.
func (s configSteps) configDocuments(path []any, text string) (docs []document) {
	dir, src, err := s.readConfig(text)
	if err == nil && src == nil {
		return s.fold(path, text, dir)
	}
	if err != nil {
		s.ErrorAt(s.k.Source, path, err)
		return nil
	}
	rs, err := krm.Configs(src, s.schema)
	if err != nil {
		s.ErrorAt(s.k.Source, path, err)
		return nil
	}
	s.Warnings.Add(src.Losses()...)
	for n, r := range rs {
		r.Origin = s.fileOrigin(text)
		docs = append(docs, document{r: r, path: path, src: src, n: n})
	}
	return docs
}

// readConfig returns the configuration file at path, or nil if path is a directory. For a fetched
// directory it also returns the directory.
func (s configSteps) readConfig(path string) (*loaders.Dir, *yaml.Source, error) {
	if loaders.IsRemote(path) {
		return s.readUnlessDir(path)
	}
	if s.c.files.IsDir(s.dir, path) {
		return nil, nil, nil
	}
	src, err := s.read(path)
	return nil, src, err
}

// fold compiles a configuration folder into a separate graph and evaluates it, without finishing
// steps.
func (s configSteps) fold(path []any, text string, dir *loaders.Dir) (docs []document) {
	var l *layer
	before := s.fetchedFiles
	g := s.c.aside(func() { l = s.fields().sublayer(path, text, dir) })
	if l == nil || l.failed {
		return nil
	}
	for call, n := range g.Calls() {
		s.c.plan.Denied = append(s.c.plan.Denied, Denial{n.ID, diag.Errorf(s.k.Source.Locate(0, path...), s.k.Source.Field(path),
			"the configuration in %q is generated by a function (%s) and cannot be planned: only functions named in the plan may run",
			text, call.Function.Name).With(diag.Denied), trust.Untrusted})
		return nil
	}
	lists, changed, failed, err := eval.Fold(s.c.ctx, g, func(n *graph.Node) diag.Warn {
		s.progress(n.Origin)
		return func(code diag.Code, format string, args ...any) {
			s.Warnings.Add(n.Origin.Warning(code, format, args...))
		}
	})
	if err != nil {
		s.ErrorAt(failed.Origin.Source, failed.Origin.Path, err)
		return nil
	}
	if len(g.Nodes) == 0 {
		return nil
	}
	fetched := s.fetchedFiles > before ||
		slices.ContainsFunc(g.Nodes, func(n *graph.Node) bool { return s.c.files.IsFetched(n.Origin.Source) })
	for _, r := range lists[l.out].All() {
		docs = append(docs, document{r: r, path: path, changes: changed[r], fetched: fetched})
	}
	return docs
}

// isFetched reports whether any input of a document was fetched. Such a configuration cannot
// bring its own program or run a program of this machine (P24, T07, EX-09).
func (s configSteps) isFetched(d document) bool {
	if it := d.item; it != nil {
		return it.Dir.IsFetched() || s.c.files.IsFetched(it.Source) || slices.ContainsFunc(it.Overrides(), s.c.files.IsFetched)
	}
	return d.fetched || s.dir.IsFetched() || s.c.files.IsFetched(d.src)
}

// unusedFunction warns about a built-in that names a function in an annotation or in metadata. As
// in kustomize, the function does not run. Other fields that name a function are unknown to
// built-ins anyway.
func (s functionSteps) unusedFunction(d document) {
	in, _ := function.ReadInline(d.r.Value(), d.locate)
	if in == nil || len(in.Deprecated()) == 0 {
		return
	}
	s.Warnings.Add(diag.Errorf(in.Pos, "", "%s is ignored: %s is a built-in, and %s does not run", in.Deprecated()[0], d.r.ID().Kind, in))
}

// unusedEnv warns about env, the older form of envs, in a generator document. As in kustomize, it
// is ignored.
func (s functionSteps) unusedEnv(d document, e *entry) {
	if e.generator() != nil && d.r.Value().Get("env").Text() != "" {
		m := yaml.DecodeError{Path: []any{"env"}, Msg: "is ignored: only the field of a Kustomization supports it",
			Hints: []string{"list the file in envs"}, Code: diag.UnknownField}
		s.Warnings.Add(d.mistake(&m))
	}
}

// entry configures the built-in or function of a document.
func (s functionSteps) entry(d document, role function.Role) *entry {
	id := d.r.ID()
	e := &entry{path: d.path, changes: d.changes, kind: id.Kind, pos: d.r.Pos, summary: strings.TrimSuffix(id.Kind+" "+id.Name, " "),
		origin: builtins.PluginOrigin(d.r)}
	if id.Group != "" || id.Version != "builtin" {
		if id.Group == layerfile.Group && id.Kind == layerfile.CompositionKind {
			err := s.configureError(d, diag.Misplaced.Errorf("a Composition must be in a separate file named composition.yaml"))
			s.Fail(diag.AsError(err).Hint("name that file, or its directory, here"))
			return nil
		}
		if s.function(d, role, e); e.call == nil {
			return nil
		}
		return e
	}
	if id.Kind == composition.HelmKind {
		return s.chartDocument(d, role, e)
	}
	if e.builtin = builtins.New(id.Kind); e.builtin == nil {
		s.Fail(s.unknownBuiltin(d))
		return nil
	}
	s.unusedEnv(d, e)
	before := s.Errs.Len()
	errs := s.decodeBuiltin(d, e.builtin)
	if d.item != nil {
		composition.UseDefaultFields(e.builtin, d.r.Value())
	}
	for _, err := range report.Mistakes(e.builtin.Configure(s.env(d.path))) {
		if len(errs) == 0 || !builtins.IsMissing(err) {
			s.Fail(s.configureError(d, err))
		}
	}
	if s.Errs.Len() > before {
		return nil
	}
	return e
}

// decodeBuiltin decodes the document of a built-in and records its mistakes.
func (s functionSteps) decodeBuiltin(d document, into any) []*yaml.DecodeError {
	s.configWarnings(d)
	s.unusedFunction(d)
	kind := d.r.ID().Kind
	if d.r.ID().Name == "" {
		s.Fail(d.mistake(&yaml.DecodeError{Msg: fmt.Sprintf("the %s has no metadata.name", kind), Code: diag.Nameless}))
	}
	decoding := builtins.Decoding(kind)
	var unknown []*yaml.DecodeError
	decoding.Ignored = func(de *yaml.DecodeError) {
		switch {
		case isObjectField(de.Path[0]):
		case d.item != nil:
			// Compositions are new: no existing tree depends on ignored fields.
			de.Msg = strings.TrimSuffix(de.Msg, " is ignored")
			unknown = append(unknown, de)
		default:
			s.Warnings.Add(d.mistake(de))
		}
	}
	errs := append(decoding.Decode(d.r.Value(), into), unknown...)
	for _, de := range errs {
		if s.Errs.Full() && de.More == 0 {
			de = &yaml.DecodeError{More: 1}
		}
		s.Fail(d.mistake(de))
	}
	return errs
}

// configWarnings adds warnings about the text of a built-in's configuration.
func (s functionSteps) configWarnings(d document) {
	if d.src == nil {
		return
	}
	for _, w := range d.src.Warnings() {
		if d.inline {
			w = &diag.Error{Msg: w.Msg}
		}
		s.warnText(d.path, w)
	}
}

// isObjectField reports whether every object has the field.
func isObjectField(key any) bool { return key == "apiVersion" || key == "kind" || key == "metadata" }

// mistake returns a mistake in d with its position. In an inline document, the position is the
// field that contains the document.
func (d document) mistake(m *yaml.DecodeError) *diag.Error {
	if m.More > 0 {
		return &diag.Error{Msg: m.Msg, Err: m.More}
	}
	e := &diag.Error{Pos: d.locate(m.Path...), Field: m.Field(), Msg: m.Msg, Hints: m.Hints, Code: m.Code}
	switch {
	case d.item != nil:
		e.Field = d.item.Source.Field(m.Path)
	case d.inline:
		e.Field = strings.TrimSuffix(diag.FieldPath(d.path)+": "+e.Field, ": ")
	}
	return e
}

// unknownBuiltin returns the error for an unknown kind of built-in.
func (s functionSteps) unknownBuiltin(d document) error {
	kind, kinds := d.r.ID().Kind, builtins.Kinds()
	if d.item != nil {
		kinds = composition.BuiltinKinds()
	}
	err := d.mistake(&yaml.DecodeError{Path: []any{"kind"}, Msg: fmt.Sprintf("unknown built-in %q", kind),
		Hints: diag.DidYouMean(kind, kinds), Code: diag.UnknownBuiltin})
	if d.item != nil {
		err.Hint("the built-ins are: %s", strings.Join(kinds, ", "))
	}
	return err
}

// configureError adds the position of its document to an error of a built-in.
func (s functionSteps) configureError(d document, err error) error {
	var at *diag.Error
	if errors.As(err, &at) && at.Pos.File != "" {
		return err
	}
	e := diag.Errorf(d.locate(diag.PathOf(err)...), "", "%w", err)
	if d.r.Pos.File == s.k.Source.File {
		e.Field = s.k.Source.Field(d.path)
	}
	e.Hints = append(e.Hints, report.Hints(err)...)
	return e
}
