// Package history reconstructs how steps built a resource: the steps of a root that created and
// changed it, and the files and lines of their configuration.
//
// It works on the lists that the steps returned. A run provides them through
// [scheduler.Options.Made]. For pure steps, [Replay] can compute them again.
package history

import (
	"slices"
	"sync"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/eval"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
)

// A History holds the lists that the steps of a root returned. It must not be used while the run
// still records lists.
type History struct {
	g     *graph.Graph
	root  graph.NodeID
	lists []*krm.List // nil if unknown
}

// A Recorder records the lists of a run. The zero value is ready to use. Its method Made is safe
// for concurrent use.
type Recorder struct {
	mu    sync.Mutex
	lists map[string]*krm.List // by node ID
}

// Made records the list of a step: see [scheduler.Options.Made].
func (r *Recorder) Made(n *graph.Node, list *krm.List) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lists == nil {
		r.lists = map[string]*krm.List{}
	}
	r.lists[n.ID] = list
}

// Worth returns an estimate, in bytes, of the memory that recording a list takes. Callers add it
// to the memory usage of the run.
func Worth(list *krm.List) int64 { return int64(list.Size() + 256*list.Len()) }

// Of returns the history of a root. g must be the graph of the recorded run, and the run must
// have ended.
func (r *Recorder) Of(g *graph.Graph, root graph.Root) *History {
	h := &History{g: g, root: root.Node, lists: make([]*krm.List, len(g.Nodes))}
	needed := make([]bool, len(g.Nodes))
	needed[root.Node] = true
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		if !needed[i] {
			continue
		}
		h.lists[i] = r.lists[g.Nodes[i].ID]
		for _, in := range g.Nodes[i].Inputs {
			needed[in] = true
		}
	}
	h.unmark()
	return h
}

// unmark removes the marks that steps set on resources for later steps. Marks are internal:
// users do not write them and the output does not have them. A resource in several lists stays
// one resource, because its steps are found by identity.
func (h *History) unmark() {
	unmarked := map[*krm.Resource]*krm.Resource{}
	for k, list := range h.lists {
		if list == nil {
			continue
		}
		for i, r := range list.All() {
			v := builtins.WithoutHelmMark(r.Value())
			if v == r.Value() {
				continue
			}
			if unmarked[r] == nil {
				unmarked[r] = r.Copy()
				unmarked[r].Unlink()
				unmarked[r].SetValue(v)
			}
			if h.lists[k] == list {
				h.lists[k] = list.Clone() // the run may still use it
			}
			h.lists[k].Set(i, unmarked[r])
		}
	}
}

// Replay computes the lists of a root again, as far as that is possible without calling a
// function. Lists that depend on a function or a failed step are unknown.
func Replay(g *graph.Graph, root graph.Root) *History {
	only := g.Only(func(r graph.Root) bool { return r == root })
	h := &History{g: only, lists: make([]*krm.List, len(only.Nodes))}
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
		if !complete || !graph.Pure(n.Op) {
			continue
		}
		if list, err := eval.Run(n.Op, inputs, func(diag.Code, string, ...any) {}); err == nil {
			h.lists[i] = list
		}
	}
	return h
}

// Result returns the list of the root, or nil if it is unknown.
func (h *History) Result() *krm.List {
	if len(h.lists) == 0 {
		return nil
	}
	return h.lists[h.root]
}

// Until returns the history of a resource in a root that could not be rendered. If a failed step
// had the resource among its inputs, the history ends at that input and next is the failed step.
// Otherwise it ends at the step that removed the resource, or else at the last list with the
// resource, and next is nil. Until returns nil if no step created the resource.
func (h *History) Until(failed []*graph.Node, is func(*krm.Resource) bool) (until *History, next *graph.Node) {
	end := func(id graph.NodeID) *History { return &History{g: h.g, root: id, lists: h.lists} }
	gone := h.Gone(is)
	for _, f := range failed {
		at := slices.IndexFunc(h.g.Nodes, func(n *graph.Node) bool { return n.ID == f.ID })
		if at < 0 {
			continue
		}
		n := h.g.Nodes[at]
		for _, in := range n.Inputs {
			if h.place(in, is, 0) >= 0 || gone != nil && end(in).Renamed(gone) >= 0 {
				return end(in), n
			}
		}
	}
	if gone != nil {
		last := gone[len(gone)-1].Node
		return end(graph.NodeID(slices.Index(h.g.Nodes, last))), nil
	}
	for i := range slices.Backward(h.lists) {
		if id := graph.NodeID(i); h.place(id, is, 0) >= 0 {
			return end(id), nil
		}
	}
	return nil, nil
}

