// Package objects prepares GitOps objects for planning: it determines their directories and files,
// and reads the edited kustomization files of their parts.
package objects

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// Dirs replaces the names of objects in dirs with the local directories of the objects.
func Dirs(dirs []string, objects map[string]*gitops.Root) (list []string) {
	for _, dir := range dirs {
		o := objects[dir]
		if o == nil {
			list = append(list, dir)
			continue
		}
		for _, p := range o.Parts {
			if p.Dir != "" && !loaders.IsRemote(p.Dir) {
				list = append(list, p.Dir)
			}
		}
	}
	return list
}

// Files replaces the names of objects in dirs with the files of the objects.
func Files(dirs []string, objects map[string]*gitops.Root) []string {
	list := slices.Clone(dirs)
	for i, dir := range dirs {
		if o := objects[dir]; o != nil {
			list[i] = o.Object.Place().Origin().File
		}
	}
	return list
}

// Origin converts a place in an object of a root to an origin.
func Origin(o *gitops.Root, at yaml.Place) graph.Origin {
	for _, other := range append([]*gitops.Object{o.Object}, o.Uses...) {
		if other.Source == at.Source && other.Doc == at.Doc {
			return graph.Origin{Source: other.Part(), Path: at.At}
		}
	}
	return graph.Origin{Source: at.Source, Path: at.At}
}

// A Part is a part of a GitOps object that a build compiles. The first layer of the build is the
// edited kustomization file of the part. No other root shares this layer.
type Part struct {
	*gitops.Part
	Root *gitops.Root
	Name string // of the layer, unique in a plan
}

// Open opens the directory of a part. name is the name of the root. A part without a directory,
// such as a chart in a Helm repository, has the searched directory of its object.
func (p *Part) Open(files *loaders.Local, name string) (*loaders.Dir, error) {
	dir := p.Dir
	if dir == "" {
		dir = p.Root.Object.Tree
	}
	if loaders.IsRemote(dir) {
		return files.FetchDir(nil, dir)
	}
	return files.RootOf(name, dir, p.Within)
}

// Load returns the edited kustomization file of a part, and the paths of the files that the part
// depends on so far. dir is the result of [Part.Open]. Errors have a position.
func (p *Part) Load(files *loaders.Local, dir *loaders.Dir) (src *yaml.Source, read []string, err error) {
	old, composition, err := layerfile.Find(files, dir)
	var none *layerfile.NoFileError
	switch {
	case errors.As(err, &none):
	case err != nil:
		return nil, nil, p.Placed(layerfile.InDirectory(dir, err))
	case composition:
		return nil, nil, p.Errorf("%s holds a Composition, which a controller cannot render", dir.Name).With(diag.WrongKind)
	}
	src, err = p.Edit(partFiles{files, dir}, old)
	if err != nil {
		return nil, nil, p.Placed(err)
	}
	src.File, src.Folder = filepath.Join(p.Name, layerfile.Names[0]), filepath.ToSlash(dir.Name)
	if old != nil {
		read = append(read, old.File)
	}
	for _, file := range p.Root.Sources() {
		read = append(read, file.File)
	}
	return src, read, nil
}

// Errorf returns an error about the field that names the directory of the part.
func (p *Part) Errorf(format string, args ...any) *diag.Error {
	return diag.Errorf(p.At.Pos(), p.At.Source.Field(p.At.At), format, args...)
}

// Placed adds the position of the field that names the directory of the part to err, unless err has
// a position.
func (p *Part) Placed(err error) error {
	e := diag.AsError(err)
	if e.Pos.File != "" && e.Pos.Line > 0 || p.At.Source == nil {
		return e
	}
	n := p.Errorf("%w", err)
	n.Hints = append(n.Hints, e.Hints...)
	return n
}

// partFiles is the [gitops.Dir] of a part.
type partFiles struct {
	files *loaders.Local
	dir   *loaders.Dir
}

func (p partFiles) Files() ([]string, error) {
	files, err := p.files.ObservedFiles(p.dir)
	for i := range files {
		files[i] = filepath.ToSlash(files[i])
	}
	return files, err
}

func (p partFiles) Read(path string) (*yaml.Source, error) { return p.files.Read(p.dir, path) }
