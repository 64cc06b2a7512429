package planner

import (
	"maps"
	"slices"

	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/layerfile"
	"github.com/krmflow/krmflow/planner/layers"
)

// reading collects what layers read and refer to, by the paths of their files. Entries may be there several times.
type reading struct {
	layers map[string]*layers.Layer
	roots  []layers.Use // the directory of a root, and its layer
}

func newReading() *reading { return &reading{layers: map[string]*layers.Layer{}} }

// layer returns what is known about the layer in file. One that was not loaded itself is a Composition that is imported.
func (r *reading) layer(file, kind string) *layers.Layer {
	l := r.layers[file]
	if l == nil {
		l = &layers.Layer{File: file, Kind: kind, Files: []string{file}}
		r.layers[file] = l
	}
	return l
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
	r.layer(composition.File, layerfile.CompositionKind).Refer(composition, path, other)
}

// Layers returns the graph of the layers that the roots of the plan are made of. Roots that could not be planned do not count. Files of a layer
// are sorted, and each of its references is there once.
func (p *Plan) Layers() *layers.Graph {
	used := map[string]*layers.Layer{}
	for _, root := range p.reading.roots {
		p.reading.visit(root.Layer, root.Field, used)
	}
	return layers.New(slices.Collect(maps.Values(used)))
}

// RootLayers returns the roots that were planned, by the names that they were given, and their layers.
func (p *Plan) RootLayers() []layers.Use { return p.reading.roots }

// visit adds the layer in file, and those that it uses, to what the root is made of.
func (r *reading) visit(file, root string, used map[string]*layers.Layer) {
	l := used[file]
	switch {
	case l == nil:
		l = r.layers[file].Distinct()
		used[file] = l
	case l.Roots[len(l.Roots)-1] == root:
		return
	}
	l.Roots = append(l.Roots, root)
	for _, u := range l.Uses {
		r.visit(u.Layer, root, used)
	}
}

// LayersRead returns the graph of all layers that the planner has read, including those of roots
// with mistakes, and including cycles. Uses and Files of a layer may be there several times, and it has no Roots.
func (p *Plan) LayersRead() *layers.Graph {
	return layers.New(slices.Collect(maps.Values(p.reading.layers)))
}
