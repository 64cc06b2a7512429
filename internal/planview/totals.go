package planview

import (
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/terminal"
)

// totals writes the remotes, the catalogs and the totals of all roots.
func (t *Text) totals() {
	for _, f := range t.p.Fetched() {
		fmt.Fprintf(&t.b, "%s %s  %s\n", f.Verb(), clean(f.Reference), f.Version)
	}
	for _, c := range t.p.Catalogs {
		by := c.By
		if c.Signed != "" {
			by += ", signed by " + c.Signed
		}
		fmt.Fprintf(&t.b, "catalog %s  %s  (%s)\n", clean(c.Ref.Show()), c.Catalog.Digest, clean(by))
	}
	resources, unknown := 0, 0
	var changes Changes
	distinct := map[string]bool{} // layers by file
	for _, r := range t.roots {
		for _, l := range r.layers {
			distinct[l.File] = true
		}
		if r.out == nil {
			unknown++
			continue
		}
		resources += r.out.resources()
		if c := r.out.Changes; c != nil {
			changes.add(c)
		}
	}
	list := []string{diag.Count(len(t.roots), "root"), diag.Count(len(distinct), "layer"), diag.Count(len(t.files), "file")}
	if unknown < len(t.roots) {
		list = append(list, diag.Count(resources, "resource"))
	}
	if n := len(t.p.Warnings) + t.p.MoreWarnings; n > 0 {
		list = append(list, t.paint(terminal.Yellow, diag.Count(n, "warning")))
	}
	fmt.Fprintln(&t.b, strings.Join(list, ", "))
	if t.made != nil && t.made.Since != nil {
		fmt.Fprintf(&t.b, "since the last render: %s\n", t.made.Since)
	}
	if t.made != nil && t.made.Against != "" {
		t.against(changes, unknown)
	}
}

// against writes the summary of the comparison with a folder.
func (t *Text) against(changes Changes, unknown int) {
	fmt.Fprintf(&t.b, "%s: %s", clean(t.made.Against), changes.String())
	if n := len(t.made.Elsewhere.Removed); n > 0 {
		fmt.Fprintf(&t.b, "; %s of other roots removed, with --prune", diag.Plural(n, "file"))
	}
	if unknown > 0 {
		fmt.Fprintf(&t.b, "; %s not compared", diag.Plural(unknown, "root"))
	}
	if t.made.Missing {
		t.b.WriteString("; the folder does not exist yet")
	}
	t.b.WriteByte('\n')
}

// result writes the last line.
func (t *Text) result() {
	var failed, denied, waiting int
	for _, r := range t.roots {
		switch {
		case len(r.failed) > 0:
			failed++
		case r.denied(t.p) > 0:
			denied++
		case t.made != nil && r.out == nil:
			waiting++
		}
	}
	verb := "can be rendered"
	if t.made == nil {
		verb = "can be planned; nothing was evaluated"
	}
	fmt.Fprintf(&t.b, "%d of %d roots %s", len(t.roots)-failed-denied, len(t.roots), verb)
	if t.style.Kinds != "" {
		t.b.WriteString(" (" + t.style.Kinds + ")")
	}
	if failed > 0 {
		t.b.WriteString("; " + t.paint(terminal.Red, fmt.Sprintf("%d with mistakes", failed)))
	}
	if denied > 0 {
		t.b.WriteString("; " + t.paint(terminal.Red, fmt.Sprintf("%d with functions that may not run", denied)))
	}
	if waiting > 0 {
		fmt.Fprintf(&t.b, "; the output of %d is known when functions have run", waiting)
	}
	if n := t.style.LeftOut; n > 0 {
		fmt.Fprintf(&t.b, "; %d left out", n)
	}
	t.b.WriteByte('\n')
}
