package planview

import (
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
)

// HideSecrets hides values of Secrets in the summaries of the steps, where a label or the name of
// an image may contain one. It knows the Secrets in files and from generators. Callers that show
// the plan must call it first; a plan that is only run needs no summaries.
func HideSecrets(p *planner.Plan) {
	hide := secret.NewSet(func(s *secret.Set) {
		names := func(v yaml.Value) {
			s.Public(v.At("metadata", "name").Text())
			s.Public(v.At("metadata", "namespace").Text())
		}
		for _, src := range p.Files() {
			docs, err := src.Configs()
			if err != nil {
				continue // its values are unknown, and the plan reports a mistake for it
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
			made, _ := op.Generator.Generate()
			for _, r := range made {
				r.AddSecrets(s)
			}
		}
	})
	for _, n := range p.Graph.Nodes {
		n.Summary = hide.Hide(n.Summary)
	}
}
