package composition

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// importItems consolidates the Composition that an entry of transformersFrom names. It returns
// nil after recording an error if there is none.
func (b *builder) importItems(f *file, i importRef) *List {
	if len(b.importing) >= layerfile.MaxNested {
		b.ErrorAt(f.src, i.at, layerfile.ErrNested())
		return nil
	}
	dir, src, err := b.importFile(f, i.path)
	if err != nil {
		b.ErrorAt(f.src, i.at, err)
		return nil
	}
	for n, on := range b.importing {
		if !b.entered[dir.Real] { // a search in each link of a long chain would be quadratic
			break
		}
		if on.Real == dir.Real {
			names := make([]string, 0, len(b.importing)-n+1)
			for _, d := range b.importing[n:] {
				names = append(names, d.Name)
			}
			b.ErrorAt(f.src, i.at, diag.Cycle.Errorf("cycle: %s", strings.Join(append(names, dir.Name), " -> ")))
			return nil
		}
	}
	defer dir.Close()
	b.files.Refers(f.src, i.at, src.File)
	return b.list(dir, src)
}

// importFile returns the composition file that path names, by its file or its directory (CI-02).
func (b *builder) importFile(f *file, path string) (*loaders.Dir, *yaml.Source, error) {
	folder, named := layerfile.CompositionDir(path)
	if !named {
		folder = path
		if err := fileNotComposition(path); err != nil && !b.files.IsDir(f.dir, path) {
			return nil, nil, err
		}
	}
	if filepath.IsAbs(path) {
		return nil, nil, diag.AbsolutePath.Errorf("%q must not be an absolute path", path)
	}
	dir, err := b.files.Sub(f.dir, folder)
	var missing *loaders.NotFoundError
	if errors.As(err, &missing) {
		return nil, nil, &loaders.NotFoundError{Path: path}
	} else if err != nil {
		return nil, nil, err
	}
	src, composition, err := layerfile.Find(b.files, dir)
	var none *layerfile.NoFileError
	switch {
	case errors.As(err, &none):
		return nil, nil, diag.NoComposition.Errorf("no %s in directory %q", layerfile.CompositionNames[0], dir.Name)
	case err != nil:
		return nil, nil, err
	case !composition:
		return nil, nil, diag.ImportsKustomization.Errorf("cannot import transformers from a Kustomization: %s", src.File)
	case named && !strings.HasPrefix(path[strings.LastIndexByte(path, '/')+1:], filepath.Base(src.File)):
		return nil, nil, &loaders.NotFoundError{Path: path}
	}
	return dir, src, nil
}

// fileNotComposition returns an error if path names a file that cannot be a composition file.
func fileNotComposition(path string) error {
	base := path[strings.LastIndexByte(path, '/')+1:]
	switch {
	case slices.Contains(layerfile.Names, base):
		return diag.ImportsKustomization.Errorf("cannot import transformers from a Kustomization: %q", path)
	case strings.HasSuffix(base, ".yaml"), strings.HasSuffix(base, ".yml"):
		return diag.NoComposition.Errorf("%q is not a Composition: the file must be named %s", path,
			strings.Join(layerfile.CompositionNames, " or "))
	}
	return nil
}

// override applies the overrides of f to the imported items (CV-01). Each must match exactly one
// item.
func (b *builder) override(c *List, f *file, front, back []*Item) (_, _ []*Item) {
	if len(c.imports) > 1 { // a single list has been checked
		b.unique(c, slices.Concat(front, back))
	}
	for _, o := range f.overrides {
		at, list := -1, &front
		for _, l := range []*[]*Item{&front, &back} {
			if i := slices.IndexFunc(*l, func(it *Item) bool { return it.ID == o.ID }); i >= 0 {
				at, list = i, l
				break
			}
		}
		if at < 0 {
			b.ErrorLater(o.Source, nil, func() error { return noTarget(f, o, slices.Concat(front, back)) })
			continue
		}
		changed, err := (*list)[at].apply(o, b.kinds)
		if outside := b.leaving(o); outside != nil {
			b.ErrorAt(o.Source, nil, outside)
			continue
		}
		switch {
		case err != nil:
			b.ErrorAt(o.Source, nil, diag.NoOverrideTarget.Errorf("cannot be merged into %s, declared at %s: %w",
				o.ID, (*list)[at].Source.Locate(0), err))
		case changed == nil:
			*list = slices.Delete(slices.Clone(*list), at, at+1)
		default:
			if changed.Value.Equal((*list)[at].Value) {
				b.Warn(diag.OverrideChangesNothing, o.Source, nil, "the override changes nothing")
			}
			*list = slices.Clone(*list)
			(*list)[at] = changed
		}
	}
	return front, back
}

