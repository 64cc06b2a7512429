// Follows api/internal/plugins/builtinconfig/transformerconfig.go,
// api/internal/plugins/builtinconfig/namebackreferences.go,
// api/internal/plugins/builtinconfig/loaddefaultconfig.go.

package builtins

import (
	"slices"
	"sort"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// A Config lists the fields that each field of a Kustomization acts on. Kustomize calls this the
// transformer configuration and reads it from the files under `configurations:`. A Config is
// immutable, so layers can share it.
type Config struct {
	NamePrefix                *FieldSpecs     `json:"namePrefix,omitempty"`
	NameSuffix                *FieldSpecs     `json:"nameSuffix,omitempty"`
	Namespace                 *FieldSpecs     `json:"namespace,omitempty"`
	CommonLabels              *FieldSpecs     `json:"commonLabels,omitempty"`
	Labels                    *FieldSpecs     `json:"labels,omitempty"`
	TemplateLabels            *FieldSpecs     `json:"templateLabels,omitempty"`
	VolumeClaimTemplateLabels *FieldSpecs     `json:"volumeClaimTemplateLabels,omitempty"`
	CommonAnnotations         *FieldSpecs     `json:"commonAnnotations,omitempty"`
	NameReference             *NameReferences `json:"nameReference,omitempty"`
	VarReference              *FieldSpecs     `json:"varReference,omitempty"`
	Images                    *FieldSpecs     `json:"images,omitempty"`
	Replicas                  *FieldSpecs     `json:"replicas,omitempty"`
}

// A NameReference lists the fields that may hold the name of an object of certain kinds. An empty
// Group, Version or Kind matches all.
type NameReference struct {
	Group      string      `json:"group,omitempty" decode:"text"`
	Version    string      `json:"version,omitempty" decode:"text"`
	Kind       string      `json:"kind,omitempty" decode:"text"`
	FieldSpecs []FieldSpec `json:"fieldSpecs,omitempty"`
}

// GVK returns the kinds that the references refer to.
func (n NameReference) GVK() krm.GVK {
	return krm.GVK{Group: n.Group, Version: n.Version, Kind: n.Kind}
}

// NameReferences is a list of references, grouped by the kind that they refer to, with a cache of
// the fields of each referring kind. Like [FieldSpecs], it is immutable, shared and safe for
// concurrent use. A nil NameReferences is an empty list.
type NameReferences struct {
	list []NameReference

	mu     sync.RWMutex
	picked map[krm.GVK][]*fieldTree[refSpec]
}

// NewNameReferences returns the list of refs. It takes ownership of the slice.
func NewNameReferences(refs ...NameReference) *NameReferences { return &NameReferences{list: refs} }

// All returns the references. The caller must not change the slice.
func (n *NameReferences) All() []NameReference {
	if n == nil {
		return nil
	}
	return n.list
}

// Wrapped tells [yaml.Decode] to decode a list.
func (n *NameReferences) Wrapped() any { return &n.list }

// Merge returns n with the additional references of others, or n itself if there are none. For a
// kind in both lists, it merges the fields like [FieldSpecs.Merge].
func (n *NameReferences) Merge(others *NameReferences) (*NameReferences, error) {
	if n == others {
		return n, nil
	}
	merged := slices.Clone(n.All())
	for _, other := range others.All() {
		found := false
		for i := range merged {
			if merged[i].GVK() != other.GVK() {
				continue
			}
			specs, err := mergeSpecs(merged[i].FieldSpecs, other.FieldSpecs)
			if err != nil {
				return nil, err
			}
			merged[i].FieldSpecs, found = specs, true
		}
		if !found {
			merged = append(merged, other)
		}
	}
	if sameReferences(merged, n.All()) {
		return n, nil
	}
	return NewNameReferences(merged...), nil
}

type byTarget []NameReference

func (n byTarget) Len() int           { return len(n) }
func (n byTarget) Swap(i, j int)      { n[i], n[j] = n[j], n[i] }
func (n byTarget) Less(i, j int) bool { return gvkLess(n[i].GVK(), n[j].GVK()) }

// LayerConfig returns the configuration of a layer with files under `configurations:`. It merges
// the files into the defaults, in order. The error names a list with contradictory entries.
func LayerConfig(files ...*Config) (*Config, error) {
	merged := &Config{}
	for _, file := range files {
		var err error
		if merged, err = merged.Merge(file.sorted()); err != nil {
			return nil, err
		}
	}
	return DefaultConfig().Merge(merged)
}

// Merge returns c with the additional entries of other, or c itself if there are none. The
// configuration of a layer is the merged configuration of its bases, in order, followed by its
// own. The error names a list with contradictory entries.
func (c *Config) Merge(other *Config) (*Config, error) {
	switch {
	case other == nil || c == other:
		return c, nil
	case other == DefaultConfig() && c.isZero():
		return other, nil
	}
	merged := *c
	changed := false
	for i, list := range merged.lists() {
		specs, err := (*list.specs).Merge(*other.lists()[i].specs)
		if err != nil {
			return nil, diag.BadSchema.Errorf("merging %s: %w", list.name, err)
		}
		if specs != *list.specs {
			changed = true
			*list.specs = specs.sorted()
		}
	}
	refs, err := merged.NameReference.Merge(other.NameReference)
	if err != nil {
		return nil, diag.BadSchema.Errorf("merging nameReference: %w", err)
	}
	if refs != c.NameReference {
		changed = true
		merged.NameReference = refs.sorted()
	}
	if !changed {
		return c, nil
	}
	return &merged, nil
}

func (s *FieldSpecs) sorted() *FieldSpecs {
	if s == nil {
		return nil
	}
	list := slices.Clone(s.list)
	sort.Sort(byKind(list))
	return NewFieldSpecs(list...)
}

func (n *NameReferences) sorted() *NameReferences {
	if n == nil {
		return nil
	}
	list := slices.Clone(n.list)
	sort.Sort(byTarget(list))
	return NewNameReferences(list...)
}

// sameReferences reports whether a and b are equal. It compares the field lists by address,
// because mergeSpecs returns a list without additions unchanged.
func sameReferences(a, b []NameReference) bool {
	return slices.EqualFunc(a, b, func(x, y NameReference) bool {
		return x.GVK() == y.GVK() && sameSlice(x.FieldSpecs, y.FieldSpecs)
	})
}

type namedSpecs struct {
	name  string
	specs **FieldSpecs
}

func (c *Config) lists() [11]namedSpecs {
	return [...]namedSpecs{
		{"namePrefix", &c.NamePrefix}, {"nameSuffix", &c.NameSuffix}, {"namespace", &c.Namespace},
		{"commonAnnotations", &c.CommonAnnotations}, {"commonLabels", &c.CommonLabels}, {"labels", &c.Labels},
		{"templateLabels", &c.TemplateLabels}, {"volumeClaimTemplateLabels", &c.VolumeClaimTemplateLabels},
		{"varReference", &c.VarReference}, {"images", &c.Images}, {"replicas", &c.Replicas},
	}
}

func (c *Config) isZero() bool {
	for _, list := range c.lists() {
		if len((*list.specs).All()) > 0 {
			return false
		}
	}
	return len(c.NameReference.All()) == 0
}

// sorted returns a copy of c in merge order. Files may list entries in any order.
func (c *Config) sorted() *Config {
	s := *c
	for _, list := range s.lists() {
		*list.specs = (*list.specs).sorted()
	}
	s.NameReference = s.NameReference.sorted()
	return &s
}
