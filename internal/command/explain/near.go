package explain

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/review/history"
)

// Warnings are the warnings of the steps of a run, by step id.
type Warnings map[string][]*diag.Error

// A Near is a step that did not change the subject although it seems intended to: its selector
// matches something else, or nothing.
type Near struct {
	// Node is the step. Pos is the line that would have set the field, or the position of the
	// step.
	Node *graph.Node
	Pos  diag.Pos
	// Says explains why the step had no effect: its warnings, or its selector.
	Says []string
}

// near returns the steps that seem intended for the subject of a report but did not change it.
// For an existing subject these are only steps that gave a warning, or image transformers for a
// similar name.
func (e explainer) near(h *history.History, s Subject, r *Report) (list []Near) {
	did := map[string]bool{}
	for _, step := range r.Steps {
		did[step.Node.ID] = true
	}
	absent, resource := r.Absent || r.Removed, r.Absent && r.ID.Version == "" // an identity from the request has no version
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

// nearly reports whether a step selects the subject or a similar name.
func (s Subject) nearly(files history.Files, n *graph.Node) bool {
	kind, _, _ := strings.Cut(s.kind, ".")
	for _, sel := range files.Selected(n) {
		if alike(sel.Kind, kind) && sel.Name != "" && alike(sel.Name, s.name) {
			return true
		}
	}
	return false
}

// alike reports whether a condition of a selector matches text, exactly or approximately. An
// empty condition matches everything.
func alike(pattern, text string) bool {
	if pattern == "" || strings.EqualFold(pattern, text) || diag.Nearest(text, []string{pattern}) != "" {
		return true
	}
	re, err := regexp.Compile("^(?:" + pattern + ")$")
	return err == nil && re.MatchString(text)
}

// writeNear writes the steps that had no effect.
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
