package eval

import (
	"context"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
)

// Changes records, for each resource, the positions of the steps that have changed it since it
// was read or generated.
type Changes map[*krm.Resource][]graph.Origin

// Fold runs the nodes of g sequentially. It returns their lists and the changes to the resources
// in these lists. Before each node, it calls begin, which returns the receiver of the node's
// warnings. If Fold fails, failed is the node that err is about. Fold stops before the next node
// if ctx is done.
func Fold(ctx context.Context, g *graph.Graph, begin func(*graph.Node) diag.Warn) (lists []*krm.List, changed Changes, failed *graph.Node,
	err error) {
	lists, changed = make([]*krm.List, len(g.Nodes)), Changes{}
	for i, n := range g.Nodes {
		if ctx.Err() != nil {
			return nil, nil, n, context.Cause(ctx)
		}
		inputs := make([]Input, len(n.Inputs))
		for j, in := range n.Inputs {
			inputs[j].List = lists[in]
		}
		if lists[i], err = Run(n.Op, inputs, begin(n)); err != nil {
			return nil, nil, n, err
		}
		changed.note(inputs, lists[i], n.Origin)
	}
	return lists, changed, nil, nil
}

// note records a step at position at for each resource whose value it has changed. Unchanged
// resources keep their identity as pointers, so note compares values only for new pointers.
func (c Changes) note(before []Input, after *krm.List, at graph.Origin) {
	old := map[krm.ID]*krm.Resource{}
	passed := map[*krm.Resource]bool{}
	for _, in := range before {
		for _, r := range in.List.All() {
			old[r.OrigID().Key()], passed[r] = r, true
		}
	}
	for _, r := range after.All() {
		was := old[r.OrigID().Key()]
		if passed[r] || was == nil {
			continue
		}
		c[r] = c[was]
		if !r.Value().Equal(was.Value()) {
			c[r] = append(slices.Clip(c[was]), at)
		}
	}
}
