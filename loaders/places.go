package loaders

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Place returns the path relative to d, without symbolic links, of the file that the layer in d refers to as path. Whether d may read it
// is not looked at.
func (l *Local) Place(d *Dir, path string) (string, error) {
	abs := absolute(d, path)
	if d.tree == nil {
		real, err := filepath.EvalSymlinks(abs)
		if err != nil {
			return "", pathError(err, path, abs)
		}
		return filepath.Rel(d.Real, real)
	}
	place, ok := d.tree.path(abs)
	if !ok {
		return "", errOutside(d.tree, path)
	}
	real, err := d.tree.Real(place)
	if err != nil {
		return "", d.tree.error(err, place, path)
	}
	return filepath.Rel(d.Real, d.tree.abs(real))
}

// Files returns the paths relative to d, a directory of this machine or a fetched one, of the regular files in it and below it, in order.
// Symbolic links are left out.
func (l *Local) Files(d *Dir) ([]string, error) {
	tree, top := os.DirFS(d.Real), "."
	if d.tree != nil {
		tree = d.tree
		top, _ = d.tree.path(d.Real)
	}
	var files []string
	err := fs.WalkDir(tree, top, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(filepath.FromSlash(top), filepath.FromSlash(path))
		files = append(files, rel)
		return err
	})
	return files, err
}
