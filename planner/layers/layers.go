// Package layers is the graph of the layers of a plan: the references between their files. It
// answers which layers a layer uses and which use it, by which references one layer leads to
// another, which layers lead back to themselves, and which references follow from others. A Reading
// collects the layers during planning.
//
// Each query takes time in proportion to the number of layers and references.
package layers

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	dgraph "github.com/dominikbraun/graph"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Layer is a Kustomization, Component or Composition in a plan.
type Layer struct {
	// File is the path of its file. Kind is the kind in that file.
	File, Kind string
	// Uses are the references to other layers, in the order of planning.
	Uses []Use
	// Files are the paths of all files that the layer reads, including its own file but not the
	// files of other layers.
	Files []string
	// Roots are the directories of the roots that use the layer, as named by the user and in that
	// order.
	Roots []string

	places []graph.Origin // of Uses
}

// A Use is a reference to a layer: the field with the reference, and the file of the layer.
type Use struct{ Field, Layer string }

// Refer adds a reference in the field at path of src to the layer in the file other.
func (l *Layer) Refer(src *yaml.Source, path []any, other string) {
	l.Uses = append(l.Uses, Use{src.Field(path), other})
	l.places = append(l.places, graph.Origin{Source: src, Path: path})
}

// Distinct returns a copy of l without duplicate references. Its Files are sorted and without
// duplicates, and it has no Roots.
func (l *Layer) Distinct() *Layer {
	d := &Layer{File: l.File, Kind: l.Kind, Files: slices.Compact(slices.Sorted(slices.Values(l.Files)))}
	seen := map[Use]bool{}
	for i, u := range l.Uses {
		if !seen[u] {
			seen[u] = true
			d.Uses, d.places = append(d.Uses, u), append(d.places, l.places[i])
		}
	}
	return d
}

// Place returns the position of a reference, or the zero Pos if l does not have it.
func (l *Layer) Place(u Use) diag.Pos {
	if i := slices.Index(l.Uses, u); i >= 0 && i < len(l.places) {
		return l.places[i].Pos() // computed on demand, because few plans need it
	}
	return diag.Pos{}
}

// Text returns the text of a reference as written, "" if it is not a text.
func (l *Layer) Text(u Use) string {
	i := slices.Index(l.Uses, u)
	if i < 0 || i >= len(l.places) {
		return ""
	}
	return l.places[i].Value().Text()
}

// Is reports whether name is the file of l or its directory.
func (l *Layer) Is(name string) bool {
	name = filepath.Clean(name)
	return name == l.File || name == filepath.Dir(l.File)
}

// A Graph is a graph of layers: a vertex is a layer, named by its file, and an edge leads to a
// layer that it uses. It is safe for concurrent use as long as the layers are not modified.
type Graph struct {
	all   []*Layer // sorted by file
	graph func() dgraph.Graph[string, *Layer]
}

// New returns the graph of layers with different files. References to layers that are not in all
// do not create edges.
func New(all []*Layer) *Graph {
	all = slices.SortedFunc(slices.Values(all), func(a, b *Layer) int { return cmp.Compare(a.File, b.File) })
	return &Graph{all, sync.OnceValue(func() dgraph.Graph[string, *Layer] { return connect(all) })}
}

// connect creates the library's graph, which most plans do not need.
func connect(all []*Layer) dgraph.Graph[string, *Layer] {
	g := dgraph.New(func(l *Layer) string { return l.File }, dgraph.Directed())
	for _, l := range all {
		_ = g.AddVertex(l) // fails for a second layer in the same file
	}
	for _, l := range all {
		for _, u := range l.Uses {
			// AddEdge fails for a duplicate edge, and if the other layer is not in the graph.
			_ = g.AddEdge(l.File, u.Layer)
		}
	}
	return g
}

// All returns the layers, sorted by file.
func (g *Graph) All() []*Layer { return g.all }

