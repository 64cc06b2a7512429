package trust

import (
	"path/filepath"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/function"
)

// A ChartRequest is a request to render a chart with helm.
type ChartRequest struct {
	// Name is the name of the chart in messages, Pos its position, and Node the id of its node in
	// the plan.
	Name string
	Pos  diag.Pos
	Node string
	// Command is the user's name for helm. Helm returns the program found for it, and is called
	// only if charts are allowed.
	Command string
	Helm    func() Program
	Facts   Facts // only Isolation and NotIsolated
}

// DecideChart returns the decision on r. It depends on whether the user allows helm, but not on
// the content or origin of the chart: helm gets no capability and runs no program of a chart.
func (p Policy) DecideChart(r ChartRequest) Decision {
	x := decider{Policy: p, r: Request{Pos: r.Pos, Node: r.Node, Facts: r.Facts}}
	x.fn = function.Function{Name: r.Name, Node: r.Node, Runtime: function.RuntimeHelm, Limits: p.Limits}
	x.d.Runtime, x.d.Source = function.RuntimeHelm, r.Command
	if !p.Helm {
		x.deny(Untrusted, []string{FlagHelm}, "charts are rendered only if you allow it: must specify %s", FlagHelm).With(diag.HelmDisabled)
		return x.decision()
	}
	x.d.By = FlagHelm
	helm := r.Helm()
	if helm.Err != nil {
		why, hints := diag.Parts(helm.Err)
		err := x.deny(Invalid, nil, "cannot use helm, the program that renders charts: %s", why).With(diag.NoEngine)
		err.Hints = append(err.Hints, hints...)
		err.Hint("name the program with %s", FlagHelmCommand)
		return x.decision()
	}
	x.d.Source, x.d.Digest = helm.Real, helm.Digest
	x.fn.Program, x.fn.Root, x.fn.Digest = helm.Real, filepath.Dir(helm.Real), helm.Digest
	x.sandbox()
	return x.decision()
}
