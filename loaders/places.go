package loaders

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/krmflow/krmflow/krm/yaml"
)

// Place returns the path, relative to d and with symbolic links resolved, of the file that a
// layer in d refers to as path. It does not check whether d may read the file.
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

// ObservedFiles is [Local.Files] for a layer in d whose result depends on which files exist.
func (l *Local) ObservedFiles(d *Dir) ([]string, error) { return l.walkFiles(d, true) }

// Files returns the paths, relative to d, of all regular files in and below d, in lexical order.
// It does not follow symbolic links.
func (l *Local) Files(d *Dir) ([]string, error) { return l.walkFiles(d, false) }

func (l *Local) walkFiles(d *Dir, observe bool) ([]string, error) {
	tree, top := os.DirFS(d.Real), "."
	if d.tree != nil {
		tree = d.tree
		top, _ = d.tree.path(d.Real)
	}
	var files []string
	err := fs.WalkDir(tree, top, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && observe {
			entries, err := fs.ReadDir(tree, path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(filepath.FromSlash(top), filepath.FromSlash(path))
			if err != nil {
				return err
			}
			l.observe(d, Observation{Path: filepath.Join(d.Real, rel), Kind: SawFolder, Source: &yaml.Source{Data: NamesOf(entries)}})
		}
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(filepath.FromSlash(top), filepath.FromSlash(path))
		files = append(files, rel)
		return err
	})
	return files, err
}
