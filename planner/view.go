package planner

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders"
)

// Consolidate returns the Composition in the directory name with everything that it imports, overrides and reorders worked
// in: saved as its composition.yaml it gives the same plan (CE-08). It runs nothing. Mistakes are in [Plan.Failed] and
// warnings in [Plan.Warnings] of the plan that it returns besides, which has no graph.
func Consolidate(name string, o Options) (krm.Value, *Plan) {
	c := newCompiler([]string{name}, o)
	c.plan.Graph = &graph.Graph{}
	b := &build{c: c}
	v := b.consolidated(name)
	c.failed(name, b)
	return v, c.plan
}

func (b *build) consolidated(name string) krm.Value {
	dir, err := b.c.files.Root(name)
	if err != nil {
		b.fail(rootError(name, err))
		return krm.Value{}
	}
	defer dir.Close()
	k := b.load(dir, nil)
	switch {
	case k == nil:
		return krm.Value{}
	case k.composed == nil:
		b.fail(krm.Errorf(krm.Pos{File: k.src.File}, "", "is a %s, not a Composition", k.Kind))
		return krm.Value{}
	case k.composed.failed:
		return krm.Value{}
	}
	return k.composed.value(dir)
}

// value returns c as a Composition in a file of dir.
func (c *composed) value(dir *loaders.Dir) krm.Value {
	items := make([]krm.Value, len(c.items))
	for i, it := range c.items {
		items[i] = it.declared(dir)
	}
	v := krm.MapOf(krm.Field{Key: "apiVersion", Value: krm.Str(compositionVersion)}, krm.Field{Key: "kind", Value: krm.Str(compositionKind)})
	var catalogs []string
	for _, ref := range c.catalogs {
		if text := ref.from(dir); !slices.Contains(catalogs, text) {
			catalogs = append(catalogs, text)
		}
	}
	if len(catalogs) > 0 {
		list := make([]krm.Value, len(catalogs))
		for i, text := range catalogs {
			list[i] = krm.Str(text)
		}
		v = v.With("catalogs", krm.SeqOf(list...))
	}
	return v.With("transformers", krm.SeqOf(items...))
}

// declared returns the item as a file of dir can declare it: annotations say where else its paths start.
func (it *item) declared(dir *loaders.Dir) krm.Value {
	v := it.value
	if it.dir.Real != dir.Real {
		v = v.WithAt(krm.Str(pathFrom(dir, it.dir, it.file)), "metadata", "annotations", declaredIn)
	}
	var files []string
	for _, by := range it.changes {
		files = append(files, pathFrom(dir, by.dir, by.file))
	}
	if len(files) > 0 {
		v = v.WithAt(krm.Str(strings.Join(files, ",")), "metadata", "annotations", overriddenIn)
	}
	return v
}

// from returns the reference of the catalog as a file of dir can name it.
func (c catalogRef) from(dir *loaders.Dir) string {
	ref, err := catalog.ParseRef(c.text)
	if err != nil || ref.Remote() || filepath.IsAbs(c.text) || c.dir == dir.Real {
		return c.text
	}
	rel, err := filepath.Rel(dir.Real, filepath.Join(c.dir, c.text))
	if err != nil {
		return c.text
	}
	if !strings.HasPrefix(rel, ".") {
		rel = "./" + rel // or else a folder may look like a host
	}
	return rel
}

// pathFrom returns the path of a file in the directory of from dir.
func pathFrom(dir, of *loaders.Dir, file string) string {
	rel, err := filepath.Rel(dir.Real, of.Real)
	if err != nil {
		return filepath.Join(of.Real, file)
	}
	return filepath.Join(rel, file)
}
