package images

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/terminal"
	diffcmd "github.com/krmflow/krmflow/internal/command/diff"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/diff"
)

// differences are the image differences between two sides of a comparison.
type differences struct {
	result *diffcmd.Result
	roots  []rootDifference // roots whose images differ
	same   int
}

// A rootDifference has the differences of a root.
type rootDifference struct {
	root    *diffcmd.Root
	changes []change
}

// A change is an image that was added to a resource, removed from it, or replaced.
type change struct {
	what     diff.What
	id       krm.ID
	old, now *use     // nil if absent
	pos      diag.Pos // place that causes the change, if known
}

// use returns the use on the new side, or on the old side if the image was removed.
func (c *change) use() *use {
	if c.now != nil {
		return c.now
	}
	return c.old
}

// differencesOf returns the image differences of a comparison. It looks only at resources that
// differ.
func differencesOf(result *diffcmd.Result) *differences {
	d := &differences{result: result, same: result.Same}
	for i := range result.Roots {
		root := rootDifference{root: &result.Roots[i]}
		for k := range root.root.Changes.Resources {
			var causes []diag.Pos
			if k < len(root.root.Causes) {
				causes = root.root.Causes[k]
			}
			root.changes = append(root.changes, changesOf(&root.root.Changes.Resources[k], causes)...)
		}
		if len(root.changes) == 0 {
			d.same++
		} else {
			d.roots = append(d.roots, root)
		}
	}
	return d
}

// changesOf returns the changes of the images of a resource. causes are the causes of its edits.
func changesOf(r *diff.Resource, causes []diag.Pos) (changes []change) {
	before, after := find(r.Before), find(r.After)
	for i := range after {
		c := change{what: diff.Added, id: r.ID(), now: &after[i]}
		if j := slices.IndexFunc(before, func(old use) bool { return old.isSame(c.now) }); j >= 0 {
			old := before[j]
			before = slices.Delete(slices.Clone(before), j, j+1)
			if old.image == c.now.image {
				continue
			}
			c.what, c.old = diff.Changed, &old
		}
		c.pos = cause(r, causes, c.now.path, false)
		if r.What == diff.Added {
			c.pos = r.New.Pos
		}
		changes = append(changes, c)
	}
	for i := range before {
		c := change{what: diff.Removed, id: r.ID(), old: &before[i], pos: cause(r, causes, before[i].path, true)}
		changes = append(changes, c)
	}
	return changes
}

// isSame reports whether two uses belong to the same container of the same list on two sides.
// Unnamed containers are identified by their position.
func (u *use) isSame(other *use) bool {
	if u.list != other.list || u.container != other.container {
		return false
	}
	end := slices.Index(u.path, any(u.list))
	if u.container == "" || end < 0 {
		return slices.Equal(u.path, other.path)
	}
	return len(other.path) == len(u.path) && slices.Equal(u.path[:end], other.path[:end])
}

// cause returns the place that caused an edit of the value at path or of a value that contains it.
func cause(r *diff.Resource, causes []diag.Pos, path []any, old bool) diag.Pos {
	for k := range r.Edits {
		at := r.Edits[k].Path.In(old)
		if k < len(causes) && r.Edits[k].Op != diff.Move && len(at) <= len(path) && slices.Equal(at, path[:len(at)]) {
			return causes[k]
		}
	}
	return diag.Pos{}
}

