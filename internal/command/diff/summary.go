package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/diff"
)

// A summary lists equal changes once, with the resources and roots that have them. It has a line
// for every change, so a reader learns of all changes even if there is no space to show them.
//
// What is equal depends on the space. The finest level whose lines fit is chosen, and then as many
// lines as possible get a block with the details, those with the most resources first.
type summary struct {
	changes []*sameChange // in the order of their first resource
	at      map[string]*sameChange
}

// The levels of a summary, from the finest to the coarsest.
const (
	sameValues = iota // equal fields and values; added and removed objects are equal
	sameFields        // equal fields; added and removed objects have the same kind
	sameWhat          // all changed, all added and all removed resources
	levels
)

// A sameChange is a change that resources have in common.
type sameChange struct {
	level     int
	resources []changedResource
	roots     []string // without duplicates
	kinds     tally
	fields    []string             // the changed fields of each resource, at level sameFields
	values    [fieldsInTitle]tally // the values of the first of these fields
}

type changedResource struct {
	root *Root
	*diff.Resource
	causes []diag.Pos
}

// A tally counts texts.
type tally struct {
	texts  []string // in the order of their first occurrence
	counts map[string]int
}

func (t *tally) add(text string) {
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	if t.counts[text]++; t.counts[text] == 1 {
		t.texts = append(t.texts, text)
	}
}

// some returns the n most frequent texts with their counts.
func (t *tally) some(n int) string { return t.list(n, func(text string) string { return text }) }

// list is [tally.some] with each text in the form that show returns.
func (t *tally) list(n int, show func(string) string) string {
	texts := slices.Clone(t.texts)
	slices.SortStableFunc(texts, func(a, b string) int { return t.counts[b] - t.counts[a] })
	var parts []string
	for _, text := range texts[:min(n, len(texts))] {
		part := show(text)
		if t.counts[text] > 1 {
			part += fmt.Sprintf(" ×%d", t.counts[text])
		}
		parts = append(parts, part)
	}
	if more := len(texts) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}

// summarise returns the summary of all resources at a level.
func (r *Result) summarise(level int) *summary {
	s := &summary{at: map[string]*sameChange{}}
	for i := range r.Roots {
		root := &r.Roots[i]
		for _, k := range root.shown() {
			s.add(level, changedResource{root, &root.Changes.Resources[k], root.causesOf(k)})
		}
	}
	slices.SortStableFunc(s.changes, func(a, b *sameChange) int { return cmp.Compare(len(b.resources), len(a.resources)) })
	return s
}

func (s *summary) add(level int, r changedResource) {
	key := string(r.What) + "\n" + r.signature(level)
	c := s.at[key]
	if c == nil {
		c = &sameChange{level: level}
		s.at[key] = c
		s.changes = append(s.changes, c)
	}
	c.resources = append(c.resources, r)
	c.kinds.add(safe(r.ID().Kind))
	if n := len(c.roots); n == 0 || c.roots[n-1] != r.root.Name {
		c.roots = append(c.roots, r.root.Name)
	}
	if level != sameFields {
		return
	}
	edits, _ := own(r.Resource, nil)
	for _, e := range edits { // several of them may be of the same field, in different items of a list
		k := slices.Index(c.fields, changedField(e))
		if k < 0 {
			k = len(c.fields)
			c.fields = append(c.fields, changedField(e))
		}
		if k < fieldsInTitle {
			old, now := values(e.Edit)
			c.values[k].add(arrow(old, now))
		}
	}
}

// changedField returns an operation and the field that it changes.
func changedField(e shownEdit) string { return string(e.Op) + " " + fieldOf(e.Path) }

