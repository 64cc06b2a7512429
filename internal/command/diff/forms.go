package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/command/diff/findings"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/diff"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Counts are numbers of resources by type of change.
type Counts struct{ Added, Removed, Changed, Moved int }

// add adds the changes of a root.
func (n *Counts) add(c *diff.Changes) {
	for i := range c.Resources {
		switch c.Resources[i].What {
		case diff.Added:
			n.Added++
		case diff.Removed:
			n.Removed++
		case diff.Relocated:
			n.Moved++
		default:
			n.Changed++
		}
	}
}

// A kindCount is the number of resources with one type of change.
type kindCount struct {
	n    int
	what string
}

// kinds returns all counts, in the order in which they are shown.
func (n Counts) kinds() []kindCount {
	return []kindCount{{n.Added, "added"}, {n.Removed, "removed"}, {n.Changed, "changed"}, {n.Moved, "moved"}}
}

// String returns the nonzero counts: "1 added, 2 changed".
func (n Counts) String() string {
	var parts []string
	for _, c := range n.kinds() {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return strings.Join(parts, ", ")
}

// group is a group of roots with the same moves and the same further changes. The number of moved
// resources may differ.
type group struct {
	roots []*Root
	moves moves
	body  string // the further changes
}

// name returns the combined name of the roots of a group.
func (g *group) name() string {
	var names []string
	for _, r := range g.roots {
		names = append(names, safe(diag.Redact(cmp.Or(r.Name, "."))))
	}
	const some = 3
	if len(names) > some+1 {
		return strings.Join(names[:some], ", ") + fmt.Sprintf(" and %d others alike", len(names)-some)
	}
	return strings.Join(names, ", ")
}

// what returns a note if the roots of a group exist on one side only.
func (g *group) what() string {
	switch r := g.roots[0]; {
	case r.OnlyNew:
		return " (new)"
	case r.OnlyOld:
		return " (gone)"
	}
	return ""
}

// counts returns the counts for one of the roots, which all have the same changes. If resources
// have moved, it returns the sums, as the lines of the moves do.
func (g *group) counts() (n Counts) {
	roots := g.roots
	if len(g.moves.list) == 0 {
		roots = roots[:1]
	}
	for _, r := range roots {
		n.add(r.Changes)
	}
	return n
}

// groups groups roots with the same differences, ordered by the first root of each group.
func (r *Result) groups(style Style) (groups []*group) {
	known := map[string]*group{}
	for i := range r.Roots {
		root := &r.Roots[i]
		t := &text{style: style}
		t.root(root)
		key := fmt.Sprintf("%t%t%s\n%s", root.OnlyNew, root.OnlyOld, root.moveKey(), t.String())
		g := known[key]
		if g == nil {
			g = &group{body: t.String()}
			known[key] = g
			groups = append(groups, g)
		}
		g.roots = append(g.roots, root)
	}
	for _, g := range groups {
		g.moves = movesOf(g.roots)
	}
	return groups
}

// counts returns the counts for all roots.
func (r *Result) counts() (n Counts) {
	for i := range r.Roots {
		n.add(r.Roots[i].Changes)
	}
	return n
}

// levels returns the numbers of findings for all roots.
func (r *Result) levels() findings.Counts {
	n := findings.Counts{}
	for i := range r.Roots {
		for _, list := range r.Roots[i].Findings {
			n.Add(list)
		}
	}
	return n
}

// dangers returns the findings for all roots, equal ones once.
func (r *Result) dangers() *findings.Summary {
	s := &findings.Summary{}
	for i := range r.Roots {
		root := &r.Roots[i]
		for k, list := range root.Findings {
			s.Add(rootName(root.Name), name(root.Changes.Resources[k].ID()), list)
		}
	}
	s.Sort()
	return s
}

// total returns the summary line of the text, markdown and HTML forms.
func (r *Result) total() string {
	n := r.counts()
	all := len(r.Roots) + r.Same + len(r.Failed)
	line := fmt.Sprintf("%d of %s differ", len(r.Roots), diag.Count(all, "root"))
	if all == 1 {
		line = "the root differs"
	}
	switch {
	case !r.Any() && len(r.Failed) == 0:
		line = "no difference in " + diag.Count(all, "root")
	case !r.Any():
		line = "no difference in " + diag.Count(r.Same, "root")
	default:
		line += ": resources " + n.String()
	}
	if n := r.levels().String(); n != "" {
		line += "; findings: " + n
	}
	if len(r.Failed) > 0 {
		line += fmt.Sprintf("; %d could not be compared", len(r.Failed))
	}
	return line
}

// name returns the display name of a resource: Deployment shop/web.
func name(id krm.ID) string {
	n := id.Name
	if id.Namespace != "" {
		n = id.Namespace + "/" + n
	}
	return safe(strings.TrimSpace(id.Kind + " " + n))
}

// where returns the namespace and name of a resource.
func where(id krm.ID) string {
	id.Kind = ""
	return name(id)
}

// headline returns a resource in one line: ~ Deployment shop/web.
func headline(r *diff.Resource) string {
	switch {
	case r.What == diff.Added:
		return "+ " + name(r.New.ID)
	case r.What == diff.Removed:
		return "- " + name(r.Old.ID)
	case r.Renamed:
		return fmt.Sprintf("~ %s -> %s (another content hash)", name(r.Old.ID), safe(r.New.ID.Name))
	case r.What == diff.Relocated:
		return fmt.Sprintf("> %s (was %s)", name(r.New.ID), where(r.Old.ID))
	}
	return "~ " + name(r.New.ID)
}

// own returns the edits to display individually, with their causes, and summaries of the
// references that only follow a changed content hash. Edits that moves explain are omitted.
func own(r *diff.Resource, causes []diag.Pos) (edits []shownEdit, follow []string) {
	count := map[string]int{}
	for k := range r.Edits {
		e := &r.Edits[k]
		if e.Moves {
			continue
		}
		if e.Follows != "" {
			if !(r.Renamed && e.Path.String() == "metadata.name") {
				count[e.Follows]++
			}
			continue
		}
		s := shownEdit{Edit: e}
		if k < len(causes) {
			s.cause = causes[k]
		}
		edits = append(edits, s)
	}
	for base, n := range count {
		verb := "follow"
		if n == 1 {
			verb = "follows"
		}
		follow = append(follow, fmt.Sprintf("%s %s the content hash of %s", diag.Count(n, "reference"), verb, safe(base)))
	}
	slices.Sort(follow)
	return edits, follow
}

type shownEdit struct {
	*diff.Edit
	cause diag.Pos
}

// safe returns text as one line without terminal control characters.
func safe(text string) string { return diag.Sanitise(diag.OneLine(text)) }

// maxShown and maxLine limit the bytes of a value and of a line in the text and markdown forms.
const (
	maxShown = 300
	maxLine  = 2000
)

// show returns a value in one line, truncated.
func show(v yaml.Value) string { return cut(shown(v), maxShown) }

// oneLine returns a line of text, truncated.
func oneLine(text string) string { return cut(safe(text), maxLine) }

// shown returns a value in one line.
func shown(v yaml.Value) string {
	text := v.Text()
	if text == secret.Hidden {
		return text
	}
	if v.Type() == yaml.String && text != "" &&
		strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/:@%+-") == "" &&
		strings.ContainsAny(text, "abcdfghijklmnopqrstuvwxyzABCDFGHIJKLMNOPQRSTUVWXYZ/:@") &&
		!slices.Contains([]string{"true", "false", "null"}, text) {
		return text
	}
	json := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(yaml.AppendJSON(nil, v)))
	return safe(json)
}

// cut truncates text to about most bytes and appends its full size.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + fmt.Sprintf("… (%s)", diag.Size(int64(len(text))))
}

// values returns the two sides of an edit for display, "" for an absent side.
func values(e *diff.Edit) (old, now string) { return valuesAs(e, show) }

// valuesAs returns the two sides of an edit, formatted by show.
func valuesAs(e *diff.Edit, show func(yaml.Value) string) (old, now string) {
	side := func(v yaml.Value) string {
		switch {
		case v.Exists():
			return show(v)
		case e.Hidden:
			return secret.Hidden
		}
		return ""
	}
	old, now = side(e.Old), side(e.New)
	switch {
	case e.Op == diff.Add:
		old = ""
	case e.Op == diff.Remove:
		now = ""
	case e.Hidden && old == now:
		now = diff.HiddenChanged
	}
	return old, now
}
