// Package ownschema determines how far kustomize has read its own schema when a layer brings a
// custom one.
package ownschema

import (
	"context"
	"maps"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/eval"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/schema"
)

// A Use is the effect of layers on kustomize's own schema. The effect matters at the first
// openapi field with a path (openapi.SetSchema): initSchema then reads the custom schema alone,
// before its own, or after its own.
//
// Two causes make kustomize defer its own schema:
//
//   - An object of a kind whose scope its list lacks, in resources or as the configuration of a
//     generator, transformer or validator. The functions are resmap.Append, resource.CurId,
//     resid.NewGvk, openapi.IsNamespaceScoped and isInitSchemaNeededForNamespaceScopeCheck.
//   - A step that gives an object such a kind. The functions are the same, called from
//     resmap.appendAll and resource.StorePreviousId.
//
// Two causes make kustomize read its own schema:
//
//   - A strategic merge patch for an object with an apiVersion. The functions are
//     resource.ApplySmPatch, merge2.Merge, walk.GetSchema and openapi.SchemaForResourceType.
//   - A function that changes resources. The functions are runtimeutil.copyCommentsAndSyncOrder,
//     comments.CopyComments and walk.GetSchema.
//
// Everything else has no effect: JSON patches, patches whose target selects nothing, generators
// and transformers that are fields, vars, configurations and crds. An openapi field without path
// or version has no effect, nor do openapi fields after the first one that has either.
type Use struct {
	// Outer is the use by the enclosing layers before this layer.
	Outer *Use
	own   schema.Builtin
	// open are the steps whose effect depends on their list. It is a set because layers are
	// shared.
	open map[*openUse]bool
}

// An openUse is a step that may make kustomize use its schema.
type openUse struct {
	g     *graph.Graph
	node  graph.NodeID
	known bool
	own   schema.Builtin // if known
}

// note records a use.
func (u *Use) note(own schema.Builtin) { u.own = max(u.own, own) }

// Add records the use by an inner layer.
func (u *Use) Add(inner Use) {
	u.note(inner.own)
	if u.open == nil {
		u.open = make(map[*openUse]bool, len(inner.open))
	}
	maps.Copy(u.open, inner.open)
}

// Meets records that kustomize creates the identity of an object of a kind.
func (u *Use) Meets(kind krm.GVK) {
	if !schema.KnowsScope(schema.Kind(kind)) {
		u.note(schema.Deferred)
	}
}

// Step records the effect of the step of a node of g on kustomize's own schema.
func (u *Use) Step(g *graph.Graph, id graph.NodeID, op graph.Op) {
	if call, ok := op.(graph.Call); ok && call.Chart == nil && call.Role != function.GeneratorRole {
		u.note(schema.Read)
	}
	switch m, ok := mergerOf(op); {
	case !ok:
	case m.AlwaysMerges():
		u.note(schema.Read)
	default:
		u.Add(Use{open: map[*openUse]bool{{g: g, node: id}: true}})
	}
}

// Lists are the lists of nodes that planning had to compute. They must not be used concurrently.
type Lists map[listKey]*krm.List

// After returns the state of kustomize's own schema after all uses up to u.
func (c Lists) After(ctx context.Context, u *Use) (own schema.Builtin) {
	for v := u; v != nil; v = v.Outer {
		own = max(own, v.own)
	}
	for ; u != nil; u = u.Outer {
		for o := range u.open {
			if own < schema.Read {
				own = max(own, c.decide(ctx, o))
			}
		}
	}
	return own
}

// decide returns the effect of an open step. It runs the step and its inputs, in addition to the
// render. Trees without a custom schema in a later layer do not need this. If a function or chart
// contributes to the list, decide assumes that patches are merged.
func (c Lists) decide(ctx context.Context, o *openUse) schema.Builtin {
	if o.known {
		return o.own
	}
	n := o.g.Nodes[o.node]
	var list *krm.List
	if len(n.Inputs) > 0 {
		list = c.of(ctx, o.g, n.Inputs[0])
	}
	o.known = true
	if m, ok := mergerOf(n.Op); ok && m.MergesInto(list) {
		o.own = schema.Read
	} else if out := c.of(ctx, o.g, o.node); out != nil {
		for _, r := range out.All() {
			if !schema.KnowsScope(schema.Kind(r.ID().GVK)) {
				o.own = schema.Deferred
			}
		}
	}
	return o.own
}

func mergerOf(op graph.Op) (builtins.Merger, bool) {
	switch op := op.(type) {
	case graph.Transform:
		m, ok := op.Transformer.(builtins.Merger)
		return m, ok
	case graph.Validate:
		m, ok := op.Transformer.(builtins.Merger)
		return m, ok
	case graph.Load, graph.Merge, graph.Generate, graph.Pass, graph.Fetch, graph.Call, graph.Absorb, graph.Finish:
	}
	return nil, false
}

// A listKey identifies the list of a node.
type listKey struct {
	g    *graph.Graph
	node graph.NodeID
}

// of returns the output list of a node. It is nil if the node needs a function or fails.
func (c Lists) of(ctx context.Context, g *graph.Graph, id graph.NodeID) *krm.List {
	key := listKey{g, id}
	if list, ok := c[key]; ok {
		return list
	}
	n := g.Nodes[id]
	inputs := make([]eval.Input, len(n.Inputs))
	ok := true
	for i, in := range n.Inputs {
		inputs[i].List = c.of(ctx, g, in)
		ok = ok && inputs[i].List != nil
	}
	var list *krm.List
	if ok && graph.Pure(n.Op) && ctx.Err() == nil {
		list, _ = eval.Run(n.Op, inputs, func(diag.Code, string, ...any) {})
	}
	c[key] = list
	return list
}
