package plandoc

import (
	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
)

// HideSecrets hides the values of Secrets, of the plan's files and of generators, in the summaries of
// its steps: a label or the name of an image can be such a value. A plan must have it done before it
// is shown or compared. It is not done while planning, because a plan that only runs needs no summaries.
func HideSecrets(p *planner.Plan) {
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
