// Package why determines which steps of a plan must run again because of changes since the last
// render.
package why

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/engine/records"
	"github.com/krmflow/krmflow/internal/planview"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
)

// A Reason is the reason a step runs. The zero Reason means that the step is unchanged.
type Reason struct {
	// Changes are the changed inputs of the step itself.
	Changes []records.Change
	// Input is the first input that runs, if nothing about the step itself changed; otherwise
	// nil.
	Input *graph.Node
}

// Reasons holds the reasons for all steps of a plan.
type Reasons struct {
	plan   *planner.Plan
	cwd    string
	states map[string]records.State // by directory of the root
	reused []string                 // directories of the roots that are not planned again
	of     []Reason                 // by node
}

// New returns the reasons for the steps of a run. Files are shown relative to its working
// directory.
func New(run *engine.Run) *Reasons {
	plan, scope := run.Plan(), run.Scope()
	r := &Reasons{plan: plan, cwd: scope.Plan.Cwd, states: map[string]records.State{}, of: make([]Reason, len(plan.Graph.Nodes))}
	for _, root := range scope.Roots {
		known := run.Known(root.Dir)
		r.states[diag.Redact(root.Dir)] = known.State()
		if known.Record != nil {
			r.reused = append(r.reused, diag.Redact(root.Dir))
		}
	}
	files, settings := map[string]records.Change{}, map[string]records.Change{}
	for _, s := range r.states {
		for _, c := range s.Changes {
			if c.Setting {
				settings[c.What] = c
			} else {
				files[r.name(c.What)] = c
			}
		}
	}
	users := r.users(files)
	for i, n := range plan.Graph.Nodes {
		for _, file := range slices.Sorted(keys(users[n])) {
			r.of[i].Changes = append(r.of[i].Changes, files[file])
		}
		if c, ok := settings[n.ID]; ok {
			r.of[i].Changes = append(r.of[i].Changes, c)
		}
		for _, in := range n.Inputs {
			if r.of[i].Changes == nil && r.of[in].runs() {
				r.of[i].Input = plan.Graph.Nodes[in]
				break
			}
		}
	}
	return r
}

func (r Reason) runs() bool { return len(r.Changes) > 0 || r.Input != nil }

// name returns the name of a file in the plan.
func (r *Reasons) name(file string) string {
	if rel, err := filepath.Rel(r.cwd, file); err == nil && r.cwd != "" &&
		!slices.ContainsFunc(r.plan.Files(), func(s *yaml.Source) bool { return s.File == file }) {
		return rel
	}
	return file
}

func keys[T any](m map[string]T) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// users returns the steps that depend on changed files. A file that no step contains, for
// example an input of a generator, is assigned to the steps whose configuration names it.
func (r *Reasons) users(files map[string]records.Change) map[*graph.Node]map[string]bool {
	if len(files) == 0 {
		return nil // searching all steps takes longer than planning them
	}
	users := map[*graph.Node]map[string]bool{}
	add := func(n *graph.Node, file string) {
		if users[n] == nil {
			users[n] = map[string]bool{}
		}
		users[n][file] = true
	}
	held := map[string]bool{}
	for _, n := range r.plan.Graph.Nodes {
		at := []string{n.Origin.File()}
		for _, c := range n.Changes {
			at = append(at, c.File())
		}
		for _, src := range graph.Sources(n.Op) {
			at = append(at, src.File)
		}
		for _, file := range at {
			if _, changed := files[file]; changed {
				add(n, file)
				held[file] = true
			}
		}
	}
	for file := range files {
		if held[file] {
			continue
		}
		for _, n := range r.plan.Graph.Nodes {
			if names(n, file) {
				add(n, file)
			}
		}
	}
	return users
}

// names reports whether the field that configures a step contains the path of a file.
func names(n *graph.Node, file string) bool {
	if n.Origin.Source == nil {
		return false
	}
	v, err := n.Origin.Source.Value()
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(n.Origin.Folder(), file)
	for _, at := range n.Origin.Path {
		switch at := at.(type) {
		case string:
			v = v.Get(at)
		case int:
			if items := v.Items(); at < len(items) {
				v = items[at]
			}
		}
	}
	return err == nil && strings.Contains(string(yaml.AppendYAML(nil, v)), filepath.ToSlash(rel))
}

