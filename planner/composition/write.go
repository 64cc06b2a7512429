package composition

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// Value returns c as a Composition for a file in dir. Reading it there gives the same items.
func (c *List) Value(dir *loaders.Dir) yaml.Value {
	items := make([]yaml.Value, len(c.Items))
	for i, it := range c.Items {
		items[i] = it.declared(dir)
	}
	v := yaml.MapOf(yaml.Field{Key: "apiVersion", Value: yaml.Str(layerfile.CompositionVersion)},
		yaml.Field{Key: "kind", Value: yaml.Str(layerfile.CompositionKind)})
	var catalogs []string
	for _, ref := range c.Catalogs {
		if text := ref.From(dir.Real); !slices.Contains(catalogs, text) {
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

// declared returns the item as declared in a file of dir, with annotations for its other base
// directories.
func (it *Item) declared(dir *loaders.Dir) yaml.Value {
	v := it.Value
	if it.Dir.Real != dir.Real {
		v = v.WithAt(yaml.Str(pathFrom(dir, it.Dir, it.file)), "metadata", "annotations", declaredIn)
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

// pathFrom returns the path, relative to dir, of a file in the directory of.
func pathFrom(dir, of *loaders.Dir, file string) string {
	rel, err := filepath.Rel(dir.Real, of.Real)
	if err != nil {
		return filepath.Join(of.Real, file)
	}
	return filepath.Join(rel, file)
}
