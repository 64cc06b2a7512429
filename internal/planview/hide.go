package planview

import (
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
)

// HideSecrets replaces Secret values in the summaries of the steps. A summary can show a label
// or an image name, and either may contain a Secret value. HideSecrets knows the Secrets in
// files and those made by generators. Callers must call it before they show the plan; a plan
// that is only run does not need it.
func HideSecrets(p *planner.Plan) {
	hide := secret.NewSet(func(s *secret.Set) {
		names := func(v yaml.Value) {
			s.Public(v.At("metadata", "name").Text())
			s.Public(v.At("metadata", "namespace").Text())
		}
		for _, src := range p.Files() {
			docs, err := src.Configs()
			if err != nil {
				continue // its values are unknown, and the plan reports the error
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
