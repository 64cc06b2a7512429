package composition

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/layerfile"
	"github.com/krmflow/krmflow/planner/report"
)

// An Item is an entry of a Composition's transformers or overrides.
type Item struct {
	ID ID
	// Value has defaults for apiVersion and name, and the function in the field runtime.
	Value  yaml.Value
	Source *yaml.Source
	// Dir is the directory of the Composition that declares the item. The item's paths are
	// relative to it. file is the base name of the Composition's file.
	Dir  *loaders.Dir
	file string
	// changes are the overrides applied, in order.
	changes []change
	// spelled is the field of the file that names the function.
	spelled string
}

// A change is an override that was applied to an item.
type change struct {
	at *yaml.Source
	// dir is the directory of the overriding Composition. Paths in the override are relative to
	// it.
	dir  *loaders.Dir
	file string
}

// An ID identifies an item of a Composition.
type ID struct{ APIVersion, Kind, Name string }

func (id ID) String() string { return id.APIVersion + " " + id.Kind + "/" + id.Name }

// isFunction reports whether the item configures a function.
func (it *Item) isFunction() bool {
	group, _, _ := strings.Cut(it.ID.APIVersion, "/")
	return it.ID.APIVersion != "builtin" && group != layerfile.Group
}

// IsAccumulator reports whether the item is a built-in that reads resources.
func (id ID) IsAccumulator() bool {
	return id.APIVersion == "builtin" && (id.Kind == accumulatorKind || id.Kind == generatorKind)
}

// Misplaced returns an error if the item is a layer that is not allowed in a list.
func (id ID) Misplaced() error {
	group, _, _ := strings.Cut(id.APIVersion, "/")
	switch {
	case group != layerfile.Group:
		return nil
	case id.Kind == layerfile.CompositionKind:
		return misplaced(id).Hint("import it with transformersFrom, or render it with a %s", accumulatorKind)
	case id.Kind == "Component":
		return misplaced(id).Hint("list it under components of an inline Kustomization")
	}
	return nil
}

func misplaced(id ID) *diag.Error {
	return diag.Errorf(diag.Pos{}, "", "a %s cannot be an item", id.Kind).With(diag.NotAnItem)
}

// Label returns the name of an item in node ids. It is independent of the item's position. It
// includes the apiVersion if several items have the same kind and name.
func (c *List) Label(it *Item) string {
	name := it.ID.short()
	if second, ok := c.shorts().second[name]; ok && second < len(c.Items) {
		return it.ID.APIVersion + "/" + name
	}
	return name
}

// namesakes are the items with equal kinds and names among the first n items of a list.
type namesakes struct {
	n int
	// second has the position of the second item of each kind and name, and math.MaxInt if there
	// is only one.
	second map[string]int
}

// shorts returns the namesakes of c. If a longer list begins with the items of c, the result can
// include its later items. A list that begins with the items of its import adds to the namesakes of
// the import: in a chain of imports, each item gets its label from a different list.
func (c *List) shorts() *namesakes {
	if c.namesakes != nil {
		return c.namesakes
	}
	c.namesakes = &namesakes{second: map[string]int{}}
	if len(c.imports) == 1 {
		in := c.imports[0].Items
		if len(in) <= len(c.Items) && slices.Equal(in, c.Items[:len(in)]) {
			if known := c.imports[0].shorts(); known.n == len(in) {
				c.namesakes = known
			}
		}
	}
	for i := c.namesakes.n; i < len(c.Items); i++ {
		name := c.Items[i].ID.short()
		if second, ok := c.namesakes.second[name]; !ok {
			c.namesakes.second[name] = math.MaxInt
		} else if second == math.MaxInt {
			c.namesakes.second[name] = i
		}
	}
	c.namesakes.n = len(c.Items)
	return c.namesakes
}

// short returns the id without its apiVersion.
func (id ID) short() string { return id.Kind + "/" + id.Name }

// The kinds of built-ins that exist only in Compositions (RA-01, RA-07).
const (
	accumulatorKind = "ResourceAccumulator"
	generatorKind   = "ResourceGenerator"
)

// HelmKind is the kind of kustomize's built-in for charts.
const HelmKind = "HelmChartInflationGenerator"

// builtinKind reports whether kind is a built-in allowed in a Composition.
func builtinKind(kind string) bool {
	return kind == accumulatorKind || kind == generatorKind || kind == HelmKind || builtins.New(kind) != nil
}

// BuiltinKinds returns the kinds of built-ins that an item may have, sorted.
func BuiltinKinds() []string {
	kinds := append(builtins.Kinds(), accumulatorKind, generatorKind, HelmKind)
	slices.Sort(kinds)
	return kinds
}

// UseDefaultFields sets the fields of a built-in that lists none to the defaults of the
// corresponding field in a Kustomization (BT-05). An empty list means no fields (BT-06).
func UseDefaultFields(b builtins.Builtin, config yaml.Value) {
	if lister, ok := b.(builtins.FieldLister); ok && config.Get("fieldSpecs").IsNull() {
		lister.UseFields(builtins.DefaultConfig())
	}
}