// WriteRoot writes the changes of a root and the steps they affect, or that the root is
// unchanged.
func (r *Reasons) WriteRoot(w io.Writer, dir string) error {
	var b strings.Builder
	s := r.states[dir]
	shown := diag.OneLine(dir)
	switch {
	case !s.Known:
		fmt.Fprintf(&b, "%s: no earlier render is recorded\n", shown)
	case len(s.Changes) == 0 && s.Calls:
		fmt.Fprintf(&b, "%s: nothing has changed since it was rendered, except perhaps the answers of its functions\n", shown)
	case len(s.Changes) == 0:
		fmt.Fprintf(&b, "%s: nothing has changed since it was rendered\n", shown)
	default:
		fmt.Fprintf(&b, "%s: %s since it was rendered\n", shown, diag.Plural(len(s.Changes), "change"))
		for _, c := range s.Changes {
			r.change(&b, c)
		}
		r.steps(&b, dir)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Reasons) change(b *strings.Builder, c records.Change) {
	what := c.What
	if !c.Setting {
		what = r.name(what)
		c.Old, c.New = r.shown(what, c.Old), r.shown(what, c.New)
	}
	fmt.Fprintf(b, "  %s\n    was %s\n    is  %s\n", diag.OneLine(what), diag.OneLine(c.Old), diag.OneLine(c.New))
}

// shown returns the recorded state of a path. It hides the digest of a file that may hold Secret
// values, because a reader who knows the rest of the file could try values until the digest
// matches. The digest of a file that is no longer in the plan is hidden as well.
func (r *Reasons) shown(file, what string) string {
	if !strings.HasPrefix(what, "sha256:") {
		return what
	}
	i := slices.IndexFunc(r.plan.Files(), func(s *yaml.Source) bool { return s.File == file })
	if i >= 0 && !r.plan.Files()[i].MayHoldSecrets() {
		return what
	}
	return "a file, whose digest is not shown"
}

// steps writes the steps of a root whose inputs changed.
func (r *Reasons) steps(b *strings.Builder, dir string) {
	g := r.plan.Graph.Only(func(root graph.Root) bool { return root.Dir == dir })
	in := map[string]bool{}
	for _, n := range g.Nodes {
		in[n.ID] = true
	}
	var lines []string
	for i, n := range r.plan.Graph.Nodes {
		if in[n.ID] && r.of[i].runs() {
			lines = append(lines, fmt.Sprintf("  %s: %s\n", diag.OneLine(n.ID), r.of[i].text(r)))
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(b, "%d of %s have other inputs:\n%s", len(lines), diag.Plural(len(g.Nodes), "step"), strings.Join(lines, ""))
	}
}

func (x Reason) text(r *Reasons) string {
	if x.Input != nil {
		return "takes " + diag.OneLine(x.Input.ID)
	}
	var what []string
	for _, c := range x.Changes {
		if c.Setting {
			what = append(what, c.What)
		} else {
			what = append(what, r.name(c.What))
		}
	}
	return diag.OneLine(strings.Join(what, ", ")) + " changed"
}

// Text returns a short reason why a step runs, or "" if it is unchanged.
func (r *Reasons) Text(id graph.NodeID) string {
	if !r.of[id].runs() {
		return ""
	}
	return r.of[id].text(r)
}

// Since returns the state of each step of the plan: see [planview.Since]. It returns nil if no
// earlier render is known for any root.
func (r *Reasons) Since() *planview.Since {
	s := &planview.Since{Steps: make([]string, len(r.of))}
	changed := make([]bool, len(r.of)) // nodes of the roots to render and their inputs
	count := func(state records.State) {
		switch {
		case !state.Known:
			s.New++
		case len(state.Changes) > 0:
			s.Changed++
		default:
			s.Unchanged++
		}
	}
	for _, dir := range r.reused {
		count(r.states[dir])
	}
	for _, root := range r.plan.Graph.Roots {
		state := r.states[root.Dir]
		count(state)
		changed[root.Node] = changed[root.Node] || !state.Known || len(state.Changes) > 0 || state.Calls
	}
	if s.Changed+s.Unchanged == 0 {
		return nil
	}
	for i := len(r.of) - 1; i >= 0; i-- {
		if changed[i] {
			for in := range r.plan.Graph.Nodes[i].Before() {
				changed[in] = true
			}
		}
		if s.Steps[i] = r.Text(graph.NodeID(i)); !changed[i] {
			s.Steps[i] = "unchanged"
		}
	}
	return s
}

// WriteNode writes the reason a step must run again: the chain of its inputs down to the first
// changed step, and the changes of that step.
func (r *Reasons) WriteNode(w io.Writer, n *graph.Node) error {
	var b strings.Builder
	at := map[*graph.Node]Reason{}
	for i, node := range r.plan.Graph.Nodes {
		at[node] = r.of[i]
	}
	if !at[n].runs() {
		fmt.Fprintf(&b, "%s: none of its inputs changed\n", diag.OneLine(n.ID))
	}
	for at[n].Input != nil {
		fmt.Fprintf(&b, "%s takes\n", diag.OneLine(n.ID))
		n = at[n].Input
	}
	if x := at[n]; len(x.Changes) > 0 {
		fmt.Fprintf(&b, "%s: %s\n", diag.OneLine(n.ID), x.text(r))
		for _, c := range x.Changes {
			r.change(&b, c)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
