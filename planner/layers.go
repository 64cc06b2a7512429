package planner

import (
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/layerfile"
	"github.com/krmflow/krmflow/planner/layers"
)

// compositionReader is the [composition.Reader] of the planner. A layer that was not loaded itself
// is an imported Composition.
type compositionReader struct {
	*loaders.Local
	reading *layers.Reading
}

// Reads records that a Composition reads a file.
func (r compositionReader) Reads(composition, file string) {
	l := r.reading.Layer(composition, layerfile.CompositionKind)
	l.Files = append(l.Files, file)
}

// Refers records that the field at path of a Composition refers to a different Composition.
func (r compositionReader) Refers(composition *yaml.Source, path []any, other string) {
	r.reading.Layer(other, layerfile.CompositionKind)
	r.reading.Layer(composition.File, layerfile.CompositionKind).Refer(composition, path, other)
}

// Layers returns the graph of the layers that the plan's roots are built from. It excludes roots
// that could not be planned. The files of a layer are sorted, and its references are unique.
func (p *Plan) Layers() *layers.Graph { return p.reading.Planned() }

// RootLayers returns the planned roots by the names that were passed to [Compile], with their
// layers.
func (p *Plan) RootLayers() []layers.Use { return p.reading.Roots() }

// LayersRead returns the graph of all layers that the planner read, including those of roots with
// mistakes, and including cycles. Uses and Files of a layer may contain duplicates, and Roots is
// empty.
func (p *Plan) LayersRead() *layers.Graph { return p.reading.All() }
