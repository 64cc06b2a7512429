package krm

import (
	"iter"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Resources returns the resources in a file, as read by [yaml.Source.Documents]. Each call returns
// new resources.
func Resources(s *yaml.Source, kinds *schema.Schema) ([]*Resource, error) {
	docs, err := s.Documents()
	return resources(s, docs, kinds), err
}

// Configs returns the objects in a file, as read by [yaml.Source.Configs]. Each call returns new
// objects.
func Configs(s *yaml.Source, kinds *schema.Schema) ([]*Resource, error) {
	docs, err := s.Configs()
	return resources(s, docs, kinds), err
}

// Patches returns the objects in a file, as read by [yaml.Source.Patches]. Each call returns new
// objects.
func Patches(s *yaml.Source, kinds *schema.Schema) ([]*Resource, error) {
	docs, err := s.Patches()
	return resources(s, docs, kinds), err
}

func resources(s *yaml.Source, docs []yaml.Document, kinds *schema.Schema) []*Resource {
	rs := make([]Resource, len(docs))
	ptrs := make([]*Resource, len(docs))
	for i, d := range docs {
		r := &rs[i]
		r.scopes = kinds
		r.Pos = diag.Pos{File: s.File, Line: d.Line}
		r.src, r.doc = s, i
		r.size = d.Size
		r.adopt(d.Value)
		ptrs[i] = r
	}
	return ptrs
}

// Kinds returns the kinds of the resources that [Resources] returns, in order, and the same error.
func Kinds(s *yaml.Source) (iter.Seq[GVK], error) {
	docs, err := s.Documents()
	return func(yield func(GVK) bool) {
		for _, d := range docs {
			if !yield(gvkOf(d.Value)) {
				return
			}
		}
	}, err
}