// noTarget returns the error for an override without a matching item, with suggestions (CV-05 to
// CV-08).
func noTarget(f *file, o *Item, imported []*Item) error {
	err := diag.Errorf(diag.Pos{}, "", "no transformer found for override %s", o.ID).With(diag.NoOverrideTarget)
	if len(f.imports) == 0 {
		return err.Hint("only imported transformers can be overridden, and this Composition imports none")
	}
	for _, it := range f.own {
		if it.ID == o.ID {
			return err.Hint("it is declared in this Composition, at %s: change it there", it.Source.Locate(0))
		}
	}
	var names []string
	for _, it := range imported {
		if it.ID.Kind == o.ID.Kind && it.ID.Name == o.ID.Name {
			return err.Hint("the one at %s has apiVersion %s", it.Source.Locate(0), it.ID.APIVersion)
		}
		names = append(names, it.ID.String())
	}
	err.Hints = append(err.Hints, diag.DidYouMean(o.ID.String(), names)...)
	if len(err.Hints) == 0 && len(names) > 0 {
		err.Hint("the imported transformers are: %s", diag.Some(names))
	}
	return err
}

// apply returns a copy of the item with an override applied, or nil if the override deletes it.
func (it *Item) apply(o *Item, kinds *schema.Schema) (*Item, error) {
	patch := o.rebased(it.Dir)
	base := it.Value
	if patch.Get(function.PlaceRuntime).Exists() {
		base = withRuntime(base)
	}
	if wanted := patch.Get(function.PlaceRuntime); wanted.Type() == yaml.Map && base.Get(function.PlaceRuntime).Type() == yaml.Map {
		base = base.With(function.PlaceRuntime, otherRuntimes(base.Get(function.PlaceRuntime), wanted))
	}
	merged, deleted, err := builtins.MergePatch(kinds, base, patch)
	if err != nil || deleted {
		return nil, err
	}
	changed := *it
	changed.Value = merged
	changed.Source = it.Source.Over(merged, o.Source)
	if o.Value.Get(function.PlaceRuntime).Exists() {
		changed.spelled = o.spelled
	}
	changed.changes = append(it.changes[:len(it.changes):len(it.changes)], change{o.Source, o.Dir, o.file})
	return &changed, nil
}

// withRuntime converts an item that names its function in annotations to one that uses the field
// runtime, so that an override of the field applies to the function in either spelling.
func withRuntime(v yaml.Value) yaml.Value {
	inline, err := function.ReadInline(v, nil)
	if v.Get(function.PlaceRuntime).Exists() || err != nil || inline == nil {
		return v
	}
	meta := v.Get("metadata").Without("configFn")
	if annotations := meta.Get("annotations"); annotations.Exists() {
		for _, key := range []string{function.PlaceAnnotation, function.PlaceAnnotation2, function.PlaceContainer} {
			annotations = annotations.Without(key)
		}
		if meta = meta.With("annotations", annotations); annotations.Len() == 0 {
			meta = meta.Without("annotations")
		}
	}
	return v.With("metadata", meta).With(function.PlaceRuntime, inline.Value())
}

// otherRuntimes removes the runtime kinds that an override replaces with a different kind
// (CV-11).
func otherRuntimes(runtime, wanted yaml.Value) yaml.Value {
	kinds := []string{"container", "exec", "starlark"}
	if !slices.ContainsFunc(kinds, func(kind string) bool { return !wanted.Get(kind).IsNull() }) {
		return runtime
	}
	for _, kind := range kinds {
		if !wanted.Get(kind).Exists() {
			runtime = runtime.Without(kind)
		}
	}
	return runtime
}

