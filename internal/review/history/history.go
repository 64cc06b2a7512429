// Package history tells how a resource became what it is: which steps of a root have made and changed it, from which lines of which files.
//
// It works on the lists that the steps have made. A run hands them out if it is asked to, see [scheduler.Options.Made]; those of steps that are
// pure can also be made again by [Replay].
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

// A History is what each step of a root has made. It must not be used while the run still adds to it.
type History struct {
	g     *graph.Graph
	root  graph.NodeID
	lists []*krm.List // nil where nothing is known
}

// A Recorder keeps the lists of a run. Its zero value is empty, and it is safe for concurrent use.
type Recorder struct {
	mu    sync.Mutex
	lists map[string]*krm.List // by ids of nodes
}

// Made keeps the list of a step: see [scheduler.Options.Made].
func (r *Recorder) Made(n *graph.Node, list *krm.List) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lists == nil {
		r.lists = map[string]*krm.List{}
	}
	r.lists[n.ID] = list
}

// Worth returns how many bytes more a run may be said to make, for each list of a step that is kept.
func Worth(list *krm.List) int64 { return int64(list.Size() + 256*list.Len()) }

// Of returns the history of a root of the graph that was run.
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

// unmark removes the marks that steps set on resources for later steps. Marks are not written by
// users and not part of the output. A resource in several lists stays one resource, because its
// steps are found by its identity.
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
				h.lists[k] = list.Clone() // the run may still have it
			}
			h.lists[k].Set(i, unmarked[r])
		}
	}
}

// Replay makes the lists of a root again, as far as that can be done without calling a function.
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

// Result returns the list of the root, nil if it is not known.
func (h *History) Result() *krm.List {
	if len(h.lists) == 0 {
		return nil
	}
	return h.lists[h.root]
}

// Until returns the history of a resource in a root that could not be rendered: the result is what the failed step would have taken, and next is that
// step. If none of the failed steps would have taken the resource the result is the last list that has it, or one that it was removed from, and next
// is nil. Until returns nil if no step has made the resource.
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

// Renamed returns where the result has a resource that seems to be removed by the last of steps, those of [History.Gone], and has another identity
// since: replacements and patches change names without a trace in the resource. It returns -1 if the resource is really gone.
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

// A Step is a node that has made, changed or removed a resource.
type Step struct {
	Node *graph.Node
	// Before is nil if the step has made the resource, and After if it has removed it.
	Before, After *krm.Resource
}

// Steps returns the steps that have made and changed resource i of the result, the first one first. A step that has not changed the object is none of
// them.
func (h *History) Steps(i int) []Step { return h.steps(h.root, i) }

// steps returns the steps that lead to a resource in the list of a node.
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

// before returns which input of a node has had a resource of its list, and where: -1 if none.
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

// same returns where a list has a resource as it is, -1 if nowhere. It looks at near first: most steps leave resources where they are.
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

// earlier returns where a list has an earlier state of a resource, -1 if nowhere: one of the same identity, else one that it had before. Two that
// had one identity are told apart by where they were written, and those that were written in one place, as all of a chart are, by their place in the
// list.
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
	changed := func(x *krm.Resource) bool { // a patch has given it another kind or name
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

// Culprit returns the step that has brought something to a resource of the result, nil if that cannot be known. has reports whether a resource is an
// earlier state of that one, and has it. It begins at the result, and goes from step to step as long as one before has it, too.
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

// place returns where the list of a step has the resource, -1 if nowhere. It looks at near first: most steps leave resources where they are, and roots
// may have thousands of both.
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
