package yaml

import (
	"slices"

	"github.com/krmflow/krmflow/diag"
)

// A Place says where a part of an assembled [Source] is written: the value at Path in the
// assembled Source is at At in document Doc of Source.
type Place struct {
	Path   []any
	Source *Source
	Doc    int
	At     []any
}

// Assemble returns the value v as a Source that no file contains. Each value in it is located at
// the place whose Path is the longest prefix of its path. The place with the shortest Path should
// have an empty one.
func Assemble(file string, v Value, places ...Place) *Source {
	s := &Source{File: file, places: places}
	s.valueOnce.Do(func() { s.value = v })
	return s
}

// Pos returns the position of the place.
func (p Place) Pos() diag.Pos { return p.Source.Locate(p.Doc, p.At...) }

// Origin returns the file that contains the place: Source, or the origin of its place if Source is
// assembled itself.
func (p Place) Origin() *Source {
	for len(p.Source.places) > 0 {
		at := p.At
		p, at = p.Source.placeOf(at)
		p.At = at
	}
	return p.Source
}

// Below returns the place of a value below that of p.
func (p Place) Below(path ...any) Place {
	p.At = slices.Concat(p.At, path)
	return p
}

// placeOf returns the place of the value at path, and the rest of the path below it.
func (s *Source) placeOf(path []any) (Place, []any) {
	best := 0
	for i, p := range s.places {
		if len(p.Path) >= len(s.places[best].Path) && len(p.Path) <= len(path) && slices.Equal(p.Path, path[:len(p.Path)]) {
			best = i
		}
	}
	p := s.places[best]
	return p, slices.Concat(p.At, path[min(len(p.Path), len(path)):])
}
