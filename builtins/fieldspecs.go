// Follows api/types/fieldspec.go, api/filters/fsslice/fsslice.go.

package builtins

import (
	"errors"
	"sync"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// FieldSpecs is a list of fields, in the order in which they are visited. It is not changed once it is part of a [Config]
// or of a configured transformer; [FieldSpecs.Merge] shares or copies.
type FieldSpecs []FieldSpec

// Merge returns s with the specs of others added that s does not have yet. A spec that names a field that s names too,
// but disagrees about its creation, is an error. An empty Group, Version or Kind in others agrees with any in s.
func (s FieldSpecs) Merge(others FieldSpecs) (FieldSpecs, error) {
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
			return nil, errors.New("conflicting fieldspecs")
		}
	}
	return s, nil
}

func findSelected(s FieldSpecs, candidates []int, selector krm.GVK) int {
	for _, i := range candidates {
		if selector.Selects(s[i].GVK()) {
			return i
		}
	}
	return -1
}

func sameSlice(a, b FieldSpecs) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// byKind sorts specs by kind. kustomize's sort is not stable, and the order decides which of several references is updated
// first: the same algorithm must run over the same input.
type byKind FieldSpecs

func (s byKind) Len() int           { return len(s) }
func (s byKind) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s byKind) Less(i, j int) bool { return gvkLess(s[i].GVK(), s[j].GVK()) }

// gvkLess orders kinds as kustomize does: some kinds come first or last, the others in the order of their text.
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

// A fieldSet is a compiled FieldSpecs: its paths are split once, and the fields of a kind are looked for once. It is safe
// for concurrent use.
type fieldSet struct {
	specs []compiledSpec

	mu     sync.RWMutex
	picked map[krm.GVK]*pickedFields `key:"-"`
}

// pickedFields are the fields of one kind, one by one and as trees.
type pickedFields struct {
	specs []*compiledSpec
	trees []*fieldTree[*compiledSpec]
}

// fieldSets are the compiled forms of all FieldSpecs so far. Layers share the lists of their configuration, and there are
// hundreds of layers, but few configurations.
var fieldSets sync.Map // listKey[FieldSpec] -> *fieldSet

// A listKey identifies a slice that is never changed.
type listKey[T any] struct {
	first *T
	n     int
}

func keyOf[T any](s []T) (k listKey[T]) {
	if k.n = len(s); k.n > 0 {
		k.first = &s[0]
	}
	return k
}

func (s FieldSpecs) compile() *fieldSet {
	key := keyOf(s)
	if set, ok := fieldSets.Load(key); ok {
		return set.(*fieldSet)
	}
	set := &fieldSet{specs: make([]compiledSpec, len(s)), picked: map[krm.GVK]*pickedFields{}}
	for i, fs := range s {
		set.specs[i] = compileSpec(fs)
	}
	shared, _ := fieldSets.LoadOrStore(key, set)
	return shared.(*fieldSet)
}

// pick returns the fields of kind g; a nil set has none.
func (set *fieldSet) pick(g krm.GVK) *pickedFields {
	if set == nil {
		return &pickedFields{}
	}
	set.mu.RLock()
	fields := set.picked[g]
	set.mu.RUnlock()
	if fields != nil {
		return fields
	}
	fields = &pickedFields{}
	for i := range set.specs {
		if set.specs[i].GVK().Selects(g) {
			fields.specs = append(fields.specs, &set.specs[i])
		}
	}
	fields.trees = plantTrees(fields.specs, func(c **compiledSpec) *compiledSpec { return *c })
	set.mu.Lock()
	defer set.mu.Unlock()
	set.picked[g] = fields
	return fields
}

// edit applies fn to every field of v, an object of kind g, that the specs name.
func (set *fieldSet) edit(v yaml.Value, g krm.GVK, create yaml.Type, fn EditFunc) (yaml.Value, error) {
	visit := func(specs []*compiledSpec, field yaml.Value) (w yaml.Value, err error) {
		w = field
		for i := 0; i < len(specs) && err == nil; i++ { // a field that is named twice is edited twice
			w, err = fn(w)
		}
		return w, err
	}
	for _, tree := range set.pick(g).trees {
		w, err := tree.walk(v, create, visit)
		if err != nil {
			return v, err
		}
		v = w
	}
	return v, nil
}
