package explain

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/review/history"
)

// Warnings are those that the steps of a run have given, by the ids of the steps.
type Warnings map[string][]*diag.Error

// A Near is a step that has done nothing to what is explained, although it looks as if it should: it selects something else, or nothing.
type Near struct {
	// Node is the step, and Pos the line that would have set the field, or where the step stands.
	Node *graph.Node
	Pos  diag.Pos
	// Says is why it has not: what its warnings say, or what it selects.
	Says []string
}

// near returns the steps that have done nothing to what a report is about. Where it is there, only those count that have given a warning, or are for
// images of nearly the name that is there.
func (e explainer) near(h *history.History, s Subject, r *Report) (list []Near) {
	did := map[string]bool{}
	for _, step := range r.Steps {
		did[step.Node.ID] = true
	}
	absent, resource := r.Absent || r.Removed, r.Absent && r.ID.Version == "" // what the user has named has no version
	for n := range h.Nodes() {
		if did[n.ID] {
			continue
		}
		warnings := e.warnings[n.ID]
		x := Near{Node: n, Pos: n.Origin.Pos()}
		for _, w := range warnings {
			x.Says = append(append(x.Says, diag.OneLine(w.Msg)), w.Hints...)
		}
		switch {
		case (len(s.field) == 0 || resource) && len(warnings) > 0 && s.nearly(e.files, n):
			list = append(list, x)
			continue
		case len(s.field) == 0 || resource:
			continue
		}
		set, ok := e.files.Sets(n, s.field, r.Value)
		if !ok || !absent && len(warnings) == 0 && !set.Missed {
			continue
		}
		x.Pos = set.Pos
		if len(x.Says) == 0 && set.Where != "" {
			x.Says = []string{set.Where}
		}
		list = append(list, x)
	}
	return list
}

// nearly reports whether a step selects what the user has named, or something of nearly that name.
func (s Subject) nearly(files history.Files, n *graph.Node) bool {
	kind, _, _ := strings.Cut(s.kind, ".")
	for _, sel := range files.Selected(n) {
		if alike(sel.Kind, kind) && sel.Name != "" && alike(sel.Name, s.name) {
			return true
		}
	}
	return false
}

// alike reports whether a condition of a selector matches a text, or is nearly it. Without a condition everything is.
func alike(pattern, text string) bool {
	if pattern == "" || strings.EqualFold(pattern, text) || diag.Nearest(text, []string{pattern}) != "" {
		return true
	}
	re, err := regexp.Compile("^(?:" + pattern + ")$")
	return err == nil && re.MatchString(text)
}

// writeNear writes the steps that have done nothing.
func (r *Report) writeNear(b *strings.Builder) {
	for i, x := range r.Near {
		if i == 0 {
			if b.Len() > 0 {
				b.WriteString("\n")
			}
			if r.Field != "" && r.ID.Version != "" {
				fmt.Fprintf(b, "Steps that set %s, but not here:\n", diag.OneLine(r.Field))
			} else {
				b.WriteString("Steps that select this name, or nearly this, and find nothing:\n")
			}
		}
		if i == maxShown {
			fmt.Fprintf(b, "and %s more: -o json has all\n", diag.Count(len(r.Near)-i, "step"))
			break
		}
		b.WriteString("\n- " + Step{Node: x.Node, Pos: x.Node.Origin.Pos(), Config: x.Node.Origin.Field()}.head())
		if x.Pos != x.Node.Origin.Pos() {
			b.WriteString("   (" + x.Pos.String() + ")")
		}
		for _, text := range x.Says {
			b.WriteString("\n     " + diag.OneLine(text))
		}
		b.WriteString("\n")
	}
}
