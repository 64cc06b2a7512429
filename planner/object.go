package planner

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/layerfile"
	"github.com/krmflow/krmflow/planner/layers"
)

// An objectPart is the part of a GitOps object that a build compiles. The first layer of the build
// has the edited kustomization file of the part. No other root shares that layer.
type objectPart struct {
	*gitops.Part
	root *gitops.Root
	name string // of the layer, unique in a plan
}

// partDirs returns dirs with the local directories of the objects in place of their names.
func partDirs(dirs []string, objects map[string]*gitops.Root) (list []string) {
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

// rootFiles returns dirs with the files of the objects in place of their names.
func rootFiles(dirs []string, objects map[string]*gitops.Root) []string {
	list := slices.Clone(dirs)
	for i, dir := range dirs {
		if o := objects[dir]; o != nil {
			list[i] = o.Object.Place().Origin().File
		}
	}
	return list
}

// object plans what a controller renders for a GitOps object.
func (c *compiler) object(name string, o *gitops.Root) {
	b := c.build()
	defer func() { c.failed(name, b) }()
	for _, err := range o.Errs {
		b.Fail(err)
	}
	if b.Errs.Len() > 0 {
		return
	}
	var outs []graph.NodeID
	for i := range o.Parts {
		p := &objectPart{&o.Parts[i], o, name}
		if len(o.Parts) > 1 {
			p.name = fmt.Sprintf("%s/%d", name, i)
		}
		if id, ok := c.part(b, name, p); ok {
			outs = append(outs, id)
		}
	}
	if b.Errs.Len() > 0 {
		return
	}
	layer := filepath.Join(name, layerfile.Names[0])
	if len(outs) != 1 {
		outs = []graph.NodeID{b.add(&graph.Node{ID: name + "#sources", Op: graph.Merge{}, Inputs: outs, Layer: layer,
			Summary: fmt.Sprintf("%d lists", len(outs)), Origin: originOf(o, o.Object.Place())})}
	}
	for _, step := range o.Steps {
		outs = []graph.NodeID{b.add(&graph.Node{ID: name + "#" + diag.FieldPath(step.At.At), Op: graph.Transform{Transformer: step.Transformer},
			Inputs: outs, Layer: layer, Summary: step.Summary, Origin: originOf(o, step.At)})}
	}
	if b.Errs.Len() == 0 {
		c.draft.g.Roots = append(c.draft.g.Roots, graph.Root{Dir: name, Node: outs[0]})
	}
}

// originOf returns a place in the objects of a root as an origin.
func originOf(o *gitops.Root, at yaml.Place) graph.Origin {
	for _, other := range append([]*gitops.Object{o.Object}, o.Uses...) {
		if other.Source == at.Source && other.Doc == at.Doc {
			return graph.Origin{Source: other.Part(), Path: at.At}
		}
	}
	return graph.Origin{Source: at.Source, Path: at.At}
}

// part plans one part and records its mistakes in all, the build of the whole root.
func (c *compiler) part(all *build, name string, p *objectPart) (graph.NodeID, bool) {
	b := c.build()
	b.part = p
	dir, err := c.partDir(name, p)
	if err != nil {
		all.Fail(placed(p.At, err))
		return 0, false
	}
	defer dir.Close()
	l := b.layer(dir, place{}, nil, nil)
	all.Errs.AddOnce(b.Errs)
	if l == nil || b.Errs.Len() > 0 || l.failed {
		return 0, false
	}
	id, ok := b.finish(l)
	if ok {
		c.plan.reading.roots = append(c.plan.reading.roots, layers.Use{Field: name, Layer: l.k.Source.File})
	}
	all.Errs.AddOnce(b.Errs)
	return id, ok
}

// partDir returns the directory of a part. A part without a directory, such as a chart from a
// repository, has that of its object.
func (c *compiler) partDir(name string, p *objectPart) (*loaders.Dir, error) {
	dir := p.Dir
	if dir == "" {
		dir = p.root.Object.Tree
	}
	if loaders.IsRemote(dir) {
		return c.files.FetchDir(nil, dir)
	}
	d, err := c.files.RootOf(name, dir)
	if err == nil && p.Unrestricted {
		d.Free = true
	}
	return d, err
}

// placed returns an error with the position of a field.
func placed(at yaml.Place, err error) error {
	e := diag.AsError(err)
	if e.Pos.File != "" && e.Pos.Line > 0 || at.Source == nil {
		return e
	}
	n := diag.Errorf(at.Pos(), at.Source.Field(at.At), "%w", err)
	n.Hints = append(n.Hints, e.Hints...)
	return n
}

// loadPart returns the kustomization file of a part.
func (b *build) loadPart(dir *loaders.Dir) *kustomizationFile {
	p := b.part
	old, composition, err := layerfile.Find(b.c.files, dir)
	var none *layerfile.NoFileError
	switch {
	case errors.As(err, &none):
	case err != nil:
		b.Fail(placed(p.At, layerfile.InDirectory(dir, err)))
		return nil
	case composition:
		b.Fail(diag.Errorf(p.At.Pos(), p.At.Source.Field(p.At.At), "%s holds a Composition, which a controller cannot render",
			dir.Name).With(diag.WrongKind))
		return nil
	}
	src, err := p.Edit(partFiles{b.c.files, dir}, old)
	if err != nil {
		b.Fail(placed(p.At, err))
		return nil
	}
	src.File, src.Folder = filepath.Join(p.name, layerfile.Names[0]), filepath.ToSlash(dir.Name)
	read := b.c.plan.reading.layer(src.File, p.root.Object.Kind)
	read.Files = read.Files[:0]
	if old != nil {
		read.Files = append(read.Files, old.File)
	}
	for _, file := range p.root.Sources() {
		read.Files = append(read.Files, file.File)
	}
	b.c.plan.objects = append(b.c.plan.objects, p.root.Sources()...)
	before := b.Errs.Len()
	f := layerfile.Decode(src, nil, b.Reporter)
	if f == nil {
		return nil
	}
	k := &kustomizationFile{File: f}
	if b.Errs.Len() == before && f.Empty() {
		b.Fail(diag.Errorf(p.At.Pos(), p.At.Source.Field(p.At.At), "nothing to render in %s", dir.Name).With(diag.EmptyFile))
	}
	k.errs = b.Errs.Since(before)
	return k
}

// partFiles is the [gitops.Dir] of a part.
type partFiles struct {
	files *loaders.Local
	dir   *loaders.Dir
}

func (p partFiles) Files() ([]string, error) {
	p.files.Uses(p.dir, p.dir.Real) // new files change the result
	files, err := p.files.Files(p.dir)
	for i := range files {
		files[i] = filepath.ToSlash(files[i])
	}
	return files, err
}

func (p partFiles) Read(path string) (*yaml.Source, error) { return p.files.Read(p.dir, path) }
