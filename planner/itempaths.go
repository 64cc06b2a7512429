package planner

import (
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders"
)

// pathFields are the fields of an item that hold paths relative to the file that says them. A step "*" stands for the items
// of a list.
func pathFields(id itemID) [][]string {
	var fields []string
	switch {
	case id.apiVersion == "builtin":
		fields = []string{"files.*", "env", "envs.*", "path", "paths.*", "targetFilePath", "replacements.*.path"}
	case isKustomization(id):
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

func isKustomization(id itemID) bool {
	group, _, _ := strings.Cut(id.apiVersion, "/")
	return group == kustomizeGroup && id.kind == "Kustomization"
}

// rebased returns the value of an override with its relative paths leading to the same files from another directory (CV-12).
func (o *item) rebased(to *loaders.Dir) krm.Value {
	if o.dir.Real == to.Real {
		return o.value
	}
	v := o.value
	for _, field := range pathFields(o.id) {
		v = editPaths(v, field, func(path string) string { return rebase(path, o.dir, to) })
	}
	return v
}

// editPaths returns v with the paths at field replaced by what edit returns for them.
func editPaths(v krm.Value, field []string, edit func(string) string) krm.Value {
	if len(field) == 0 {
		if v.Type() != krm.String {
			return v
		}
		if to := edit(v.Text()); to != v.Text() {
			return krm.Str(to)
		}
		return v
	}
	if field[0] == "*" {
		w, _ := v.EditItems(func(x krm.Value) (krm.Value, error) { return editPaths(x, field[1:], edit), nil })
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

// rebase returns the path to the same file from another directory. What is no relative path stays as it is: URLs, absolute
// paths, and texts of YAML where a path may stand, too. In key=path only the path changes.
func rebase(text string, from, to *loaders.Dir) string {
	if text == "" || filepath.IsAbs(text) || isRemote(text) || onePath(text) == "" {
		return text
	}
	key, path, keyed := strings.Cut(text, "=")
	if !keyed {
		key, path = "", text
	}
	rel, err := filepath.Rel(to.Real, filepath.Join(from.Real, path))
	if err != nil || path == "" || filepath.IsAbs(path) {
		return text
	}
	if keyed {
		return key + "=" + rel
	}
	return rel
}