// counts returns the numbers of changes, for example "1 added, 2 changed".
func counts(changes []change) string {
	var parts []string
	for _, what := range []diff.What{diff.Added, diff.Removed, diff.Changed} {
		n := 0
		for i := range changes {
			if changes[i].what == what {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	return strings.Join(parts, ", ")
}

// writeText writes the text form. Roots with the same changes are listed together.
func (d *differences) writeText(w io.Writer, color terminal.Palette) error {
	type group struct {
		names  []string
		counts string
	}
	groups, order := map[string]*group{}, []string{}
	var all []change
	for i := range d.roots {
		root := &d.roots[i]
		var b strings.Builder
		for k := range root.changes {
			b.WriteString(root.changes[k].text(color))
		}
		body := b.String()
		if groups[body] == nil {
			groups[body] = &group{counts: counts(root.changes)}
			order = append(order, body)
		}
		groups[body].names = append(groups[body].names, safe(diag.Redact(root.root.Name)))
		all = append(all, root.changes...)
	}
	var b strings.Builder
	for _, body := range order {
		g := groups[body]
		fmt.Fprintf(&b, "%s: %s\n%s", color.Paint(terminal.Bold, diag.Some(g.names)), g.counts, body)
	}
	b.WriteString(d.total(all) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// text returns the change as one line.
func (c *change) text(color terminal.Palette) string {
	u := c.use()
	resource := u.field()
	if u.container != "" {
		resource = u.container
	}
	space := ""
	if c.id.Namespace != "" && !c.id.Cluster && c.id.Namespace != krm.ClusterScope {
		space = c.id.Namespace + "/"
	}
	line := safe(fmt.Sprintf("%s %s%s %s: ", c.id.Kind, space, c.id.Name, resource))
	switch image := func(u *use) string { return safe(u.image) }; c.what {
	case diff.Added:
		line = color.Paint(terminal.Green, "+ "+line+image(c.now))
	case diff.Removed:
		line = color.Paint(terminal.Red, "- "+line+image(c.old))
	default:
		line = "~ " + line + color.Paint(terminal.Red, image(c.old)) + " -> " + color.Paint(terminal.Green, image(c.now))
	}
	if c.pos.File != "" {
		line += color.Paint(terminal.Dim, "  # "+safe(c.pos.String()))
	}
	return "  " + line + "\n"
}

// total returns the last line of the text form.
func (d *differences) total(all []change) string {
	n := len(d.roots) + d.same + len(d.result.Failed)
	line := "no image differs in " + diag.Count(d.same, "root")
	switch {
	case len(d.roots) == 1 && n == 1:
		line = "images differ: " + counts(all)
	case len(d.roots) > 0:
		line = fmt.Sprintf("images differ in %d of %s: %s", len(d.roots), diag.Count(n, "root"), counts(all))
	}
	if len(d.result.Failed) > 0 {
		line += fmt.Sprintf("; %d could not be compared", len(d.result.Failed))
	}
	return line
}

// safe returns text as one line without terminal control characters.
func safe(text string) string { return diag.Sanitise(diag.OneLine(text)) }

// The JSON form of the differences between images, documented in docs/review.md.
type (
	differencesDoc struct {
		APIVersion string    `json:"apiVersion"`
		Kind       string    `json:"kind"`
		Against    string    `json:"against"`
		Commit     string    `json:"commit,omitempty"`
		Roots      []rootDoc `json:"roots"`
		Same       int       `json:"same"`
		Failed     []string  `json:"failed,omitempty"`
	}
	rootDoc struct {
		Dir    string      `json:"dir"`
		Only   string      `json:"only,omitempty"` // old or new
		Images []changeDoc `json:"images"`
	}
	changeDoc struct {
		Change string `json:"change"` // added, removed or changed
		resourceDoc
		Container string `json:"container,omitempty"`
		Field     string `json:"field"` // on the new side, or the old one if the image was removed
		Old       *name  `json:"old,omitempty"`
		New       *name  `json:"new,omitempty"`
		File      string `json:"file,omitempty"`
		Line      int    `json:"line,omitempty"`
	}
)

// writeJSON writes the JSON form.
func (d *differences) writeJSON(w io.Writer) error {
	doc := differencesDoc{APIVersion: Version, Kind: "ImageDiff", Against: diag.JSONName(d.result.Against), Commit: d.result.Commit,
		Roots: []rootDoc{}, Same: d.same}
	for _, name := range d.result.Failed {
		doc.Failed = append(doc.Failed, diag.JSONName(name))
	}
	for _, root := range d.roots {
		one := rootDoc{Dir: diag.JSONName(diag.Redact(root.root.Name))}
		switch {
		case root.root.OnlyOld:
			one.Only = "old"
		case root.root.OnlyNew:
			one.Only = "new"
		}
		for i := range root.changes {
			one.Images = append(one.Images, root.changes[i].doc())
		}
		doc.Roots = append(doc.Roots, one)
	}
	return encode(w, doc)
}

func (c *change) doc() changeDoc {
	u := c.use()
	doc := changeDoc{Change: string(c.what), resourceDoc: resourceDoc{APIVersion: c.id.APIVersion(), Kind: c.id.Kind, Name: c.id.Name},
		Container: u.container, Field: u.field(), Line: c.pos.Line}
	if !c.id.Cluster && c.id.Namespace != krm.ClusterScope {
		doc.Namespace = c.id.Namespace
	}
	if c.pos.File != "" {
		doc.File = diag.JSONName(c.pos.File)
	}
	if c.old != nil {
		old := nameOf(c.old.image)
		doc.Old = &old
	}
	if c.now != nil {
		now := nameOf(c.now.image)
		doc.New = &now
	}
	return doc
}
