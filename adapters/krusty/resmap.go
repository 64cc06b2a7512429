package krusty

import (
	"fmt"
	"hash/maphash"

	"github.com/krmflow/krmflow/krm"
	krmyaml "github.com/krmflow/krmflow/krm/yaml"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// A rendered ResMap is a ResMap of kustomize that also knows the text of unchanged resources.
type rendered struct {
	resmap.ResMap
	seed maphash.Seed
	was  map[*resource.Resource]original
}

// An original is what a resource was when it was rendered.
type original struct {
	value krmyaml.Value
	sum   uint64
}

// makeResMap returns what list has. That no two resources have one identity is known, so none is
// compared with all others.
func makeResMap(list *krm.List) (resmap.ResMap, error) {
	m := &rendered{resmap.New(), maphash.MakeSeed(), make(map[*resource.Resource]original, list.Len())}
	err := m.ApplyFilter(kio.FilterFunc(func([]*yaml.RNode) ([]*yaml.RNode, error) {
		nodes := make([]*yaml.RNode, list.Len())
		var text []byte
		for i, r := range list.All() {
			text = krmyaml.AppendYAML(text[:0], r.Value())
			node, err := yaml.Parse(string(text))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.ID(), err)
			}
			nodes[i] = node
		}
		return nodes, nil
	}))
	if err != nil {
		return nil, err
	}
	for i, r := range m.Resources() {
		m.was[r] = original{list.At(i).Value(), m.sum(r)}
	}
	return m, nil
}

// AsYaml returns the resources as one YAML stream. It converts only resources that were changed
// after the render with kustomize's own method, which decodes and encodes them several times.
func (m *rendered) AsYaml() ([]byte, error) {
	var text []byte
	for i, r := range m.Resources() {
		if i > 0 {
			text = append(text, "---\n"...)
		}
		if was, ok := m.was[r]; ok && was.sum == m.sum(r) {
			text = krmyaml.AppendYAML(text, was.value)
			continue
		}
		changed, err := r.AsYAML()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.CurId(), err)
		}
		text = append(text, changed...)
	}
	return text, nil
}

// sum returns a checksum of what AsYaml shows of r.
func (m *rendered) sum(r *resource.Resource) uint64 {
	var h maphash.Hash
	h.SetSeed(m.seed)
	addNode(&h, r.YNode())
	return h.Sum64()
}

func addNode(h *maphash.Hash, n *yaml.Node) {
	if n == nil {
		return
	}
	maphash.WriteComparable(h, [3]int{int(n.Kind), len(n.Value), len(n.Content)})
	h.WriteString(n.Tag)
	h.WriteString(n.Value)
	addNode(h, n.Alias)
	for _, c := range n.Content {
		addNode(h, c)
	}
}

// ErrorIfNotEqualSets implements [resmap.ResMap]. The method of kustomize's
// ResMap accepts only its own type, so other is converted.
func (m *rendered) ErrorIfNotEqualSets(other resmap.ResMap) error {
	return m.ResMap.ErrorIfNotEqualSets(kustomizes(other))
}

// ErrorIfNotEqualLists implements [resmap.ResMap]. The method of kustomize's
// ResMap accepts only its own type, so other is converted.
func (m *rendered) ErrorIfNotEqualLists(other resmap.ResMap) error {
	return m.ResMap.ErrorIfNotEqualLists(kustomizes(other))
}

// kustomizes returns kustomize's own ResMap in m.
func kustomizes(m resmap.ResMap) resmap.ResMap {
	if own, ok := m.(*rendered); ok {
		return own.ResMap
	}
	return m
}
