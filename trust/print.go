package trust

import (
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/krm/function"
)

// Line returns the part of the plan's line that describes the decision: the runtime, the program
// or image with its digest, the catalog and the reason for trusting it, the capabilities with
// their origin, the isolation, and whether answers may be cached.
func (d *Decision) Line() string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if d.Runtime != "" {
		add("%s %s", d.Runtime, d.Source)
	}
	if !d.Digest.IsZero() {
		add("%s", d.Digest)
	}
	switch {
	case d.Function.Unverified:
		add("UNVERIFIED")
	case d.Allowed && d.Entry != nil && (d.Runtime == function.RuntimeContainer || d.Function.URI != "" || d.Function.Archive != ""):
		add("pinned") // the executor verifies it before any function runs
	case d.Allowed && d.Entry != nil:
		add("verified")
	}
	switch {
	case d.Entry != nil && d.By != "":
		add("%s (%s)", d.Entry, d.By)
	case d.Entry != nil:
		add("%s", d.Entry)
	case d.By != "":
		add("allowed by %s", d.By)
	case d.Runtime != "" && d.Runtime != function.RuntimeHelm:
		add("uncatalogued")
	}
	add("caps %s", d.caps())
	if d.Executor != "" {
		add("executor %s", d.Executor)
	}
	if d.Isolation != "" {
		add("isolation %s", d.Isolation)
	}
	if d.NotReused == "" {
		add("cache yes")
	} else {
		add("cache no (%s)", d.NotReused)
	}
	if !d.Allowed {
		add("DENIED (%s)", d.Worst)
	}
	return strings.Join(parts, "  ")
}

func (d *Decision) caps() string {
	if len(d.Grants) == 0 {
		return "none"
	}
	list := make([]string, len(d.Grants))
	for i, g := range d.Grants {
		list[i] = fmt.Sprintf("%s (granted by %s)", g.Capability, g.By)
	}
	return strings.Join(list, ", ")
}

// Notes returns the lines below the plan's line: the arguments, the reason for the choice of
// runtime, and the shadowed entries.
func (d *Decision) Notes() []string {
	var notes []string
	if len(d.Args) > 0 {
		notes = append(notes, fmt.Sprintf("arguments: %q", d.Args))
	}
	if d.Reason != "" {
		notes = append(notes, d.Reason)
	}
	for _, e := range d.Shadowed {
		notes = append(notes, fmt.Sprintf("shadows %s", e))
	}
	return notes
}

// Allow returns the flags that together lift all denials. It returns nil if no flags can do so.
func (d *Decision) Allow() []string {
	var flags []string
	for _, denial := range d.Denials {
		if len(denial.Allow) == 0 {
			return nil
		}
		flags = append(flags, denial.Allow...)
	}
	slices.Sort(flags)
	return slices.Compact(flags)
}
