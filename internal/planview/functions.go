package planview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/cli/terminal"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/trust"
)

// A use is a function or chart, with the number of its calls and of the roots that call it.
type use struct {
	kind, what   string
	chart        bool
	denied       string
	calls, roots int
}

// uses returns the functions and charts of the roots, sorted by kind. Denied functions come
// last, so that they are next to the summary.
func uses(p *planner.Plan, roots []*root) []*use {
	all := map[string]*use{}
	seen := map[*graph.Node]bool{}
	for _, r := range roots {
		mine := map[*use]bool{}
		for _, n := range r.calls {
			u := useOf(n.Op.(graph.Call), p.Decisions[n.ID])
			key := u.kind + "\n" + u.what + "\n" + u.denied
			if all[key] == nil {
				all[key] = u
			}
			u = all[key]
			if !seen[n] {
				seen[n] = true
				u.calls++
			}
			if !mine[u] {
				mine[u] = true
				u.roots++
			}
		}
	}
	var list []*use
	for _, u := range all {
		list = append(list, u)
	}
	slices.SortFunc(list, func(a, b *use) int {
		return cmp.Or(strings.Compare(a.denied, b.denied), strings.Compare(a.kind, b.kind), strings.Compare(a.what, b.what))
	})
	return list
}

func useOf(call graph.Call, dec *trust.Decision) *use {
	u := &use{kind: call.Config.Get("kind").Text()}
	if c := call.Chart; c != nil {
		u.kind, u.chart = strings.TrimSpace(c.Name+" "+c.Version), true
		u.what = c.Source
	} else {
		u.what = trusted(dec)
	}
	u.kind, u.what = clean(u.kind), clean(u.what)
	if !dec.Allowed {
		u.denied = fmt.Sprintf("denied: %s", dec.Worst)
	}
	return u
}

// trusted returns a short description of the function of a decision and of the reason it is
// trusted. [trust.Decision.Line] is the complete form.
func trusted(dec *trust.Decision) string {
	var parts []string
	if dec.Runtime != "" {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s", dec.Runtime, dec.Source)))
	}
	if !dec.Digest.IsZero() {
		parts = append(parts, dec.Digest.String()[:len("sha256:")+12])
	}
	switch {
	case dec.Entry != nil && dec.By != "":
		parts = append(parts, fmt.Sprintf("%s (%s)", dec.Entry, dec.By))
	case dec.Entry != nil:
		parts = append(parts, dec.Entry.String())
	default:
		parts = append(parts, "in no catalog")
	}
	if dec.Function.Unverified {
		parts = append(parts, "UNVERIFIED")
	}
	for _, g := range dec.Grants {
		parts = append(parts, "may use "+g.Capability)
	}
	if dec.Allowed && dec.Isolation != "" {
		parts = append(parts, isolated(dec.Isolation))
	}
	return strings.Join(parts, ", ")
}

// isolated returns a short description of the isolation of a function.
func isolated(by string) string {
	switch {
	case by == "container":
		return "in a container"
	case strings.HasPrefix(by, "none"):
		return "NOT ISOLATED"
	}
	return "in a sandbox"
}

// line returns the use as one line of text.
func (u *use) line(t *Text) string {
	state := t.paint(terminal.Green, "allowed")
	if u.denied != "" {
		state = t.paint(terminal.Red, u.denied)
	}
	line := times(u.kind, u.calls) + "  " + state
	if u.what != "" {
		line += "  " + u.what
	}
	return line
}

// functions writes the functions and charts of all roots. If there are too many rows, it cuts
// the first ones and keeps the denied ones at the end.
func (t *Text) functions() {
	list := uses(t.p, t.roots)
	if more := len(list) - maxSpecialRows; more > 0 {
		fmt.Fprintf(&t.b, "… %d more functions and charts\n", more)
		list = list[more:]
	}
	for _, u := range list {
		what := "function"
		if u.chart {
			what = "chart"
		}
		fmt.Fprintf(&t.b, "%s %s  in %s\n", what, u.line(t), diag.Plural(u.roots, "root"))
	}
}
