package diff

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/diff"
	"github.com/krmflow/krmflow/krm/yaml"
)

// WriteUnified writes a unified diff of the YAML of each resource, as diff -u and git do.
// Hidden values are replaced by a fixed text, so the diff cannot be applied to resources with
// Secret values. Moves and findings are comments. Moved resources are in their new place on both
// sides.
func (r *Result) WriteUnified(w io.Writer) error {
	for i := range r.Roots {
		root := &r.Roots[i]
		m := movesOf([]*Root{root})
		for _, x := range m.list {
			if _, err := fmt.Fprintf(w, "# %s: %s\n", safe(filepath.ToSlash(cmp.Or(root.Name, "."))), x); err != nil {
				return err
			}
		}
		for _, k := range root.shown() {
			for _, f := range root.findingsOf(k) {
				if _, err := fmt.Fprintf(w, "# %s: %s\n", name(root.Changes.Resources[k].ID()), f.Title()); err != nil {
					return err
				}
			}
			if _, err := io.WriteString(w, unified(root, &root.Changes.Resources[k])); err != nil {
				return err
			}
		}
	}
	return nil
}

// unified returns the diff of one resource.
func unified(root *Root, one *diff.Resource) string {
	var b strings.Builder
	old := one.Old
	if one.What == diff.Relocated {
		old = one.New
	}
	file := func(side string, s diff.Side, there bool) string {
		if !there {
			return "/dev/null"
		}
		return side + "/" + safe(filepath.ToSlash(cmp.Or(root.Name, "."))) + ": " + safe(s.ID.String())
	}
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", file("a", old, one.What != diff.Added), file("b", one.New, one.What != diff.Removed))
	before := one.Before
	if one.What != diff.Added && one.What != diff.Removed {
		before = one.BeforeInPlace()
	}
	hunks(&b, diff.Lines(document(before), document(one.After)))
	return b.String()
}

// document returns an object as YAML, or "" if it does not exist.
func document(v yaml.Value) string {
	if !v.Exists() {
		return ""
	}
	return string(yaml.AppendYAML(nil, v))
}

// hunks writes lines with a header for each hunk.
func hunks(b *strings.Builder, lines []diff.Line) {
	for from := 0; from < len(lines); {
		to := from + 1
		for to < len(lines) && lines[to].Old == 0 && lines[to].New == 0 {
			to++
		}
		hunk := lines[from:to]
		var old, now int
		for _, line := range hunk {
			if line.Op == '-' || line.Op == ' ' {
				old++
			}
			if line.Op == '+' || line.Op == ' ' {
				now++
			}
		}
		fmt.Fprintf(b, "@@ -%s +%s @@\n", stretch(hunk[0].Old, old), stretch(hunk[0].New, now))
		for _, line := range hunk {
			fmt.Fprintf(b, "%c%s\n", line.Op, diag.Sanitise(line.Text))
		}
		from = to
	}
}

// stretch returns the line range of a hunk header. An empty range is located after the
// preceding line.
func stretch(first, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", first-1)
	case 1:
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d,%d", first, n)
}