// item parses the item, or the override of one, at c. It returns nil if the item has no valid
// identity.
func (r *reader) item(c yaml.Cursor, part *yaml.Source, override bool) *Item {
	v := c.Value()
	if v.Type() != yaml.Map {
		c.Errorf("must be a mapping").With(diag.WrongType)
		return nil
	}
	it := &Item{Source: part, Dir: r.f.dir, file: filepath.Base(r.f.src.File)}
	it.ID.Kind = c.Field("kind").Required()
	if it.ID.Kind == "" {
		return nil
	}
	if it.ID.APIVersion = r.itemVersion(c, it.ID.Kind, override); it.ID.APIVersion == "" {
		return nil
	}
	name, ok := r.itemName(c, it.ID.Kind, override)
	if !ok {
		return nil
	}
	it.ID.Name = name
	v = v.With("apiVersion", yaml.Str(it.ID.APIVersion)).WithAt(yaml.Str(name), "metadata", "name")
	r.runtime(c, part, override)
	it.spelled = function.PlaceRuntime
	if old := v.Get(function.PlaceProvider); old.Exists() && !v.Get(function.PlaceRuntime).Exists() {
		v = v.Without(function.PlaceProvider).With(function.PlaceRuntime, old)
		it.spelled = function.PlaceProvider
	}
	it.Value = v
	if !override {
		r.declaration(c, it)
	}
	return it
}

// itemVersion returns the apiVersion of an item, or "" after recording that it has none (CO-13,
// CO-14, BT-10).
func (r *reader) itemVersion(c yaml.Cursor, kind string, override bool) string {
	f := c.Field("apiVersion")
	if !f.Exists() {
		assumed := ""
		switch {
		case builtinKind(kind):
			assumed = "builtin"
		case kind == "Kustomization":
			assumed = layerfile.KustomizationVersion
		default:
			f.Required()
			return ""
		}
		if !override {
			pos := c.Pos()
			r.Warnings.Add(diag.Errorf(pos, diag.FieldPath(c.Path()), "the %s has no apiVersion: assuming %s",
				kind, assumed).With(diag.WrongKind))
		}
		return assumed
	}
	text := f.Required()
	if text != "" && !isAPIVersion(text) {
		f.Errorf("%q is not a valid apiVersion: expected builtin, VERSION or GROUP/VERSION in lower case", text).With(diag.WrongKind)
		return ""
	}
	return text
}

// itemName returns the name of an item, by default its kind in kebab case (CO-15 to CO-17,
// CD-01).
func (r *reader) itemName(c yaml.Cursor, kind string, override bool) (string, bool) {
	meta := c.Field("metadata")
	if meta.Exists() {
		known := []string{"name", "namespace", "labels", "annotations", "configFn"}
		if override {
			known = append(known, "$patch")
		}
		if function.Misplaced(meta) || !meta.Known(known...) {
			return "", false
		}
		meta.Field("namespace").Text()
		meta.Field("labels").StringMap()
		meta.Field("annotations").StringMap()
	}
	f := meta.Field("name")
	if !f.Exists() {
		name := kebab(kind)
		if !isName(name) {
			c.Errorf("needs a metadata.name: no default can be derived from the kind %q", kind).With(diag.ItemName)
			return "", false
		}
		return name, true
	}
	name := f.Required()
	switch lower := strings.ToLower(name); {
	case name == "":
		return "", false
	case !isName(lower):
		f.Errorf("%q is not a valid name: expected up to 253 letters, digits, - and ., with a letter or digit at both ends",
			name).With(diag.ItemName)
		return "", false
	case lower != name && !override:
		r.Warnings.Add(diag.Errorf(f.Pos(), diag.FieldPath(f.Path()), "%q has upper-case letters; names should be in lower case",
			name).With(diag.ItemName))
	}
	return name, true
}

// runtime checks the field that names the function (CO-19, CO-20). In an override the field may
// be partial.
func (r *reader) runtime(c yaml.Cursor, part *yaml.Source, override bool) {
	for _, key := range []string{function.PlaceRuntime, function.PlaceProvider} {
		f := c.Field(key)
		if f.Value().Get("deferFailure").Exists() {
			f.Known("container", "exec", "starlark")
		}
		if !override || !f.Exists() || !f.Known("container", "exec", "starlark", "$patch") {
			continue
		}
		for _, kind := range []string{"container", "exec"} {
			if x := f.Field(kind); x.Exists() && x.Value().Type() != yaml.Map {
				x.Known()
			}
		}
	}
	if override {
		return
	}
	_, err := function.ReadInline(c.Value(), func(in ...any) diag.Pos { return part.Locate(0, in...) })
	var conflict *function.InlineConflict
	if err == nil || errors.As(err, &conflict) {
		return // the user must resolve the ambiguity
	}
	for _, e := range report.Mistakes(err) {
		at := *diag.AsError(e)
		at.Field = part.FieldOf(at.Field)
		r.Fail(&at)
	}
}

