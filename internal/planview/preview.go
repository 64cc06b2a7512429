package planview

import (
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/trust"
)

// A Preview is what is known of a plan when all of its steps have run that need no function. Package internal/review/preview makes it.
type Preview struct {
	// Roots has the roots whose output is known, by their directories.
	Roots map[string]*Output
	// Failed has the steps that failed. What needs one of them did not run.
	Failed map[*graph.Node]error
	// Answers has the calls for which it was looked up whether an answer of an earlier run is in the cache, by the ids of their nodes.
	Answers map[string]bool
	// Since is what has changed since the roots were rendered last, nil if that is not known of any.
	Since *Since
	// Against is the folder that the output was compared with, "" if it was compared with none. Elsewhere are the files in it that belong
	// to no root of the plan. Missing tells that there is no such folder.
	Against   string
	Missing   bool
	Elsewhere Changes
}

// Since is what has changed since roots were rendered last.
type Since struct {
	// Unchanged, Changed and New are how many roots are as they were, are not, and were not rendered before as far as is known.
	Unchanged, Changed, New int
	// Steps says of each step of the plan what of it has changed, or "unchanged" if it need not run because all of its roots are as they were. It
	// is "" for what runs although nothing of it has changed.
	Steps []string
}

// String says how many roots have changed.
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

// step returns what has changed of step i: see [Since.Steps].
func (p *Preview) step(i int) string {
	if p == nil || p.Since == nil {
		return ""
	}
	return p.Since.Steps[i]
}

// answer reports whether the answer of a call is in the cache, and whether that is known.
func (p *Preview) answer(n *graph.Node) (there, known bool) {
	if p == nil {
		return false, false
	}
	there, known = p.Answers[n.ID]
	return there, known
}

// cache says of a call whether its answer is taken from an earlier run, as far as that is known.
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

// An Output is what a root yields.
type Output struct {
	// Kinds counts the resources of each kind.
	Kinds map[string]int
	// Objects are the resources as people call them, Deployment shop/web, in their order and without content hashes; nil if nobody asked for them.
	Objects []string
	// Changes are those in the folder that it was compared with, nil without one.
	Changes *Changes
}

// resources returns how many resources there are.
func (o *Output) resources() (n int) {
	for _, k := range o.Kinds {
		n += k
	}
	return n
}

// Changes are the files that a run would change in a folder, with slash-separated paths relative to it.
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

// String says how many files change.
func (c *Changes) String() string {
	if c.none() {
		return "unchanged"
	}
	return fmt.Sprintf("%d added, %d changed, %d removed", len(c.Added), len(c.Changed), len(c.Removed))
}
