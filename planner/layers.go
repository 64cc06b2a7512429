package planner

import (
	"maps"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// A Layer is a Kustomization, Component or Composition that a plan is made of, whatever it is built on top of. What a change of a
// file changes, and why, can be told from these alone.
type Layer struct {
	// File is the path of its file and Kind what that holds.
	File, Kind string
	// Uses are the layers that it refers to, in the order in which they are planned.
	Uses []Use
	// Files are the paths of all files that it reads, its own among them, sorted. Those that the layers it uses read are not.
	Files []string
	// Roots are the directories of the roots that are made of it, as they were named and in that order.
	Roots []string

	usedAt []usedAt
}

// usedAt is where a layer refers to another one.
type usedAt struct {
	use Use
	at  graph.Origin
}

// A Use is a reference of a layer to another one: a field, and the file of the other.
type Use struct{ Field, Layer string }

// reading collects what layers read and refer to, by the paths of their files. Entries may be there several times.
type reading struct {
	layers map[string]*Layer
	roots  []Use // the directory of a root, and its layer
}

func newReading() *reading { return &reading{layers: map[string]*Layer{}} }

// layer returns what is known about the layer in file. One that was not loaded itself is a Composition that is imported.
func (r *reading) layer(file, kind string) *Layer {
	l := r.layers[file]
	if l == nil {
		l = &Layer{File: file, Kind: kind, Files: []string{file}}
		r.layers[file] = l
	}
	return l
}

// use notes that l refers to other in the field at path.
func (l *Layer) use(src *yaml.Source, path []any, other string) {
	u := Use{src.Field(path), other}
	l.Uses = append(l.Uses, u)
	l.usedAt = append(l.usedAt, usedAt{u, graph.Origin{Source: src, Path: path}})
}

// Place returns the file and line of a reference, the zero Pos if l has no such one. The line is looked for only now: most plans are made
// without anybody asking.
func (l Layer) Place(u Use) diag.Pos {
	for _, p := range l.usedAt {
		if p.use == u {
			return p.at.Pos()
		}
	}
	return diag.Pos{}
}

// compositionReader is what Compositions are read by.
type compositionReader struct {
	*loaders.Local
	*reading
}

// Reads notes that a Composition reads a file.
func (r *reading) Reads(composition, file string) {
	l := r.layer(composition, layerfile.CompositionKind)
	l.Files = append(l.Files, file)
}

// Refers notes that a Composition refers to another one in the field at path.
func (r *reading) Refers(composition *yaml.Source, path []any, other string) {
	r.layer(other, layerfile.CompositionKind)
	r.layer(composition.File, layerfile.CompositionKind).use(composition, path, other)
}

// Layers returns the layers that the roots of the plan are made of, sorted by file. Roots that could not be planned do not count.
func (p *Plan) Layers() (all []Layer) {
	used := map[string]*Layer{}
	for _, root := range p.reading.roots {
		p.reading.visit(root.Layer, root.Field, used)
	}
	for _, file := range slices.Sorted(maps.Keys(used)) {
		all = append(all, *used[file])
	}
	return all
}

// RootLayers returns the roots that were planned, by the names that they were given, and their layers.
func (p *Plan) RootLayers() []Use { return p.reading.roots }

// visit adds the layer in file, and those that it uses, to what the root is made of.
func (r *reading) visit(file, root string, used map[string]*Layer) {
	from := r.layers[file]
	l := used[file]
	switch {
	case l == nil:
		l = &Layer{File: file, Kind: from.Kind, Uses: firsts(from.Uses, func(u Use) Use { return u }), usedAt: from.usedAt}
		l.Files = slices.Compact(slices.Sorted(slices.Values(from.Files)))
		used[file] = l
	case l.Roots[len(l.Roots)-1] == root:
		return
	}
	l.Roots = append(l.Roots, root)
	for _, u := range l.Uses {
		r.visit(u.Layer, root, used)
	}
}

// LayersRead returns the layers that were read, sorted by file: also those of roots that could not be planned, as far as these were read,
// with the references that lead back to a layer. Their Uses and Files may be there several times, and they have no Roots.
func (p *Plan) LayersRead() (all []Layer) {
	for _, file := range slices.Sorted(maps.Keys(p.reading.layers)) {
		all = append(all, *p.reading.layers[file])
	}
	return all
}

// firsts returns list without what has the key of something before it.
func firsts[T any, K comparable](list []T, key func(T) K) []T {
	seen := map[K]bool{}
	return slices.DeleteFunc(slices.Clone(list), func(v T) (again bool) {
		again, seen[key(v)] = seen[key(v)], true
		return again
	})
}
