package scheduler

import (
	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// readChart parses the resources that helm printed for a chart.
func readChart(op graph.Call, printed yaml.Chunks) (*function.Reply, error) {
	src := yaml.NewAnswer(op.Function.Name, printed.Join())
	rs, err := krm.Resources(src, op.Schema)
	if err != nil {
		return &function.Reply{}, err
	}
	for _, r := range rs {
		r.Pos = op.ConfigPos
		builtins.MarkHelm(r)
	}
	made := krm.NewList(rs...)
	return &function.Reply{List: made}, made.CheckUnique()
}