// uniqueItems is unique for all items of c. A list that only adds items to a single import
// continues the identities of the import, so that a chain of imports does not collect them again in
// each.
func (b *builder) uniqueItems(c *List, f *file) {
	if len(c.imports) == 1 && len(f.overrides) == 0 && c.imports[0].seen != nil {
		seen := c.imports[0].seen
		c.imports[0].seen = nil
		for _, it := range f.own {
			seen[it.ID] = true
		}
		if len(seen) == len(c.Items) {
			c.seen = seen
			return
		}
	}
	b.unique(c, c.Items)
	c.seen = make(map[ID]bool, len(c.Items))
	for _, it := range c.Items {
		c.seen[it.ID] = true
	}
}

// unique reports items of c with equal identities, with both positions (CD-02, CD-03).
func (b *builder) unique(c *List, items []*Item) {
	seen := map[ID]*Item{}
	for _, it := range items {
		first := seen[it.ID]
		if first == nil {
			seen[it.ID] = it
			continue
		}
		if b.Errs.Full() {
			b.Fail(diag.MoreError(1))
			continue
		}
		err := diag.Errorf(it.Source.Locate(0), it.Source.Field(nil), "%s is declared twice, the first time at %s", it.ID,
			first.Source.Locate(0)).With(diag.DeclaredTwice)
		if it.Source.Locate(0) == first.Source.Locate(0) && it.Source.Field(nil) == first.Source.Field(nil) {
			c.onTwoWays(err, it.ID)
		} else {
			err.Hint("give each of them a different metadata.name")
		}
		b.Fail(err)
	}
}

// reorder sorts items by transformerOrder, which must name each of them exactly once (CD-05 to
// CD-08).
func (b *builder) reorder(f *file, items []*Item) []*Item {
	if len(f.order) == 0 {
		return items
	}
	before := b.Errs.Len()
	var ordered []*Item
	place := map[*Item]orderEntry{}
	for _, o := range f.order {
		found := find(o, items)
		if len(found) != 1 {
			b.ErrorLater(f.src, o.at, func() error { return notOne(o, items, found) })
			continue
		}
		it := found[0]
		if first, twice := place[it]; twice {
			b.ErrorAt(f.src, o.at, diag.OrderUnknown.Errorf("%s is named twice, the first time at %s", it.ID, f.src.Locate(0, first.at...)))
			continue
		}
		place[it] = o
		ordered = append(ordered, it)
	}
	var missing []string
	for _, it := range items {
		if _, ok := place[it]; !ok {
			missing = append(missing, it.ID.String())
		}
	}
	if len(missing) > 0 {
		b.ErrorAt(f.src, f.order[0].at[:1], diag.OrderIncomplete.Errorf("must name every transformer once; missing: %s",
			diag.Some(missing)))
	}
	if b.Errs.Len() > before {
		return items
	}
	return ordered
}

// find returns the items that match an entry of an order. There should be exactly one.
func find(o orderEntry, items []*Item) (found []*Item) {
	for _, it := range items {
		if o.matches(it.ID) {
			found = append(found, it)
		}
	}
	return found
}

// notOne returns the error for an entry of an order that matches no item, or several: found.
func notOne(o orderEntry, items, found []*Item) error {
	if len(found) > 0 {
		err := diag.Errorf(diag.Pos{}, "", "%q is ambiguous: %s or %s", o.String(), found[0].ID, found[1].ID).With(diag.OrderUnknown)
		return err.Hint("add kind or apiVersion")
	}
	var names, namesakes []string
	for _, it := range items {
		names = append(names, it.ID.Name)
		if it.ID.Name == o.name {
			namesakes = append(namesakes, it.ID.String())
		}
	}
	err := diag.Errorf(diag.Pos{}, "", "no transformer is named %q", o.String()).With(diag.OrderUnknown)
	if len(namesakes) > 0 {
		return err.Hint("did you mean %s?", strings.Join(namesakes[:min(3, len(namesakes))], " or "))
	}
	if i := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, o.name) }); i >= 0 && names[i] != o.name {
		err.Hint("did you mean %q?", names[i])
	} else if err.Hints = diag.DidYouMean(o.name, names); err.Hints == nil {
		err.Hint("the transformers are: %s", diag.Some(names))
	}
	return err
}