// The annotations in a consolidated Composition that record the origin of an item. They are not
// part of the item.
const (
	declaredIn   = "krmflow.dev/declared-in"
	overriddenIn = "krmflow.dev/overridden-in"
)

// declaration moves the origin of an item from its annotations to its fields: the item's paths
// are relative to that origin. The annotations must name Compositions, so that they give no more
// access than an import.
func (r *reader) declaration(c yaml.Cursor, it *Item) {
	annotations := it.Value.At("metadata", "annotations")
	rest := annotations
	if text := annotations.Get(declaredIn).Text(); text != "" {
		rest = rest.Without(declaredIn)
		if src, dir := r.named(c, declaredIn, text); src != nil {
			it.Dir, it.file = dir, filepath.Base(src.File)
		}
	}
	if text := annotations.Get(overriddenIn).Text(); text != "" {
		rest = rest.Without(overriddenIn)
		for path := range strings.SplitSeq(text, ",") {
			if src, dir := r.named(c, overriddenIn, path); src != nil {
				it.changes = append(it.changes, change{src, dir, filepath.Base(src.File)})
			}
		}
	}
	switch {
	case rest.Same(annotations):
	case rest.Len() == 0:
		it.Value = it.Value.With("metadata", it.Value.Get("metadata").Without("annotations"))
	default:
		it.Value = it.Value.WithAt(rest, "metadata", "annotations")
	}
}

// named returns the composition file named by an annotation.
func (r *reader) named(c yaml.Cursor, key, path string) (*yaml.Source, *loaders.Dir) {
	at := c.Field("metadata").Field("annotations").Field(key)
	text, ok := layerfile.CompositionDir(path)
	if !ok {
		at.Errorf("%q is not a composition file", path).With(diag.NoComposition)
		return nil, nil
	}
	dir, err := r.files.Sub(r.f.dir, text)
	if err != nil {
		at.Errorf("%v", err)
		return nil, nil
	}
	if dir.Real == r.f.dir.Real {
		return r.f.src, r.f.dir
	}
	defer dir.Close()
	src, err := layerfile.FindComposition(r.files, dir, true)
	if err != nil || src == nil || filepath.Base(src.File) != filepath.Base(path) {
		at.Errorf("no Composition found in %q", path).With(diag.NoComposition)
		return nil, nil
	}
	r.files.Refers(r.f.src, at.Path(), src.File)
	return src, dir
}

// Roots returns additional directories in which the item may read files named by overrides.
func (it *Item) Roots() (dirs []*loaders.Dir) {
	for _, by := range it.changes {
		if by.dir.Real != it.Dir.Real {
			dirs = append(dirs, by.dir)
		}
	}
	return dirs
}

// Brought returns the file of the Composition that declares the item or, if it was overridden, of
// the last one that changed it. Importing that Composition gives the item in its current form.
func (it *Item) Brought() string {
	if n := len(it.changes); n > 0 {
		return filepath.Join(it.changes[n-1].dir.Name, it.changes[n-1].file)
	}
	return filepath.Join(it.Dir.Name, it.file)
}

// Overrides returns the overrides that changed the item, in order.
func (it *Item) Overrides() (list []*yaml.Source) {
	for _, by := range it.changes {
		list = append(list, by.at)
	}
	return list
}

// Locate returns the position of a field of the item.
func (it *Item) Locate(path []any) diag.Pos {
	if len(path) > 0 && path[0] == function.PlaceRuntime && it.spelled == function.PlaceProvider {
		path = append([]any{function.PlaceProvider}, path[1:]...)
	}
	return it.Source.Locate(0, path...)
}

// kebab converts a kind to kebab case. A run of capitals is one word: HTTPLoadBalancer becomes
// http-load-balancer.
func kebab(kind string) string {
	upper := func(i int) bool { return i < len(kind) && kind[i] >= 'A' && kind[i] <= 'Z' }
	lower := func(i int) bool { return i < len(kind) && kind[i] >= 'a' && kind[i] <= 'z' }
	var b strings.Builder
	for i := range len(kind) {
		if upper(i) && i > 0 && kind[i-1] != '-' && (!upper(i-1) || lower(i+1)) {
			b.WriteByte('-')
		}
		b.WriteString(strings.ToLower(kind[i : i+1]))
	}
	return b.String()
}

// isName reports whether text is a valid name of a Kubernetes object (DNS-1123 subdomain).
func isName(text string) bool {
	if len(text) > 253 {
		return false
	}
	for part := range strings.SplitSeq(text, ".") {
		if !isWord(part) {
			return false
		}
	}
	return true
}

func isWord(text string) bool {
	for i := range len(text) {
		c := text[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && (c != '-' || i == 0 || i == len(text)-1) {
			return false
		}
	}
	return text != ""
}

// isAPIVersion reports whether text is VERSION or GROUP/VERSION; builtin has the form of a
// version.
func isAPIVersion(text string) bool {
	group, version, ok := strings.Cut(text, "/")
	if !ok {
		return isWord(text)
	}
	return isName(group) && isWord(version)
}
