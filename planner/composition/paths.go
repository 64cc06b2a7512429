package composition

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// pathFields are the fields of an item that hold paths relative to the file that says them. A step "*" stands for the items
// of a list.
func pathFields(id ID) [][]string {
	var fields []string
	switch {
	case id.APIVersion == "builtin":
		fields = []string{"files.*", "env", "envs.*", "path", "paths.*", "targetFilePath", "replacements.*.path"}
	case id.IsKustomization():
		fields = []string{
			"resources.*", "bases.*", "components.*", "crds.*", "configurations.*", "generators.*", "transformers.*", "validators.*",
			"catalogs.*", "openapi.path", "patches.*.path", "patchesJson6902.*.path", "patchesStrategicMerge.*", "replacements.*.path",
			"configMapGenerator.*.files.*", "configMapGenerator.*.env", "configMapGenerator.*.envs.*",
			"secretGenerator.*.files.*", "secretGenerator.*.env", "secretGenerator.*.envs.*",
		}
	default:
		fields = []string{"runtime.exec.path", "runtime.container.mounts.*.src"}
	}
	steps := make([][]string, len(fields))
	for i, f := range fields {
		steps[i] = strings.Split(f, ".")
	}
	return steps
}

// IsKustomization reports whether the item is a Kustomization.
func (id ID) IsKustomization() bool {
	group, _, _ := strings.Cut(id.APIVersion, "/")
	return group == layerfile.Group && id.Kind == "Kustomization"
}

// rebased returns the value of an override with its relative paths leading to the same files from another directory (CV-12).
func (o *Item) rebased(to *loaders.Dir) yaml.Value {
	if o.Dir.Real == to.Real {
		return o.Value
	}
	v := o.Value
	for _, field := range pathFields(o.ID) {
		v = editPaths(v, field, func(path string) string { return rebase(path, o.Dir, to) })
	}
	return v
}

// Paths returns the paths of the item that start at its directory, or are absolute.
func (it *Item) Paths() (list []string) {
	for _, field := range pathFields(it.ID) {
		editPaths(it.Value, field, func(path string) string {
			list = append(list, path)
			return path
		})
	}
	return list
}

// From returns the value of the item with its relative paths leading to the same files from another directory.
func (it *Item) From(dir *loaders.Dir) yaml.Value {
	v := it.Value
	for _, field := range pathFields(it.ID) {
		v = editPaths(v, field, func(path string) string {
			if path == "" || filepath.IsAbs(path) {
				return path
			}
			rel, err := filepath.Rel(dir.Real, filepath.Join(it.Dir.Real, path))
			if err != nil {
				return path
			}
			return rel
		})
	}
	return v
}

// leaving returns an error if an override names a file outside the directory of its Composition. What another one declares is no
// reason to read there (CI-11), and no flag lifts that for programs.
func (b *builder) leaving(o *Item) (err error) {
	builtin := o.ID.APIVersion == "builtin" || o.ID.IsKustomization()
	if builtin && (b.unrestricted || o.Dir.Free) {
		return nil
	}
	for _, field := range pathFields(o.ID) {
		editPaths(o.Value, field, func(text string) string {
			_, path, ok := relativePath(text)
			if ok && !filepath.IsLocal(path) && !(builtin && b.files.IsDir(o.Dir, path)) {
				if err = error(&loaders.RestrictedError{Path: path, Root: o.Dir.Name}); !builtin {
					err = errors.New(err.Error()) // without the hint
				}
			}
			return text
		})
	}
	return err
}

// editPaths returns v with the paths at field replaced by what edit returns for them.
func editPaths(v yaml.Value, field []string, edit func(string) string) yaml.Value {
	if len(field) == 0 {
		if v.Type() == yaml.Map { // a configuration that stands where its file could be named
			for _, f := range pathFields(ID{APIVersion: v.Get("apiVersion").Text(), Kind: v.Get("kind").Text()}) {
				v = editPaths(v, f, edit)
			}
		}
		if v.Type() != yaml.String {
			return v
		}
		if to := edit(v.Text()); to != v.Text() {
			return yaml.Str(to)
		}
		return v
	}
	if field[0] == "*" {
		w, _ := v.EditItems(func(x yaml.Value) (yaml.Value, error) { return editPaths(x, field[1:], edit), nil })
		return w
	}
	x := v.Get(field[0])
	if !x.Exists() {
		return v
	}
	if y := editPaths(x, field[1:], edit); !y.Same(x) {
		return v.With(field[0], y)
	}
	return v
}

// relativePath returns the path in a text that may hold one; in key=path, key is what stands before it with the sign. URLs, absolute
// paths, and texts of YAML where a path may stand, too, are none.
func relativePath(text string) (key, path string, ok bool) {
	if text == "" || loaders.IsRemote(text) || layerfile.PatchPath(text) == "" {
		return "", "", false
	}
	i := strings.IndexByte(text, '=') + 1
	key, path = text[:i], text[i:]
	return key, path, path != "" && !filepath.IsAbs(path) && !filepath.IsAbs(text)
}

// rebase returns the path to the same file from another directory; what is no relative path stays as it is.
func rebase(text string, from, to *loaders.Dir) string {
	key, path, ok := relativePath(text)
	if !ok {
		return text
	}
	rel, err := filepath.Rel(to.Real, filepath.Join(from.Real, path))
	if err != nil {
		return text
	}
	return key + rel
}
