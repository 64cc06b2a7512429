package trust

import (
	"path/filepath"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/function"
)

// A ChartRequest is a chart that helm is to render.
type ChartRequest struct {
	// Name is what messages call it, Pos its place, and Node the id of the node in the plan.
	Name string
	Pos  diag.Pos
	Node string
	// Command is how the user names helm. Helm returns what was found then; it is called only if charts are allowed.
	Command string
	Helm    func() Program
	Facts   Facts // Isolation and NotIsolated
}

// DecideChart answers r: whether the user lets helm run at all decides. What is in a chart and where it comes from does not, since helm runs
// no program of a chart, and gets no capability.
func (p Policy) DecideChart(r ChartRequest) Decision {
	x := decider{Policy: p, r: Request{Pos: r.Pos, Node: r.Node, Facts: r.Facts}}
	x.fn = function.Function{Name: r.Name, Node: r.Node, Runtime: function.RuntimeHelm, Limits: p.Limits}
	x.d.Runtime, x.d.Source = function.RuntimeHelm, r.Command
	if !p.Helm {
		x.deny(Untrusted, []string{FlagHelm}, "charts are not rendered unless the user says so: must specify %s", FlagHelm).With(diag.HelmDisabled)
		return x.decision()
	}
	x.d.By = FlagHelm
	helm := r.Helm()
	if helm.Err != nil {
		why, hints := diag.Parts(helm.Err)
		err := x.deny(Invalid, nil, "helm, the program that renders charts, cannot be used: %s", why).With(diag.NoEngine)
		err.Hints = append(err.Hints, hints...)
		err.Hint("%s names the program", FlagHelmCommand)
		return x.decision()
	}
	x.d.Source, x.d.Digest = helm.Real, helm.Digest
	x.fn.Program, x.fn.Root, x.fn.Digest = helm.Real, filepath.Dir(helm.Real), helm.Digest
	x.sandbox()
	return x.decision()
}
