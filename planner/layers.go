package planner

import (
	"maps"
	"slices"

	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/layerfile"
	"github.com/krmflow/krmflow/planner/layers"
)

// reading records the files and references of layers, by the paths of the layers' files. It may
// contain duplicates.
type reading struct {
	layers map[string]*layers.Layer
	roots  []layers.Use // the directory of each root, and its layer
}

func newReading() *reading { return &reading{layers: map[string]*layers.Layer{}} }

// layer returns the record of the layer in file. A layer that was not loaded itself is an
// imported Composition.
func (r *reading) layer(file, kind string) *layers.Layer {
	l := r.layers[file]
	if l == nil {
		l = &layers.Layer{File: file, Kind: kind, Files: []string{file}}
		r.layers[file] = l
	}
	return l
}

// compositionReader is the [composition.Reader] of the planner.
type compositionReader struct {
	*loaders.Local
	*reading
}

// Reads records that a Composition reads a file.
func (r *reading) Reads(composition, file string) {
	l := r.layer(composition, layerfile.CompositionKind)
	l.Files = append(l.Files, file)
}

// Refers records that the field at path of a Composition refers to a different Composition.
func (r *reading) Refers(composition *yaml.Source, path []any, other string) {
	r.layer(other, layerfile.CompositionKind)
	r.layer(composition.File, layerfile.CompositionKind).Refer(composition, path, other)
}

// Layers returns the graph of the layers that the plan's roots are built from. It excludes roots
// that could not be planned. The files of a layer are sorted, and its references are unique.
func (p *Plan) Layers() *layers.Graph {
	used := map[string]*layers.Layer{}
	for _, root := range p.reading.roots {
		p.reading.visit(root.Layer, root.Field, used)
	}
	return layers.New(slices.Collect(maps.Values(used)))
}

// RootLayers returns the planned roots by the names that were passed to [Compile], with their
// layers.
func (p *Plan) RootLayers() []layers.Use { return p.reading.roots }

// visit adds the layer in file, and the layers it uses, to the layers of the root.
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

// LayersRead returns the graph of all layers that the planner read, including those of roots with
// mistakes, and including cycles. Uses and Files of a layer may contain duplicates, and Roots is
// empty.
func (p *Plan) LayersRead() *layers.Graph {
	return layers.New(slices.Collect(maps.Values(p.reading.layers)))
}
