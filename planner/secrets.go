package planner

import (
	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// HideSecrets hides in the summaries of the steps what the plan knows from Secrets: in its files,
// and in what is generated. A label or the name of an image may have it. A plan that is only run
// needs no summaries, so those who show it call this before.
func (p *Plan) HideSecrets() {
	hide := secret.NewSet(func(s *secret.Set) {
		names := func(v yaml.Value) {
			s.Public(v.At("metadata", "name").Text())
			s.Public(v.At("metadata", "namespace").Text())
		}
		for _, src := range p.Files() {
			docs, err := src.Configs()
			if err != nil {
				continue // its values are not known, and the plan has a mistake in its place
			}
			for _, doc := range docs {
				s.Add(doc.Value)
				names(doc.Value)
			}
		}
		for _, n := range p.Graph.Nodes {
			op, ok := n.Op.(graph.Generate)
			if !ok {
				continue
			}
			g, ok := op.Generator.(*builtins.SecretGenerator)
			if !ok {
				continue
			}
			made, _ := g.Generate()
			for _, r := range made {
				r.AddSecrets(s)
			}
		}
	})
	for _, n := range p.Graph.Nodes {
		n.Summary = hide.Hide(n.Summary)
	}
}
