package layerfile

import (
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/loaders"
)

// ErrNoPath reports an empty path.
var ErrNoPath = builtins.Missing("the path must not be empty")

// CheckReference returns an error if text, in a field of a layer, cannot name a directory. It does
// not read files.
func CheckReference(text string) error {
	if text == "" {
		return ErrNoPath
	}
	if err := ambiguousPath(text); err != nil && !loaders.IsRemote(text) {
		return err
	}
	if filepath.IsAbs(text) {
		return diag.Errorf(diag.Pos{}, "", "%q must not be an absolute path",
			text).With(diag.AbsolutePath).Hint("write a path that is relative to this directory")
	}
	return nil
}

// ambiguousPath rejects text that YAML folds from two list entries of different indentation:
// "../../base - ../../prod".
func ambiguousPath(path string) error {
	for _, part := range strings.Split(filepath.ToSlash(path), "/") {
		if part != ".." && strings.Contains(part, "..") {
			return diag.Errorf(diag.Pos{}, "", "%q looks like two entries in one",
				path).With(diag.InvalidYAML).Hint("start all items of a list in the same column")
		}
	}
	return nil
}

// ErrCycle returns the error for the last of dirs, which contains the first one. Each of dirs
// refers to the next.
func ErrCycle(dirs []*loaders.Dir) error {
	var names []string
	for _, dir := range dirs {
		names = append(names, dir.Name)
	}
	first, last, chain := dirs[0], dirs[len(dirs)-1], strings.Join(names, " -> ")
	if first.Real == last.Real {
		return diag.Errorf(diag.Pos{}, "", "cycle: %s", chain).With(diag.Cycle).
			Hint("remove one of these references; move shared content to a directory that both list")
	}
	return diag.Errorf(diag.Pos{}, "", "cycle: %s contains %s, which refers to it: %s", last.Name, first.Name, chain).With(diag.Cycle).
		Hint("a layer may not use a directory above it: move the files it needs to a sibling directory")
}

// NamedComposition returns the directory of the composition file that text names in a layer in
// dir, or "" if text names anything else.
func NamedComposition(files *loaders.Local, dir *loaders.Dir, text string) string {
	folder, named := CompositionDir(text)
	if !named || loaders.IsRemote(text) {
		return ""
	}
	return compositionIn(files, dir, folder, filepath.Base(text))
}

// CompositionAt returns the directory of the Composition that text names in a layer in dir, by its
// directory or its file (KX-06), or "" if text names anything else.
func CompositionAt(files *loaders.Local, dir *loaders.Dir, text string) string {
	if text == "" || loaders.IsRemote(text) {
		return ""
	}
	if _, named := CompositionDir(text); named {
		return NamedComposition(files, dir, text)
	}
	return compositionIn(files, dir, text, "")
}

// compositionIn returns folder if it contains a Composition, in the file base if that is not
// empty.
func compositionIn(files *loaders.Local, from *loaders.Dir, folder, base string) string {
	if filepath.IsAbs(folder) || !files.IsDir(from, folder) {
		return ""
	}
	dir, err := files.Sub(from, folder)
	if err != nil {
		return ""
	}
	defer dir.Close()
	src, err := FindComposition(files, dir, true)
	if err != nil || src == nil || base != "" && filepath.Base(src.File) != base {
		return ""
	}
	return folder
}
