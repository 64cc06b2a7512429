package layers

import (
	"maps"
	"slices"
)

// A Reading records the layers that a planner reads, by the paths of their files, and the roots
// that it plans. A recorded layer may contain duplicates. A Reading must not be used concurrently.
type Reading struct {
	layers map[string]*Layer
	roots  []Use
}

// NewReading returns an empty Reading.
func NewReading() *Reading { return &Reading{layers: map[string]*Layer{}} }

// Layer returns the record of the layer in file. It creates a record with kind if there is none.
func (r *Reading) Layer(file, kind string) *Layer {
	l := r.layers[file]
	if l == nil {
		l = &Layer{File: file, Kind: kind, Files: []string{file}}
		r.layers[file] = l
	}
	return l
}

// AddRoot records a planned root, by the name that the user gave it and the file of its layer. The
// layer must have a record.
func (r *Reading) AddRoot(name, layer string) {
	r.roots = append(r.roots, Use{Field: name, Layer: layer})
}

// Roots returns the planned roots in the order of [Reading.AddRoot]: Field is the name of a root.
func (r *Reading) Roots() []Use { return r.roots }

// Planned returns the graph of the layers that the planned roots are built from. The files of a
// layer are sorted, and its references are unique.
func (r *Reading) Planned() *Graph {
	used := map[string]*Layer{}
	for _, root := range r.roots {
		r.visit(root.Layer, root.Field, used)
	}
	return New(slices.Collect(maps.Values(used)))
}

// visit adds the layer in file, and the layers it uses, to the layers of the root.
func (r *Reading) visit(file, root string, used map[string]*Layer) {
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

// All returns the graph of all recorded layers, including cycles. Uses and Files of a layer may
// contain duplicates, and Roots is empty.
func (r *Reading) All() *Graph { return New(slices.Collect(maps.Values(r.layers))) }
