// Follows api/types/fieldspec.go, api/filters/fsslice/fsslice.go.

package builtins

import (
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// FieldSpecs is a list of fields in the order of visits, with a cache of the fields of each kind.
// Hundreds of layers may share one list, and the cache lets them select the fields of a kind only
// once.
//
// FieldSpecs is immutable apart from the cache, and [FieldSpecs.Merge] shares or copies it. It is
// safe for concurrent use. A nil FieldSpecs is an empty list.
type FieldSpecs struct {
	list []FieldSpec

	mu     sync.RWMutex
	picked map[krm.GVK]*pickedFields
}

// NewFieldSpecs returns the list of specs. It takes ownership of the slice.
func NewFieldSpecs(specs ...FieldSpec) *FieldSpecs { return &FieldSpecs{list: specs} }

// All returns the fields. The caller must not change the slice.
func (s *FieldSpecs) All() []FieldSpec {
	if s == nil {
		return nil
	}
	return s.list
}

// Wrapped tells [yaml.Decode] to decode a list.
func (s *FieldSpecs) Wrapped() any { return &s.list }

// Merge returns s with the additional specs of others, or s itself if there are none. It is an
// error if others names a field of s but disagrees about its creation. An empty Group, Version or
// Kind in others matches any in s.
func (s *FieldSpecs) Merge(others *FieldSpecs) (*FieldSpecs, error) {
	if s == others {
		return s, nil
	}
	merged, err := mergeSpecs(s.All(), others.All())
	if err != nil || len(merged) == len(s.All()) {
		return s, err
	}
	return NewFieldSpecs(merged...), nil
}

func mergeSpecs(s, others []FieldSpec) ([]FieldSpec, error) {
	if len(others) == 0 || sameSlice(s, others) {
		return s, nil
	}
	byPath := make(map[string][]int, len(s)+len(others))
	for i, x := range s {
		byPath[x.Path] = append(byPath[x.Path], i)
	}
	s = s[:len(s):len(s)]
	for _, x := range others {
		i := findSelected(s, byPath[x.Path], x.GVK())
		if i < 0 {
			byPath[x.Path] = append(byPath[x.Path], len(s))
			s = append(s, x)
		} else if s[i].CreateIfNotPresent != x.CreateIfNotPresent {
			return nil, diag.BadFieldPath.Errorf("conflicting fieldspecs")
		}
	}
	return s, nil
}

func findSelected(s []FieldSpec, candidates []int, selector krm.GVK) int {
	for _, i := range candidates {
		if selector.Selects(s[i].GVK()) {
			return i
		}
	}
	return -1
}

func sameSlice(a, b []FieldSpec) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// byKind sorts specs by kind. Kustomize's sort is not stable, and its result decides which of
// several references is updated first. krmflow must therefore run the same algorithm, sort.Sort,
// on the same input.
type byKind []FieldSpec

func (s byKind) Len() int           { return len(s) }
func (s byKind) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s byKind) Less(i, j int) bool { return gvkLess(s[i].GVK(), s[j].GVK()) }

// gvkLess orders kinds like kustomize: some kinds come first or last, and the others are sorted
// by their text.
func gvkLess(a, b krm.GVK) bool {
	if i, j := kindRank(a.Kind), kindRank(b.Kind); i != j {
		return i < j
	}
	return sortText(a) < sortText(b)
}

func sortText(g krm.GVK) string {
	or := func(s, empty string) string {
		if s == "" {
			return empty
		}
		return s
	}
	return or(g.Group, "~G") + "_" + or(g.Version, "~V") + "_" + or(g.Kind, "~K")
}

func kindRank(kind string) int {
	for i, k := range [...]string{
		"Namespace", "ResourceQuota", "StorageClass", "CustomResourceDefinition", "ServiceAccount", "PodSecurityPolicy",
		"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "ConfigMap", "Secret", "Endpoints", "Service",
		"LimitRange", "PriorityClass", "PersistentVolume", "PersistentVolumeClaim", "Deployment", "StatefulSet", "CronJob",
		"PodDisruptionBudget",
	} {
		if k == kind {
			return i - 22
		}
	}
	switch kind {
	case "MutatingWebhookConfiguration":
		return 1
	case "ValidatingWebhookConfiguration":
		return 2
	}
	return 0
}

// pickedFields are the fields of one kind, as a list and as trees.
type pickedFields struct {
	specs []compiledSpec
	trees []*fieldTree[*compiledSpec]
}

// pick returns the fields of kind g.
func (s *FieldSpecs) pick(g krm.GVK) *pickedFields {
	if s == nil {
		return &pickedFields{}
	}
	s.mu.RLock()
	fields := s.picked[g]
	s.mu.RUnlock()
	if fields != nil {
		return fields
	}
	fields = &pickedFields{}
	for _, fs := range s.list {
		if fs.GVK().Selects(g) {
			fields.specs = append(fields.specs, compileSpec(fs))
		}
	}
	specs := make([]*compiledSpec, len(fields.specs))
	for i := range specs {
		specs[i] = &fields.specs[i]
	}
	fields.trees = plantTrees(specs, func(c **compiledSpec) *compiledSpec { return *c })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.picked == nil {
		s.picked = map[krm.GVK]*pickedFields{}
	}
	s.picked[g] = fields
	return fields
}

// edit applies fn to every field of v that the specs name. v is an object of kind g.
func (s *FieldSpecs) edit(v yaml.Value, g krm.GVK, create yaml.Type, fn EditFunc) (yaml.Value, error) {
	visit := func(specs []*compiledSpec, field yaml.Value) (w yaml.Value, err error) {
		w = field
		for i := 0; i < len(specs) && err == nil; i++ { // a field named twice is edited twice
			w, err = fn(w)
		}
		return w, err
	}
	for _, tree := range s.pick(g).trees {
		w, err := tree.walk(v, create, visit)
		if err != nil {
			return v, err
		}
		v = w
	}
	return v, nil
}
