package composition

import (
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/layerfile"
	"github.com/krmflow/krmflow/planner/report"
)

// A file is a decoded composition file with defaults added and spellings unified.
type file struct {
	src       *yaml.Source
	dir       *loaders.Dir
	imports   []importRef
	overrides []*Item
	own       []*Item
	order     []orderEntry
	catalogs  []catalog.Listed
	failed    bool // the items are incomplete, so overrides and order cannot be checked
}

// An importRef is an entry of transformersFrom.
type importRef struct {
	path   string
	append bool
	at     []any // of path
}

// An orderEntry is an entry of transformerOrder. An empty kind or apiVersion matches any.
type orderEntry struct {
	name, kind, apiVersion string
	at                     []any
}

func (o orderEntry) String() string {
	return strings.TrimSpace(strings.TrimSpace(o.apiVersion+" "+o.kind) + " " + o.name)
}

func (o orderEntry) matches(id ID) bool {
	return o.name == id.Name && (o.kind == "" || o.kind == id.Kind) && (o.apiVersion == "" || o.apiVersion == id.APIVersion)
}

// The fields of a Composition and their older spelling (CO-09).
var spellings = [2]struct{ from, overrides, items, order string }{
	{"transformersFrom", "transformerOverrides", "transformers", "transformerOrder"},
	{"modulesFrom", "moduleOverrides", "modules", "moduleOrder"},
}

// A reader decodes one composition file.
type reader struct {
	*builder
	f *file
}

// readFile decodes the composition file of dir. Mistakes are recorded.
func (b *builder) readFile(dir *loaders.Dir, src *yaml.Source) *file {
	f := &file{src: src, dir: dir}
	doc, err := src.Strict()
	if err != nil {
		b.ErrorAt(src, nil, err)
		f.failed = true
		return f
	}
	r := reader{b, f}
	c := yaml.NewCursor(doc.Value, doc.Locate)
	r.read(c)
	for _, e := range c.Mistakes() {
		adviseField(e)
		b.Fail(e)
	}
	return f
}

// adviseField adds a hint about the syntax of Compositions, for users who know only
// Kustomizations.
func adviseField(e *diag.Error) {
	wrongType := strings.HasPrefix(e.Msg, "must be a mapping")
	switch {
	case e.Field == "kind" && e.Msg == "is missing":
		e.Hint("write kind: %s", layerfile.CompositionKind)
	case e.Field == "resources" || e.Field == "components":
		e.Hints = []string{"list resources in an item of transformers: {apiVersion: builtin, kind: ResourceAccumulator, paths: [...]}"}
	case wrongType && strings.HasPrefix(e.Field, "transformersFrom["):
		e.Hint("write path: with the directory of the Composition")
	case wrongType && strings.HasPrefix(e.Field, "transformerOrder["):
		e.Hint("write name: with the name of the transformer")
	}
}

func (r *reader) read(c yaml.Cursor) {
	count := func() int { return len(c.Mistakes()) + r.Errs.Len() }
	before := count()
	r.f.failed = true
	if !c.Exists() {
		c.Errorf("the file is empty").With(diag.EmptyFile).Hint("a Composition needs at least kind: %s", layerfile.CompositionKind)
		return
	}
	if r.foreign(c.Field("apiVersion")) {
		return
	}
	names := spellings[0]
	known := []string{"apiVersion", "kind", "catalogs"}
	if r.spelling(c) == 1 {
		names = spellings[1]
	}
	for _, n := range spellings {
		known = append(known, n.from, n.overrides, n.items, n.order)
	}
	if !c.Known(known...) {
		return
	}
	r.head(c)
	for _, x := range c.Field(names.from).Items() {
		r.importEntry(x)
	}
	failed := count() > before
	for _, x := range c.Field(names.overrides).Items() {
		if o := r.item(x, r.f.src.Sub(x.Value(), 0, x.Path()...), true); o != nil {
			r.f.overrides = append(r.f.overrides, o)
		}
	}
	before = count()
	for _, x := range c.Field(names.items).Items() {
		r.entry(x)
	}
	r.f.failed = failed || count() > before
	for _, x := range c.Field(names.order).Items() {
		r.orderEntry(x)
	}
	r.catalogs(c.Field("catalogs"))
}

// foreign reports whether the apiVersion shows that the file belongs to another tool (CO-04),
// after recording an error.
func (r *reader) foreign(c yaml.Cursor) bool {
	group, _, ok := strings.Cut(c.Value().Text(), "/")
	if !ok || group == layerfile.Group {
		return false
	}
	c.Errorf("%q belongs to a different tool: no Kustomization or Composition in directory %q", c.Text(),
		r.f.dir.Name).With(diag.WrongKind).
		Hint("the apiVersion of a Composition is %s", layerfile.CompositionVersion)
	return true
}

// spelling returns the index in spellings that the file uses. Using both is a mistake.
func (r *reader) spelling(c yaml.Cursor) int {
	var found [2]string
	for i, n := range spellings {
		for _, key := range []string{n.from, n.overrides, n.items, n.order} {
			if found[i] == "" && c.Value().Get(key).Exists() {
				found[i] = key
			}
		}
	}
	if found[0] != "" && found[1] != "" {
		c.Field(found[1]).Errorf("modules is an older name for transformers; a file must not use both (it also has %s)",
			found[0]).With(diag.OldWords)
	}
	if found[0] == "" && found[1] != "" {
		return 1
	}
	return 0
}