// Layer returns the layer in a file, nil if there is none.
func (g *Graph) Layer(file string) *Layer {
	i, ok := slices.BinarySearchFunc(g.all, file, func(l *Layer, file string) int { return cmp.Compare(l.File, file) })
	if !ok {
		return nil
	}
	return g.all[i]
}

// Named returns the layer with the file or directory name, nil if there is none.
func (g *Graph) Named(name string) *Layer {
	if i := slices.IndexFunc(g.all, func(l *Layer) bool { return l.Is(name) }); i >= 0 {
		return g.all[i]
	}
	return nil
}

// edges are the edges of a graph, or the reversed edges, in the library's representation.
type edges map[string]map[string]dgraph.Edge[string]

func (g *Graph) uses() edges {
	m, _ := g.graph().AdjacencyMap() // cannot fail for a graph in memory
	return m
}

func (g *Graph) usedBy() edges {
	m, _ := g.graph().PredecessorMap()
	return m
}

// Below returns all layers that files use, directly or indirectly, with their distance: the
// minimum number of references. The files themselves are included with distance 0.
func (g *Graph) Below(files ...string) map[string]int { return g.uses().reach(files) }

// Above returns all layers that use files, directly or indirectly, with their distance, like
// [Graph.Below].
func (g *Graph) Above(files ...string) map[string]int { return g.usedBy().reach(files) }

func (e edges) reach(from []string) map[string]int {
	away := map[string]int{}
	for _, file := range from {
		away[file] = 0
	}
	for now := slices.Collect(maps.Keys(away)); len(now) > 0; {
		var next []string
		for _, file := range now {
			for other := range e[file] {
				if _, known := away[other]; !known {
					away[other] = away[file] + 1
					next = append(next, other)
				}
			}
		}
		now = next
	}
	return away
}

// A Step is one reference on a path between two layers. [Graph.Place] returns its line.
type Step struct {
	From string
	Use
}

// Place returns the position of a reference.
func (g *Graph) Place(s Step) diag.Pos { return g.Layer(s.From).Place(s.Use) }

// Path returns a shortest path of references from one layer to another. Of several such paths it
// returns the first by file. ok is false if there is none.
func (g *Graph) Path(from, to string) (path []Step, ok bool) {
	away := g.Below(from)
	if _, ok := away[to]; !ok {
		return nil, false
	}
	before := g.usedBy()
	for at := to; away[at] > 0; {
		var user string
		for _, u := range slices.Sorted(maps.Keys(before[at])) {
			if d, ok := away[u]; ok && d == away[at]-1 {
				user = u
				break
			}
		}
		path = append(path, g.step(user, at))
		at = user
	}
	slices.Reverse(path)
	return path, true
}

// step returns the first reference of a layer to another.
func (g *Graph) step(from, to string) Step {
	uses := g.Layer(from).Uses
	i := slices.IndexFunc(uses, func(u Use) bool { return u.Layer == to })
	return Step{from, uses[i]}
}

// Cycles returns, for each set of layers that all lead to one another, the shortest path from the
// first of them by file back to it, sorted by that file.
func (g *Graph) Cycles() (all [][]Step) {
	sets, err := dgraph.StronglyConnectedComponents(g.graph())
	if err != nil {
		return nil
	}
	after := g.uses()
	for _, set := range sets {
		first := slices.Min(set)
		if _, itself := after[first][first]; len(set) > 1 || itself {
			all = append(all, g.cycle(first, slices.Sorted(maps.Keys(after[first]))))
		}
	}
	slices.SortFunc(all, func(a, b []Step) int { return cmp.Compare(a[0].From, b[0].From) })
	return all
}

// cycle returns the shortest path from a layer back to itself, through one of the layers it uses.
func (g *Graph) cycle(first string, uses []string) (best []Step) {
	back := g.Above(first)
	var by string
	for _, u := range uses {
		if d, ok := back[u]; ok && (by == "" || d < back[by]) {
			by = u
		}
	}
	path, _ := g.Path(by, first)
	return append([]Step{g.step(first, by)}, path...)
}
