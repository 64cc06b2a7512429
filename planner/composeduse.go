package planner

import "github.com/krmflow/krmflow/graph"

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
	l := s.nested(dir, s.origin.At(dir, e.composition), parent, &reference{s.k.Source, e.path, e.composition})
	if l == nil || l.failed {
		return nil
	}
	s.reader.Refer(s.k.Source, e.path, l.k.Source.File)
	return l
}
