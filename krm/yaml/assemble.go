package yaml

import (
	"slices"

	"github.com/krmflow/krmflow/diag"
)

// A Place is the original place of a part of an assembled [Source]: the value at Path in the
// assembled Source is at At in document Doc of Source.
type Place struct {
	Path   []any
	Source *Source
	Doc    int
	At     []any
}

// Assemble returns a Source with the value v, which no file contains. The place of a value is the
// Place with the longest Path that is a prefix of the value's path. One of the places should have
// an empty Path.
func Assemble(file string, v Value, places ...Place) *Source {
	s := &Source{File: file, places: places}
	s.valueOnce.Do(func() { s.value = v })
	return s
}

// Pos returns the position of the place.
func (p Place) Pos() diag.Pos { return p.Source.Locate(p.Doc, p.At...) }

// Origin returns the file that contains the place. It is Source, unless Source is assembled; then
// it is the origin of the place in Source.
func (p Place) Origin() *Source {
	for len(p.Source.places) > 0 {
		at := p.At
		p, at = p.Source.placeOf(at)
		p.At = at
	}
	return p.Source
}

// Below returns the place of a value inside the value at p. path is relative to p.
func (p Place) Below(path ...any) Place {
	p.At = slices.Concat(p.At, path)
	return p
}

// placeOf returns the place that covers the value at path, and the path of the value in the Source
// of this place.
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
