package plandoc

import (
	"fmt"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/trust"
)

// A Preview is what is known of a plan when all of its steps have run that need no function. Package internal/preview makes it.
type Preview struct {
	// Roots has the roots whose output is known, by their directories.
	Roots map[string]*Output
	// Failed has the steps that failed. What needs one of them did not run.
	Failed map[*graph.Node]error
	// Answers has the calls for which it was looked up whether an answer of an earlier run is in the cache, by the ids of their nodes.
	Answers map[string]bool
	// Against is the folder that the output was compared with, "" if it was compared with none. Elsewhere are the files in it that belong
	// to no root of the plan.
	Against   string
	Elsewhere Changes
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
