package planner

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// Consolidate returns the Composition in the directory name with everything that it imports, overrides and reorders worked
// in: saved as its composition.yaml it gives the same plan (CE-08). It runs nothing. Mistakes are in [Plan.Failed] and
// warnings in [Plan.Warnings] of the plan that it returns besides, which has no graph.
func Consolidate(name string, o Options) (yaml.Value, *Plan) {
	c := newCompiler([]string{name}, o)
	c.plan.Graph = &graph.Graph{}
	b := c.build()
	v := b.consolidated(name)
	c.failed(name, b)
	c.plan.warn(&c.warnings)
	return v, c.plan
}

func (b *build) consolidated(name string) yaml.Value {
	dir, err := b.c.files.Root(name)
	if err != nil {
		b.Fail(rootError(name, err))
		return yaml.Value{}
	}
	defer dir.Close()
	k := b.load(dir, nil)
	switch {
	case k == nil:
		return yaml.Value{}
	case k.composed == nil:
		b.Fail(diag.Errorf(diag.Pos{File: k.Source.File}, "", "is a %s, not a Composition", k.Kind))
		return yaml.Value{}
	case k.composed.failed:
		return yaml.Value{}
	}
	return k.composed.value(dir)
}

// value returns c as a Composition in a file of dir.
func (c *composed) value(dir *loaders.Dir) yaml.Value {
	items := make([]yaml.Value, len(c.items))
	for i, it := range c.items {
		items[i] = it.declared(dir)
	}
	v := yaml.MapOf(yaml.Field{Key: "apiVersion", Value: yaml.Str(layerfile.CompositionVersion)}, yaml.Field{Key: "kind", Value: yaml.Str(layerfile.CompositionKind)})
	var catalogs []string
	for _, ref := range c.catalogs {
		if text := ref.from(dir); !slices.Contains(catalogs, text) {
			catalogs = append(catalogs, text)
		}
	}
	if len(catalogs) > 0 {
		list := make([]yaml.Value, len(catalogs))
		for i, text := range catalogs {
			list[i] = yaml.Str(text)
		}
		v = v.With("catalogs", yaml.SeqOf(list...))
	}
	return v.With("transformers", yaml.SeqOf(items...))
}

// declared returns the item as a file of dir can declare it: annotations say where else its paths start.
func (it *item) declared(dir *loaders.Dir) yaml.Value {
	v := it.value
	if it.dir.Real != dir.Real {
		v = v.WithAt(yaml.Str(pathFrom(dir, it.dir, it.file)), "metadata", "annotations", declaredIn)
	}
	var files []string
	for _, by := range it.changes {
		files = append(files, pathFrom(dir, by.dir, by.file))
	}
	if len(files) > 0 {
		v = v.WithAt(yaml.Str(strings.Join(files, ",")), "metadata", "annotations", overriddenIn)
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
