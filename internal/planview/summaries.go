package planview

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"reflect"
	"slices"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/planner/layerfile"
	"github.com/krmflow/krmflow/planner/layers"
)

// Summaries are the facts that a [Text] shows about roots. They are stored, so that a later plan
// can skip unchanged roots. The zero Summaries is empty. It must not be used concurrently.
type Summaries struct {
	roots map[string]*summary
}

// A summary is a root that can be shown without planning it.
type summary struct {
	root   *root
	inputs krm.Digest
}

// The encoding has tables, because roots share layers, and layers share files.
type (
	encoded struct {
		Files  []string
		Counts []map[string]int
		Layers []encodedLayer
		Roots  []encodedRoot
	}
	encodedLayer struct {
		File        int
		Kind        string
		Uses, Files []int
	}
	encodedRoot struct {
		Dir                   string
		Inputs                krm.Digest
		File                  int
		Layers                []int
		Changes, Makes, Kinds int // in Counts
	}
)

// ReadSummaries decodes the result of [Summaries.Bytes]. Summaries of damaged data are empty.
func ReadSummaries(data []byte) *Summaries {
	var e encoded
	s := &Summaries{}
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&e); err != nil || !e.isValid() {
		return s
	}
	s.roots = make(map[string]*summary, len(e.Roots))
	all := make([]*layers.Layer, len(e.Layers))
	for i, l := range e.Layers {
		all[i] = &layers.Layer{File: e.Files[l.File], Kind: l.Kind, Files: pick(e.Files, l.Files)}
		for _, file := range pick(e.Files, l.Uses) {
			all[i].Uses = append(all[i].Uses, layers.Use{Layer: file})
		}
	}
	for _, r := range e.Roots {
		s.roots[r.Dir] = &summary{&root{dir: r.Dir, file: e.Files[r.File], layers: pick(all, r.Layers), changes: e.Counts[r.Changes],
			makes: e.Counts[r.Makes], out: &Output{Kinds: e.Counts[r.Kinds]}}, r.Inputs}
	}
	return s
}

// pick returns the elements of a table with these indexes.
func pick[T any](table []T, indexes []int) []T {
	list := make([]T, len(indexes))
	for i, at := range indexes {
		list[i] = table[at]
	}
	return list
}

// isValid reports whether all indexes are within their tables.
func (e *encoded) isValid() bool {
	outside := func(n int, indexes ...int) bool {
		return slices.ContainsFunc(indexes, func(i int) bool { return i < 0 || i >= n })
	}
	for _, l := range e.Layers {
		if outside(len(e.Files), l.File) || outside(len(e.Files), l.Uses...) || outside(len(e.Files), l.Files...) {
			return false
		}
	}
	for _, r := range e.Roots {
		if outside(len(e.Files), r.File) || outside(len(e.Layers), r.Layers...) || outside(len(e.Counts), r.Changes, r.Makes, r.Kinds) {
			return false
		}
	}
	return true
}

// Has reports whether there is a summary of a root with these inputs: see [records.Record.Inputs].
func (s *Summaries) Has(dir string, inputs krm.Digest) bool {
	have := s.roots[dir]
	return have != nil && have.inputs == inputs
}

// Summarise returns summaries of the roots in inputs, which has digests of inputs by directory. It
// skips roots whose output is not known. It also skips roots with functions or catalogs, because
// the text about them depends on more than their inputs.
func (t *Text) Summarise(inputs map[string]krm.Digest) *Summaries {
	s := &Summaries{map[string]*summary{}}
	for _, r := range t.roots {
		sum, ok := inputs[r.dir]
		if ok && r.out != nil && len(r.failed)+len(r.calls) == 0 &&
			!slices.ContainsFunc(r.layers, func(l *layers.Layer) bool { return l.Kind == layerfile.CompositionKind }) {
			s.roots[r.dir] = &summary{r, sum}
		}
	}
	return s
}

// HasMistakes reports whether a root cannot be rendered because of mistakes.
func (t *Text) HasMistakes(dir string) bool {
	if t.wrong == nil {
		t.wrong = map[string]bool{}
		for _, r := range t.roots {
			t.wrong[r.dir] = len(r.failed) > 0
		}
	}
	return t.wrong[dir]
}

// Bytes encodes the summaries.
func (s *Summaries) Bytes() []byte {
	e := encoded{}
	files, counted, at := map[string]int{}, map[string]int{}, map[string]int{}
	file := func(name string) int {
		return index(files, name, func() { e.Files = append(e.Files, name) })
	}
	known := map[uintptr]int{} // counts by address: roots of earlier summaries share them
	count := func(of map[string]int) int {
		at := reflect.ValueOf(of).Pointer()
		i, ok := known[at]
		if !ok {
			i = index(counted, fmt.Sprintf("%#v", of), func() { e.Counts = append(e.Counts, of) })
			known[at] = i
		}
		return i
	}
	layer := func(l *layers.Layer) int {
		return index(at, l.File, func() {
			x := encodedLayer{File: file(l.File), Kind: l.Kind}
			for _, u := range l.Uses {
				x.Uses = append(x.Uses, file(u.Layer))
			}
			for _, name := range l.Files {
				x.Files = append(x.Files, file(name))
			}
			e.Layers = append(e.Layers, x)
		})
	}
	for dir, sum := range s.roots {
		r := sum.root
		x := encodedRoot{Dir: dir, Inputs: sum.inputs, File: file(r.file), Changes: count(r.changes), Makes: count(r.makes),
			Kinds: count(r.out.Kinds)}
		for _, l := range r.layers {
			x.Layers = append(x.Layers, layer(l))
		}
		e.Roots = append(e.Roots, x)
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(e); err != nil {
		return nil
	}
	return b.Bytes()
}

// index returns the index of key in a table, and calls add if it is not in the table yet.
func index(table map[string]int, key string, add func()) int {
	i, ok := table[key]
	if !ok {
		i = len(table)
		table[key] = i
		add()
	}
	return i
}

// Add adds the roots in reused, which are in s, to a text of the other roots. dirs has all roots in
// order.
func (t *Text) Add(s *Summaries, dirs []string, reused map[string]bool) {
	planned, failed := map[string]*root{}, []*root(nil)
	for _, r := range t.roots {
		if r.file == "" {
			failed = append(failed, r)
		} else {
			planned[r.dir] = r
		}
	}
	t.roots = nil
	for _, dir := range dirs {
		if r := planned[dir]; r != nil {
			t.roots = append(t.roots, r)
		} else if reused[dir] {
			r := s.roots[dir].root
			t.roots = append(t.roots, r)
			for _, l := range r.layers {
				for _, file := range l.Files {
					t.files[file] = true
				}
			}
		}
	}
	t.roots = append(t.roots, failed...)
	countWarnings(t.roots, t.p.Warnings)
}
