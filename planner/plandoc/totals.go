package plandoc

import (
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/planner"
)

// totals writes what all roots come to.
func (t *text) totals() {
	for _, f := range t.p.Fetched() {
		fmt.Fprintf(&t.b, "fetched  %s  %s\n", diag.OneLine(f.Reference), f.Version)
	}
	for _, c := range t.p.Catalogs {
		by := c.By
		if c.Signed != "" {
			by += ", signed by " + c.Signed
		}
		fmt.Fprintf(&t.b, "catalog  %s  %s  (%s)\n", diag.OneLine(c.Ref.Show()), c.Catalog.Digest, diag.OneLine(by))
	}
	resources, unknown := 0, 0
	var changes Changes
	for _, r := range t.roots {
		if r.out == nil {
			unknown++
			continue
		}
		resources += r.out.resources()
		if c := r.out.Changes; c != nil {
			changes.add(c)
		}
	}
	list := []string{diag.Count(len(t.roots), "root"), diag.Count(len(t.p.Layers()), "layer"), diag.Count(len(t.p.Files()), "file")}
	if t.made != nil {
		list = append(list, diag.Count(resources, "resource"))
	}
	if n := len(t.p.Warnings) + t.p.MoreWarnings; n > 0 {
		list = append(list, t.paint(yellow, diag.Count(n, "warning")))
	}
	fmt.Fprintln(&t.b, strings.Join(list, ", "))
	if t.made != nil && t.made.Against != "" {
		t.against(changes, unknown)
	}
}

// against writes what would change in the folder that the output was compared with.
func (t *text) against(changes Changes, unknown int) {
	fmt.Fprintf(&t.b, "%s: %s", diag.OneLine(t.made.Against), changes.String())
	if n := len(t.made.Elsewhere.Removed); n > 0 {
		fmt.Fprintf(&t.b, "; %s of other roots removed", diag.Plural(n, "file"))
	}
	if unknown > 0 {
		fmt.Fprintf(&t.b, "; %s not compared", diag.Plural(unknown, "root"))
	}
	t.b.WriteByte('\n')
}

// Result returns the last line of a plan: how many of its roots can be rendered, and what keeps the others.
func Result(p *planner.Plan, made *Preview) string {
	roots := rootsOf(p, made)
	var failed, denied, waiting int
	for _, r := range roots {
		switch {
		case len(r.failed) > 0:
			failed++
		case r.denied(p) > 0:
			denied++
		case made != nil && r.out == nil:
			waiting++
		}
	}
	verb := "can be rendered"
	if made == nil {
		verb = "can be planned; no step was tried"
	}
	line := fmt.Sprintf("%d of %s %s", len(roots)-failed-denied, diag.Count(len(roots), "root"), verb)
	for _, x := range []struct {
		n    int
		what string
	}{{failed, "with mistakes"}, {denied, "with functions that may not run"}, {waiting, "not known to the end before its functions run"}} {
		if x.n > 0 {
			line += fmt.Sprintf("; %d %s", x.n, x.what)
		}
	}
	return line
}
