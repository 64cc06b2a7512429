package krm

import "iter"

// Resources returns the resources in a file, as [Source.Documents] has them. They are new at each call.
func Resources(s *Source, schema *Schema) ([]*Resource, error) {
	docs, err := s.Documents()
	return resources(s, docs, schema), err
}

// Configs returns the objects in a file, as [Source.Configs] has them. They are new at each call.
func Configs(s *Source, schema *Schema) ([]*Resource, error) {
	docs, err := s.Configs()
	return resources(s, docs, schema), err
}

// Patches returns the objects in a file, as [Source.Patches] has them. They are new at each call.
func Patches(s *Source, schema *Schema) ([]*Resource, error) {
	docs, err := s.Patches()
	return resources(s, docs, schema), err
}

func resources(s *Source, docs []Document, schema *Schema) []*Resource {
	rs := make([]Resource, len(docs))
	ptrs := make([]*Resource, len(docs))
	for i, d := range docs {
		r := &rs[i]
		r.scopes = schema
		r.Pos = Pos{File: s.File, Line: d.Line}
		r.size = d.Size
		r.adopt(d.Value)
		ptrs[i] = r
	}
	return ptrs
}

// Kinds returns the kinds of the resources that [Resources] returns, in order, and the same error.
func Kinds(s *Source) (iter.Seq[GVK], error) {
	docs, err := s.Documents()
	return func(yield func(GVK) bool) {
		for _, d := range docs {
			if !yield(gvkOf(d.Value)) {
				return
			}
		}
	}, err
}