// head checks apiVersion and kind (CO-05, CO-06, GR-12).
func (r *reader) head(c yaml.Cursor) {
	if v := c.Field("apiVersion"); v.Exists() {
		if text := v.Text(); v.Value().Type() == yaml.String && text != layerfile.CompositionVersion {
			e := v.Errorf("must be %s for a Composition, not %q", layerfile.CompositionVersion, text).With(diag.WrongKind)
			if text == layerfile.Group+"/v1beta1" {
				e.Hint("%s does not define Composition", text)
			}
		}
	}
	k := c.Field("kind")
	if kind := k.Required(); kind != "" && kind != "Composition" {
		e := k.Errorf("must be Composition, not %q", kind).With(diag.WrongKind)
		e.Hints = diag.DidYouMean(kind, []string{"Composition"})
	}
}

// importEntry parses an entry of transformersFrom (CO-10 to CO-12).
func (r *reader) importEntry(c yaml.Cursor) {
	if !c.Known("path", "importMode") {
		return
	}
	i := importRef{path: c.Field("path").Required(), at: c.Field("path").Path()}
	if mode := c.Field("importMode"); mode.Exists() {
		switch text := mode.Text(); {
		case mode.Value().Type() != yaml.String || text == "prepend":
		case text == "append":
			i.append = true
		default:
			e := mode.Errorf("must be prepend or append, not %q", text).With(diag.BadValue)
			e.Hints = diag.DidYouMean(text, []string{"prepend", "append"})
		}
	}
	if i.path != "" {
		r.f.imports = append(r.f.imports, i)
	}
}

// orderEntry parses an entry of transformerOrder (CO-21).
func (r *reader) orderEntry(c yaml.Cursor) {
	if !c.Known("name", "kind", "apiVersion") {
		return
	}
	o := orderEntry{name: c.Field("name").Required(), at: c.Path()}
	if x := c.Field("kind"); x.Exists() {
		o.kind = x.Required()
	}
	if x := c.Field("apiVersion"); x.Exists() {
		o.apiVersion = x.Required()
	}
	if o.name != "" {
		r.f.order = append(r.f.order, o)
	}
}

func (r *reader) catalogs(c yaml.Cursor) {
	for _, x := range c.Items() {
		text := x.Required()
		if text == "" {
			continue
		}
		if _, err := catalog.ParseRefIn(r.f.dir.Real, text, loaders.Exists); err != nil {
			x.Errorf("%v", err)
			continue
		}
		r.f.catalogs = append(r.f.catalogs, catalog.Listed{Text: text, Dir: r.f.dir.Real, Source: r.f.src, Path: x.Path()})
	}
}

// entry parses an entry of transformers: a mapping, the text of one or more mappings, or the path
// of a file with them (CO-22, CO-23).
func (r *reader) entry(c yaml.Cursor) {
	switch c.Value().Type() {
	case yaml.Map:
		r.own(r.item(c, r.f.src.Sub(c.Value(), 0, c.Path()...), false))
		return
	case yaml.String:
	default:
		c.Errorf("must be a mapping, or the path of a file that contains one").With(diag.WrongType)
		return
	}
	text := c.Required()
	if text == "" {
		return
	}
	rs, err := krm.Configs(&yaml.Source{File: r.f.src.File, Data: []byte(text)}, r.kinds)
	switch {
	case err == nil:
		for _, x := range rs {
			r.document(x.Value(), r.f.src.Sub(x.Value(), 0, c.Path()...))
		}
		return
	case strings.Contains(text, "\n"):
		// The text cannot be a path.
		for _, e := range report.Mistakes(err) {
			at := diag.AsError(e)
			c.Errorf("line %d of the text: %s", at.Pos.Line, at.Msg).Hints = at.Hints
		}
		return
	}
	if r.files.IsDir(r.f.dir, text) {
		c.Errorf("%q is a directory", text).With(diag.NotAFile).Hint(
			"list the files; import a Composition with transformersFrom, and add resources with ResourceAccumulator")
		return
	}
	src, err := r.files.Read(r.f.dir, text)
	if err != nil {
		e := c.Errorf("%v", err)
		e.Hints = append(e.Hints, report.Hints(err)...)
		return
	}
	r.files.Reads(r.f.src.File, src.File)
	if rs, err = krm.Configs(src, r.kinds); err != nil {
		r.Fail(report.Placed(r.f.src, c.Path(), err))
		return
	}
	if len(rs) == 0 {
		c.Errorf("%s contains no transformer", src.File).With(diag.EmptyFile)
	}
	for n, x := range rs {
		r.document(x.Value(), src.Sub(x.Value(), n))
	}
}

// document parses an item that is a separate document.
func (r *reader) document(v yaml.Value, part *yaml.Source) {
	c := yaml.NewCursor(v, func(path ...any) diag.Pos { return part.Locate(0, path...) })
	it := r.item(c, part, false)
	for _, e := range c.Mistakes() {
		r.Fail(e)
	}
	r.own(it)
}

func (r *reader) own(it *Item) {
	if it != nil {
		r.f.own = append(r.f.own, it)
	}
}