// signature returns a text that equal changes have in common.
func (r *changedResource) signature(level int) string {
	if level == sameWhat {
		return ""
	}
	if r.What == diff.Added || r.What == diff.Removed {
		if level == sameFields {
			return r.ID().Kind
		}
		v := r.After
		if r.What == diff.Removed {
			v = r.Before
		}
		return document(v.With("metadata", v.Get("metadata").Without("namespace")))
	}
	edits, follow := own(r.Resource, nil)
	if level == sameValues {
		t := &marks{}
		for _, e := range edits {
			t.edit("", e)
		}
		return t.String() + strings.Join(follow, "\n")
	}
	var fields []string
	for _, e := range edits {
		fields = append(fields, changedField(e))
	}
	if len(follow) > 0 {
		fields = append(fields, "content hash")
	}
	slices.Sort(fields)
	return strings.Join(slices.Compact(fields), "\n")
}

// fieldOf returns a path without the items of lists: spec.containers[].image.
func fieldOf(path diff.Path) string {
	var b strings.Builder
	for _, s := range path {
		switch {
		case s.Item:
			b.WriteString("[]")
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(diff.Path{s}.String())
		}
	}
	return safe(b.String())
}

// arrow returns both sides of an edit in one line.
func arrow(old, now string) string {
	const most = 60
	old, now = cut(old, most), cut(now, most)
	switch {
	case old == "":
		return now
	case now == "":
		return old + " removed"
	}
	return old + " -> " + now
}

// title returns the line of a change.
func (c *sameChange) title() string {
	first := c.resources[0]
	mark, line := headline(first.Resource)[:1], headline(first.Resource)
	switch {
	case len(c.resources) == 1:
	case c.sameNames():
		line += fmt.Sprintf(" ×%d", len(c.resources))
	case len(c.kinds.texts) == 1:
		line = mark + " " + c.kinds.some(1)
	default:
		line = fmt.Sprintf("%s %s (%s)", mark, diag.Count(len(c.resources), "resource"), c.kinds.some(3))
	}
	if line += " in " + diag.Count(len(c.roots), "root"); len(c.roots) == 1 {
		line = strings.TrimSuffix(line, "1 root") + rootName(c.roots[0])
	}
	if text := c.about(); text != "" {
		line += ": " + text
	}
	return line
}

// sameNames reports whether all resources have the name and namespace of the first.
func (c *sameChange) sameNames() bool {
	return !slices.ContainsFunc(c.resources,
		func(r changedResource) bool { return headline(r.Resource) != headline(c.resources[0].Resource) })
}

// fieldsInTitle is the number of fields that the line of a change names.
const fieldsInTitle = 2

// about describes the changed fields of a change in one line.
func (c *sameChange) about() string {
	first := c.resources[0]
	if c.level == sameWhat || first.What == diff.Added || first.What == diff.Removed {
		return ""
	}
	edits, follow := own(first.Resource, nil)
	var parts []string
	all := len(edits)
	if c.level == sameFields {
		all, edits = len(c.fields), nil
		for k, field := range c.fields[:min(fieldsInTitle, all)] {
			_, field, _ = strings.Cut(field, " ")
			parts = append(parts, field+": "+c.values[k].some(2))
		}
	}
	for _, e := range edits[:min(fieldsInTitle, len(edits))] {
		part := safe(e.Path.String())
		if len(e.Lines) == 0 && len(e.Inside) == 0 {
			old, now := values(e.Edit)
			part += ": " + arrow(old, now)
		}
		parts = append(parts, part)
	}
	if more := all - len(parts); more > 0 {
		parts = append(parts, diag.Count(more, "more field"))
	}
	return strings.Join(append(parts, follow...), "; ")
}

// line returns the change without details.
func (c *sameChange) line() string {
	title := cut(c.title(), maxShown)
	return "\n- " + code(title[:1]) + escape(title[1:]) // a plain mark would begin a list
}

