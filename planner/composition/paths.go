package composition

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// pathFields returns the fields of an item that contain paths relative to the file that declares
// it. The element "*" matches all entries of a list.
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

// rebased returns the value of an override with its relative paths rewritten for a different
// directory (CV-12).
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

// Paths returns the paths of the item, absolute or relative to its directory.
func (it *Item) Paths() (list []string) {
	for _, field := range pathFields(it.ID) {
		editPaths(it.Value, field, func(path string) string {
			list = append(list, path)
			return path
		})
	}
	return list
}

// From returns the value of the item with its relative paths rewritten for the directory dir.
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

// leaving returns an error if an override names a file outside the directory of its Composition.
// The declaration of an item in a different Composition does not give access there (CI-11), and
// no flag lifts this restriction for programs.
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

// editPaths returns v with the paths at field replaced by the results of edit.
func editPaths(v yaml.Value, field []string, edit func(string) string) yaml.Value {
	if len(field) == 0 {
		// An inline configuration may replace the path of its file.
		if v.Type() == yaml.Map {
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

// relativePath returns the relative path in a text. In key=path, key includes the equals sign. ok
// is false for URLs, absolute paths, and YAML text in a field that also accepts paths.
func relativePath(text string) (key, path string, ok bool) {
	if text == "" || loaders.IsRemote(text) || layerfile.PatchPath(text) == "" {
		return "", "", false
	}
	i := strings.IndexByte(text, '=') + 1
	key, path = text[:i], text[i:]
	return key, path, path != "" && !filepath.IsAbs(path) && !filepath.IsAbs(text)
}

// rebase rewrites a relative path for a different directory. Other texts are returned unchanged.
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
