package planview

import (
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/trust"
)

// A Preview is the result of running all steps of a plan that do not depend on a function.
// Package internal/review/preview creates it.
type Preview struct {
	// Roots holds the roots whose output is known, by directory.
	Roots map[string]*Output
	// Failed holds the steps that failed. Steps that depend on them did not run.
	Failed map[*graph.Node]error
	// Answers reports, by node ID, whether the cache has a result for a call. A call that was
	// not looked up is absent.
	Answers map[string]bool
	// Since describes the changes since the last render, nil if no earlier render is known for
	// any root.
	Since *Since
	// Against is the folder that the output was compared with, "" if there was no comparison.
	// Elsewhere are the changes of files in it that do not belong to a root of the plan. Missing
	// reports that the folder does not exist.
	Against   string
	Missing   bool
	Elsewhere Changes
}

// Since describes the changes since the roots were last rendered.
type Since struct {
	// Unchanged, Changed and New count the roots by their state. New roots have no known earlier
	// render.
	Unchanged, Changed, New int
	// Steps describes the change of each step of the plan. It is "unchanged" for a step that
	// need not run because all of its roots are unchanged, and "" for a step that runs although
	// it did not change itself.
	Steps []string
}

// String returns the numbers of roots on one line.
func (s *Since) String() string {
	var list []string
	for _, c := range []struct {
		n    int
		what string
	}{{s.Unchanged, "unchanged"}, {s.Changed, "changed"}, {s.New, "not rendered before"}} {
		if c.n > 0 {
			list = append(list, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return strings.Join(list, ", ")
}

// step returns the change of step i: see [Since.Steps].
func (p *Preview) step(i int) string {
	if p == nil || p.Since == nil {
		return ""
	}
	return p.Since.Steps[i]
}

// answer reports whether the cache has a result for a call, and whether that is known.
func (p *Preview) answer(n *graph.Node) (there, known bool) {
	if p == nil {
		return false, false
	}
	there, known = p.Answers[n.ID]
	return there, known
}

// cache describes whether a call reuses the result of an earlier run, as far as that is known.
func (p *Preview) cache(n *graph.Node, dec *trust.Decision) string {
	switch there, known := p.answer(n); {
	case dec.NotReused != "":
		return "never: " + dec.NotReused
	case !known:
		return "may be reused"
	case there:
		return "cached"
	}
	return "not cached"
}

// An Output is the rendered output of a root.
type Output struct {
	// Kinds counts the resources of each kind.
	Kinds map[string]int
	// Objects are the resources in output order, in a form such as "Deployment shop/web" and
	// without content hashes. It is nil unless it was requested.
	Objects []string
	// Changes are the changes in the folder that the output was compared with, nil without a
	// comparison.
	Changes *Changes
}

// resources returns the number of resources.
func (o *Output) resources() (n int) {
	for _, k := range o.Kinds {
		n += k
	}
	return n
}

// Changes are the files that a run would change in a folder. The paths are relative to the
// folder and slash-separated.
type Changes struct {
	Added   []string `json:"added,omitempty"`
	Changed []string `json:"changed,omitempty"`
	Removed []string `json:"removed,omitempty"`
}

func (c *Changes) none() bool { return len(c.Added)+len(c.Changed)+len(c.Removed) == 0 }

func (c *Changes) add(more *Changes) {
	c.Added = append(c.Added, more.Added...)
	c.Changed = append(c.Changed, more.Changed...)
	c.Removed = append(c.Removed, more.Removed...)
}

// String returns the number of changed files in a short form.
func (c *Changes) String() string {
	if c.none() {
		return "unchanged"
	}
	return fmt.Sprintf("%d added, %d changed, %d removed", len(c.Added), len(c.Changed), len(c.Removed))
}
