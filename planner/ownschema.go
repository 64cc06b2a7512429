package planner

import (
	"maps"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/eval"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/schema"
)

// A schemaUse is the effect of layers on kustomize's own schema. The effect matters at the first
// openapi field with a path (openapi.SetSchema): initSchema then reads the custom schema alone,
// before its own, or after its own. These are the causes, with kustomize's functions:
//
//	cause                                            functions                                                        own schema is
//	an object of a kind whose scope its list lacks,  resmap.Append, resource.CurId, resid.NewGvk,                     deferred
//	in resources or as the configuration of a        openapi.IsNamespaceScoped,
//	generator, transformer or validator              isInitSchemaNeededForNamespaceScopeCheck
//	a step that gives an object such a kind          the same, from resmap.appendAll and resource.StorePreviousId     deferred
//	a strategic merge patch for an object with an    resource.ApplySmPatch, merge2.Merge, walk.GetSchema,             read
//	apiVersion                                       openapi.SchemaForResourceType
//	a function that changes resources                runtimeutil.copyCommentsAndSyncOrder, comments.CopyComments,     read
//	                                                 walk.GetSchema
//
// Everything else has no effect: JSON patches, patches whose target selects nothing, generators and
// transformers that are fields, vars, configurations and crds. An openapi field without path or
// version has no effect, and neither have those after the first with one.
type schemaUse struct {
	// outer is the use by the layers around this layer, before it.
	outer *schemaUse
	own   schema.Builtin
	// open are the steps whose effect depends on their list. It is a set because layers are shared.
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
func (u *schemaUse) note(own schema.Builtin) { u.own = max(u.own, own) }

// add records the use by an inner layer.
func (u *schemaUse) add(inner schemaUse) {
	u.note(inner.own)
	if u.open == nil {
		u.open = make(map[*openUse]bool, len(inner.open))
	}
	maps.Copy(u.open, inner.open)
}

// meets records that kustomize creates the identity of an object of a kind.
func (u *schemaUse) meets(kind krm.GVK) {
	if !schema.KnowsScope(schema.Kind(kind)) {
		u.note(schema.Deferred)
	}
}

// noteUse records the effect of a node's step on kustomize's own schema.
func (b *build) noteUse(id graph.NodeID, op graph.Op) {
	if b.set {
		return
	}
	var t graph.Transformer
	switch op := op.(type) {
	case graph.Call:
		if op.Chart == nil && op.Role != function.GeneratorRole {
			b.use.note(schema.Read)
		}
		return
	case graph.Transform:
		t = op.Transformer
	case graph.Validate:
		t = op.Transformer
	}
	switch t := t.(type) {
	case builtins.Merger:
		if t.AlwaysMerges() {
			b.use.note(schema.Read)
			return
		}
	case *builtins.PatchJson6902Transformer, *builtins.ReplacementTransformer: // which may change kinds
	default:
		return
	}
	b.use.add(schemaUse{open: map[*openUse]bool{{g: b.c.draft.g, node: id}: true}})
}

// ownSchema returns the current state of kustomize's own schema.
func (b *build) ownSchema() schema.Builtin { return b.c.ownSchema(b.use) }

// ownSchema returns the state of kustomize's own schema after all uses up to u.
func (c *compiler) ownSchema(u *schemaUse) (own schema.Builtin) {
	for v := u; v != nil; v = v.outer {
		own = max(own, v.own)
	}
	for ; u != nil; u = u.outer {
		for o := range u.open {
			if own < schema.Read {
				own = max(own, c.decide(o))
			}
		}
	}
	return own
}

// decide returns the effect of an open step. It runs the step and its inputs, in addition to the
// render. Trees without a custom schema in a later layer do not need this. If a function or chart
// contributes to the list, decide assumes that patches are merged.
func (c *compiler) decide(o *openUse) schema.Builtin {
	if o.known {
		return o.own
	}
	n := o.g.Nodes[o.node]
	var list *krm.List
	if len(n.Inputs) > 0 {
		list = c.listOf(o.g, n.Inputs[0])
	}
	o.known = true
	if m, ok := mergerOf(n.Op); ok && m.MergesInto(list) {
		o.own = schema.Read
	} else if out := c.listOf(o.g, o.node); out != nil {
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
	}
	return nil, false
}

// A listKey names the list of a node.
type listKey struct {
	g    *graph.Graph
	node graph.NodeID
}

// listOf returns the list that a node makes. It is nil if the node needs a function or fails.
func (c *compiler) listOf(g *graph.Graph, id graph.NodeID) *krm.List {
	key := listKey{g, id}
	if list, ok := c.lists[key]; ok {
		return list
	}
	n := g.Nodes[id]
	inputs := make([]eval.Input, len(n.Inputs))
	ok := true
	for i, in := range n.Inputs {
		inputs[i].List = c.listOf(g, in)
		ok = ok && inputs[i].List != nil
	}
	if _, call := n.Op.(graph.Call); call {
		ok = false
	}
	var list *krm.List
	if ok && c.ctx.Err() == nil {
		list, _ = eval.Run(n.Op, inputs, func(diag.Code, string, ...any) {})
	}
	c.lists[key] = list
	return list
}
