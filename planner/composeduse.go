package planner

import (
	"path/filepath"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// namedComposition returns the directory of the composition file that text names, or "" if text
// names anything else.
func (s itemSteps) namedComposition(text string) string {
	folder, named := layerfile.CompositionDir(text)
	if !named || loaders.IsRemote(text) {
		return ""
	}
	return s.compositionIn(folder, filepath.Base(text))
}

// compositionAt returns the directory of the Composition that text names, by its directory or its
// file (KX-06), or "" if text names anything else.
func (s itemSteps) compositionAt(text string) string {
	if text == "" || loaders.IsRemote(text) {
		return ""
	}
	if _, named := layerfile.CompositionDir(text); named {
		return s.namedComposition(text)
	}
	return s.compositionIn(text, "")
}

// compositionIn returns folder if it contains a Composition, in the file base if that is not
// empty.
func (s itemSteps) compositionIn(folder, base string) string {
	if filepath.IsAbs(folder) || !s.c.files.IsDir(s.dir, folder) {
		return ""
	}
	dir, err := s.c.files.Sub(s.dir, folder)
	if err != nil {
		return ""
	}
	defer dir.Close()
	src, err := layerfile.FindComposition(s.c.files, dir, true)
	if err != nil || src == nil || base != "" && filepath.Base(src.File) != base {
		return ""
	}
	return folder
}

// addComposition adds the output of a Composition without an input to the list (KX-01, KX-02).
func (s itemSteps) addComposition(e *entry) {
	l := s.fields().sublayer(e.path, e.composition, nil)
	if l == nil || l.failed {
		return
	}
	s.fields().end(l)
	s.fields().absorbLayer(e.path, l)
	s.fields().merge(e.path, []graph.NodeID{l.out})
}

// applyComposition replaces the list by the output of a Composition applied to it (KX-03).
func (s itemSteps) applyComposition(e *entry) {
	if l := s.onList(e); l != nil {
		s.fields().end(l)
		s.list, s.hasList, s.vars = l.out, true, l.vars
		s.fields().mergeConfig(e.path, l.config)
	}
}

// checkComposition runs a Composition on the list only to detect failures (KX-04, KX-09).
func (s itemSteps) checkComposition(e *entry) {
	if l := s.onList(e); l != nil {
		s.list = s.node(e.path, graph.Pass{}, append(s.inputs(), l.out), "checked by "+l.name)
		s.hasList = true
	}
}

// onList compiles the Composition that an entry names on top of the list. It returns nil after
// recording a mistake.
func (s itemSteps) onList(e *entry) *layer {
	dir := s.enter(e.path, e.composition)
	if dir == nil {
		return nil
	}
	defer dir.Close()
	if !s.hasList {
		s.then(e.path, graph.Merge{}, "no resources")
	}
	parent := &layerState{list: s.list, config: s.config, vars: s.vars, prefix: s.id(e.path)}
	l := s.nested(dir, s.origin.at(dir, e.composition), parent, &reference{s.k.Source, e.path, e.composition})
	if l == nil || l.failed {
		return nil
	}
	s.reader.Refer(s.k.Source, e.path, l.k.Source.File)
	return l
}