// Renamed returns the index in the result of a resource that [History.Gone] reported as removed
// but that only changed its identity, or -1 if it was removed. Replacements and patches can
// change a name without a record in the resource.
func (h *History) Renamed(steps []Step) int {
	last := steps[len(steps)-1]
	if h.Result() == nil || last.Before == nil {
		return -1
	}
	for i, r := range h.Result().All() {
		if r.Pos != last.Before.Pos {
			continue
		}
		if slices.ContainsFunc(h.Steps(i), func(s Step) bool { return s.Node == last.Node && s.Before == last.Before }) {
			return i
		}
	}
	return -1
}

// A Step is a node that created, changed or removed a resource.
type Step struct {
	Node *graph.Node
	// Before is nil if the step created the resource. After is nil if it removed the resource.
	Before, After *krm.Resource
}

// Steps returns the steps that created and changed resource i of the result, in order. It
// excludes steps that left the object unchanged.
func (h *History) Steps(i int) []Step { return h.steps(h.root, i) }

// steps returns the steps of resource i in the list of a node.
func (h *History) steps(at graph.NodeID, i int) (steps []Step) {
	r := h.lists[at].At(i)
	for {
		n := h.g.Nodes[at]
		from, j := h.before(n, r, i)
		if j < 0 {
			steps = append(steps, Step{Node: n, After: r})
			slices.Reverse(steps)
			return steps
		}
		was := h.lists[from].At(j)
		if !was.Value().Equal(r.Value()) {
			steps = append(steps, Step{n, was, r})
		}
		at, i, r = from, j, was
	}
}

// before returns the input of a node that contains an earlier state of a resource, and the index
// there. The index is -1 if there is none.
//
// The identical resource is searched for in all inputs first. This is fast, because most steps
// pass resources on unchanged, and unambiguous. Only then the inputs are searched for a resource
// with the same or an earlier identity.
func (h *History) before(n *graph.Node, r *krm.Resource, near int) (graph.NodeID, int) {
	for _, in := range n.Inputs {
		if list := h.lists[in]; list != nil {
			if i := same(list, r, near); i >= 0 {
				return in, i
			}
		}
	}
	for _, in := range n.Inputs {
		if list := h.lists[in]; list != nil {
			if i := earlier(list, r, near); i >= 0 {
				return in, i
			}
		}
	}
	return 0, -1
}

// same returns the index of the identical resource in a list, or -1. It tries near first,
// because most steps keep the positions of resources.
func same(list *krm.List, r *krm.Resource, near int) int {
	if near < list.Len() && list.At(near) == r {
		return near
	}
	for i, x := range list.All() {
		if x == r {
			return i
		}
	}
	return -1
}

// earlier returns the index of an earlier state of a resource in a list, or -1. It prefers the
// current identity to earlier ones, and distinguishes resources with equal identities by their
// location in files. If no identity matches, because a patch changed the name or kind, it
// returns a resource with the same location. All resources of a chart have the same location, so
// it tries near first.
func earlier(list *krm.List, r *krm.Resource, near int) int {
	found := list.Find(r.ID())
	for _, i := range found {
		if len(found) == 1 || list.At(i).Pos == r.Pos {
			return i
		}
	}
	for i := range slices.Backward(r.Prev) {
		for _, j := range list.Find(r.PrevID(i)) {
			if list.At(j).Pos == r.Pos {
				return j
			}
		}
	}
	if r.Pos.File == "" {
		return -1
	}
	changed := func(x *krm.Resource) bool { // a patch changed its kind or name
		return x.Pos == r.Pos && (x.ID().Name == r.ID().Name || x.ID().Kind == r.ID().Kind)
	}
	if near < list.Len() && changed(list.At(near)) {
		return near
	}
	for i, x := range list.All() {
		if changed(x) {
			return i
		}
	}
	return -1
}

// Culprit returns the step that introduced a property of a resource in the result, or nil if
// that is unknown. has reports whether a resource is an earlier state of that resource and has
// the property. The search starts at the result and follows the inputs as long as one of them
// has the property.
func (h *History) Culprit(has func(r *krm.Resource) bool) *graph.Node {
	if len(h.lists) == 0 {
		return nil
	}
	at, i := h.root, h.place(h.root, has, 0)
	if i < 0 {
		return nil
	}
	for {
		before := graph.NodeID(-1)
		for _, in := range h.g.Nodes[at].Inputs {
			if j := h.place(in, has, i); j >= 0 {
				before, i = in, j
			}
		}
		if before < 0 {
			return h.g.Nodes[at]
		}
		at = before
	}
}

// place returns the index of the first resource in a step's list for which has is true, or -1.
// It tries near first: most steps keep the positions of resources, and roots can have thousands
// of resources and steps.
func (h *History) place(id graph.NodeID, has func(r *krm.Resource) bool, near int) int {
	list := h.lists[id]
	if list == nil {
		return -1
	}
	if near < list.Len() && has(list.At(near)) {
		return near
	}
	for i, r := range list.All() {
		if has(r) {
			return i
		}
	}
	return -1
}