// block returns the change with the details of its first resource and the names of all.
func (c *sameChange) block() string {
	first := c.resources[0]
	var b strings.Builder
	fmt.Fprintf(&b, "\n<details><summary>%s</summary>\n", inSummary(cut(c.title(), maxShown)))
	if c.level != sameWhat {
		if c.level == sameFields && len(c.resources) > 1 {
			fmt.Fprintf(&b, "\nFor example %s:\n", code(headline(first.Resource)))
		}
		fmt.Fprintf(&b, "\n%s", fenced(first.Resource, c.causes(), nil))
	}
	for k := range c.values {
		if len(c.values[k].texts) > 1 {
			_, field, _ := strings.Cut(c.fields[k], " ")
			fmt.Fprintf(&b, "\nValues of %s: %s\n", code(field), c.values[k].list(20, code))
		}
	}
	b.WriteString(c.names())
	b.WriteString("\n</details>\n")
	return b.String()
}

// causes returns the causes of the first resource that all resources have in common.
func (c *sameChange) causes() []diag.Pos {
	causes := slices.Clone(c.resources[0].causes)
	for _, r := range c.resources {
		for k := range causes {
			if c.level == sameValues && (k >= len(r.causes) || r.causes[k] != causes[k]) {
				causes[k] = diag.Pos{}
			}
		}
	}
	return causes
}

// names returns the lists of the resources and roots of a change.
func (c *sameChange) names() string {
	if len(c.resources) == 1 {
		return ""
	}
	const most = 20
	var names tally
	for _, r := range c.resources {
		names.add(code(headline(r.Resource)[2:]))
	}
	text := "\nResources: " + names.some(most) + "\n"
	if len(c.roots) > 1 {
		var roots []string
		for _, name := range c.roots {
			roots = append(roots, code(rootName(name)))
		}
		text += "\nRoots: " + diag.Some(roots) + "\n"
	}
	return text
}

// rootName returns the display name of a root.
func rootName(name string) string { return safe(diag.Redact(cmp.Or(name, "."))) }

// summary writes the summary of all changes.
func (m *markdown) summary(r *Result) {
	m.failed = m.notCompared(r)
	var all []*Root
	for i := range r.Roots {
		all = append(all, &r.Roots[i])
	}
	moves := movesOf(all)
	for _, text := range []string{movesText(moves), moves.total()} {
		if m.fits(text) {
			m.WriteString(text)
			break
		}
	}
	if text := r.newAndGone(); m.fits(text) {
		m.WriteString(text)
	}
	s := r.summarise(levels - 1)
	for level := range levels - 1 {
		if finer := r.summarise(level); m.fits(finer.lines()) {
			s = finer
			break
		}
	}
	size, blocks, lines := len(s.lines()), "", ""
	for _, c := range s.changes {
		line, block := c.line(), c.block()
		if more := len(block) - len(line); m.Len()+size+more+len(m.failed)+reserve <= m.max {
			blocks, size = blocks+block, size+more
		} else {
			lines += line
		}
	}
	m.WriteString(blocks)
	if lines != "" {
		m.WriteString(lines + "\n")
	}
	m.WriteString(m.failed)
	fmt.Fprintf(m, "\n_Equal changes are summarised, to stay below %d bytes. `krmflow diff` shows every resource._\n", m.max)
}

// lines returns all lines without details.
func (s *summary) lines() string {
	var b strings.Builder
	for _, c := range s.changes {
		b.WriteString(c.line())
	}
	return b.String()
}

// newAndGone returns a list of the roots that exist on one side only.
func (r *Result) newAndGone() string {
	var is, was []string
	for i := range r.Roots {
		name := code(rootName(r.Roots[i].Name))
		switch {
		case r.Roots[i].OnlyNew:
			is = append(is, name)
		case r.Roots[i].OnlyOld:
			was = append(was, name)
		}
	}
	text := ""
	for _, list := range []struct {
		names []string
		what  string
	}{{is, "new"}, {was, "gone"}} {
		if len(list.names) > 0 {
			text += fmt.Sprintf("\n%s %s: %s\n", diag.Count(len(list.names), "root"), list.what, diag.Some(list.names))
		}
	}
	return text
}
