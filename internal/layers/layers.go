// Package layers is the graph of layers: which folder refers to which others. It says what can be reached from a layer and what leads to
// it, by which references one comes from one layer to another, which layers lead back to themselves, and which references follow from others.
//
// What it takes from the library of graphs grows with the number of layers and references: each folder is looked at once for a question.
package layers

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"

	dgraph "github.com/dominikbraun/graph"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/planner"
)

// A Graph is the graph of the layers of a plan. A layer is named by its file. It must not be used by several goroutines at the same time.
type Graph struct {
	layers map[string]planner.Layer
	uses   dgraph.Graph[string, string] // from each layer to those that it uses
	usedBy dgraph.Graph[string, string] // the other way round
}

// New returns the graph of layers. References to layers that are not among them do not count.
func New(all []planner.Layer) *Graph {
	g := &Graph{map[string]planner.Layer{}, dgraph.New(dgraph.StringHash, dgraph.Directed()), dgraph.New(dgraph.StringHash, dgraph.Directed())}
	for _, l := range all {
		g.layers[l.File] = l
		add(g.uses, l.File)
		add(g.usedBy, l.File)
	}
	for _, l := range all {
		for _, u := range l.Uses {
			if _, ok := g.layers[u.Layer]; ok {
				connect(g.uses, l.File, u.Layer)
				connect(g.usedBy, u.Layer, l.File)
			}
		}
	}
	return g
}

// add and connect change a graph of which nothing keeps them: there is one vertex for each name, and an edge that is there already counts once.
func add(g dgraph.Graph[string, string], name string)         { _ = g.AddVertex(name) }
func connect(g dgraph.Graph[string, string], from, to string) { _ = g.AddEdge(from, to) }

// Is reports whether a name is that of a layer: its file, or its directory.
func Is(l planner.Layer, name string) bool {
	name = filepath.Clean(name)
	return name == l.File || name == filepath.Dir(l.File)
}

// Named returns the file of the layer that a name is of, see [Is].
func (g *Graph) Named(name string) (file string, ok bool) {
	for file, l := range g.layers {
		if Is(l, name) {
			return file, true
		}
	}
	return "", false
}

// Files returns the files of all layers, sorted.
func (g *Graph) Files() []string { return slices.Sorted(maps.Keys(g.layers)) }

// Below returns what layers use, and what that uses, and so on: by how many references it is away. The layers themselves are among them.
func (g *Graph) Below(files ...string) map[string]int { return reach(g.uses, files) }

// Above returns what uses layers, and what uses that, and so on, like [Graph.Below].
func (g *Graph) Above(files ...string) map[string]int { return reach(g.usedBy, files) }

// start is a vertex that is no layer: all that a question begins with is one step away from it.
const start = ""

// reach returns what edges lead to, each with how many lead there at least. The search visits what is nearer before what is farther away;
// the depth that the library's BFSWithDepth tells is the number of visits.
func reach(g dgraph.Graph[string, string], from []string) map[string]int {
	add(g, start)
	for _, file := range from {
		connect(g, start, file)
	}
	before, err := g.PredecessorMap()
	if err != nil {
		return nil
	}
	away := map[string]int{}
	_ = dgraph.BFS(g, start, func(file string) bool { // fails without a start
		away[file] = -1
		for b := range before[file] {
			if d, visited := away[b]; visited && (away[file] < 0 || d+1 < away[file]) {
				away[file] = d + 1
			}
		}
		return false
	})
	delete(away, start)
	for _, file := range from {
		_ = g.RemoveEdge(start, file) // one that was named twice has one
	}
	_ = g.RemoveVertex(start)
	return away
}

// A Step is a reference on the way from one layer to another. [Graph.Place] says in which line it is.
type Step struct {
	From string
	planner.Use
}

// Path returns the references by which one comes from one layer to another, as few as there can be. Of several ways it is always the same one.
// It reports false if there is none.
func (g *Graph) Path(from, to string) (path []Step, ok bool) {
	away := g.Below(from)
	if _, ok := away[to]; !ok {
		return nil, false
	}
	before, err := g.usedBy.AdjacencyMap()
	if err != nil {
		return nil, false
	}
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

// Place returns the file and line of a reference.
func (g *Graph) Place(s Step) diag.Pos { return g.layers[s.From].Place(s.Use) }

// step returns the first reference of a layer to another one that it uses.
func (g *Graph) step(from, to string) Step {
	uses := g.layers[from].Uses
	i := slices.IndexFunc(uses, func(u planner.Use) bool { return u.Layer == to })
	return Step{from, uses[i]}
}

// Cycles returns, for each set of layers that all lead to one another, the shortest way from the first of them back to it, in the order of these.
func (g *Graph) Cycles() (all [][]Step) {
	sets, err := dgraph.StronglyConnectedComponents(g.uses)
	if err != nil {
		return nil
	}
	after, err := g.uses.AdjacencyMap()
	if err != nil {
		return nil
	}
	for _, set := range sets {
		first := slices.Min(set)
		if _, itself := after[first][first]; len(set) > 1 || itself {
			all = append(all, g.cycle(first, slices.Sorted(maps.Keys(after[first]))))
		}
	}
	slices.SortFunc(all, func(a, b []Step) int { return cmp.Compare(a[0].From, b[0].From) })
	return all
}

// cycle returns the shortest way back to a layer, by one of those that it uses.
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
