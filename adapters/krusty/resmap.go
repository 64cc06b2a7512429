package krusty

import (
	"fmt"

	"github.com/krmflow/krmflow/krm"
	krmyaml "github.com/krmflow/krmflow/krm/yaml"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// resMap returns what list has. That no two resources have one identity is known, so none is compared with all others.
func resMap(list *krm.List) (resmap.ResMap, error) {
	m := resmap.New()
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
	return m, err
}
