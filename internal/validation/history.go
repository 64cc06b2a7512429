package validation

import (
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/eval"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
)

// A history is what each step of a root has made, as far as that can be made again: steps are pure, functions are not called twice.
type history struct {
	g     *graph.Graph
	root  graph.NodeID
	lists []*krm.List // nil where a function has to be called
}

// replay makes the lists of a root again.
func replay(g *graph.Graph, root graph.Root) *history {
	only := g.Only(func(r graph.Root) bool { return r == root })
	h := &history{g: only, lists: make([]*krm.List, len(only.Nodes))}
	if len(only.Roots) == 0 {
		return h
	}
	h.root = only.Roots[0].Node
	for i, n := range only.Nodes {
		inputs := make([]eval.Input, len(n.Inputs))
		complete := true
		for j, in := range n.Inputs {
			inputs[j].List = h.lists[in]
			complete = complete && h.lists[in] != nil
		}
		if _, call := n.Op.(graph.Call); call || !complete {
			continue
		}
		if _, fetch := n.Op.(graph.Fetch); fetch {
			continue
		}
		if list, err := eval.Run(n.Op, inputs, func(diag.Code, string, ...any) {}); err == nil {
			h.lists[i] = list
		}
	}
	return h
}

// culprit returns the step that has brought what is wrong, nil if that cannot be known. It begins at the result, and goes from step to step
// as long as one before has it, too.
func (h *history) culprit(f *finding) *graph.Node {
	if len(h.lists) == 0 {
		return nil
	}
	at, i := h.root, h.place(h.root, f, 0)
	if i < 0 {
		return nil
	}
	for {
		before := graph.NodeID(-1)
		for _, in := range h.g.Nodes[at].Inputs {
			if j := h.place(in, f, i); j >= 0 {
				before, i = in, j
			}
		}
		if before < 0 {
			return h.g.Nodes[at]
		}
		at = before
	}
}

// place returns where the list of a step has the resource with what is wrong, -1 if nowhere. It looks at near first: most steps leave
// resources where they are, and roots may have thousands of both.
func (h *history) place(id graph.NodeID, f *finding, near int) int {
	list := h.lists[id]
	if list == nil {
		return -1
	}
	if near < list.Len() && had(list.At(near), f) {
		return near
	}
	for i, r := range list.All() {
		if had(r, f) {
			return i
		}
	}
	return -1
}

// had reports whether r is an earlier state of the resource, with what is wrong.
func had(r *krm.Resource, f *finding) bool {
	if r.Pos != f.r.Pos || r.OrigID().Kind != f.r.OrigID().Kind || r.OrigID().Name != f.r.OrigID().Name {
		return false
	}
	_, ok := has(&f.Finding, f.r.Value(), r.Value())
	return ok
}

// patchesOf returns the files that a patch step names, relative to the file of the step, and the patch that it holds itself.
func patchesOf(n *graph.Node) (files []string, text string) {
	op, ok := n.Op.(graph.Transform)
	if !ok {
		return nil, ""
	}
	switch t := op.Transformer.(type) {
	case *builtins.PatchTransformer:
		return []string{t.Path}, t.Patch
	case *builtins.PatchStrategicMergeTransformer:
		return t.Paths, ""
	case *builtins.PatchJson6902Transformer:
		return []string{t.Path}, ""
	}
	return nil, ""
}

// pointsTo returns how many steps a JSON pointer has that leads to path or to what holds it, -1 if it leads elsewhere.
func pointsTo(pointer string, path []any) int {
	tokens := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	if len(tokens) > len(path) {
		return -1
	}
	for i, token := range tokens {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch step := path[i].(type) {
		case string:
			if token != step {
				return -1
			}
		case int:
			if token != strconv.Itoa(step) && token != "-" {
				return -1
			}
		}
	}
	return len(tokens)
}
