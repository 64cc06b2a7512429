package inplace

import (
	"bytes"
	"slices"

	"github.com/krmflow/krmflow/krm/yaml"
	yaml3 "go.yaml.in/yaml/v3"
)

// root changes one top-level field. If anew is set, the value of the field is rewritten.
func (c *change) root(d *Document, field string, want yaml.Value, anew bool) error {
	n := d.root
	was, is := d.value.Get(field), want.Get(field)
	switch {
	case n == nil:
		c.lines(len(c.data), c.style.field(field, is), 0)
		return nil
	case d.value.Len() == 0:
		return c.first(n, field, is)
	case n.Kind != yaml3.MappingNode:
		return errOpaque
	case n.Style&yaml3.FlowStyle != 0 && want.Len() == 0:
		c.splice(c.content(n), c.end(n), "{}")
		return nil
	case n.Style&yaml3.FlowStyle != 0:
		return c.mapping(n, d.value, want, true)
	}
	entries, err := c.fields(n)
	if err != nil {
		return err
	}
	at := -1 // of the last field with this name, which takes precedence
	var gone []int
	for i, e := range entries {
		if e.key.Value == field {
			at = i
			gone = append(gone, i)
		}
	}
	switch {
	case !was.Exists():
		return c.addRoot(d, entries, field, is)
	case at < 0:
		return errOpaque
	case !is.Exists():
		return c.cut(n, entries, gone, false)
	case anew || c.value(entries[at], was, is, false) != nil:
		return c.anew(entries[at], is, columnOf(n), false)
	}
	return nil
}

// first writes the first field of a file whose content is {} or null.
func (c *change) first(n *yaml3.Node, field string, v yaml.Value) error {
	start, end := c.content(n), c.end(n)
	if !c.isRest(end) || n.Kind == yaml3.AliasNode {
		return errOpaque
	}
	if start > c.lineStart(start) {
		c.splice(start, end, "")
		c.lines(c.lineEnd(end), c.style.field(field, v), 0)
		return nil
	}
	end = c.lineEnd(end)
	c.splice(start, end, "")
	c.lines(end, c.style.field(field, v), 0)
	return nil
}

// addRoot adds a field after the one that precedes it in kustomize's order, or at the end.
func (c *change) addRoot(d *Document, entries []entry, field string, v yaml.Value) error {
	after := entries[len(entries)-1]
	best := -1
	for _, e := range entries {
		if i := slices.Index(d.order, e.key.Value); i > best && i < slices.Index(d.order, field) {
			best, after = i, e
		}
	}
	place := slices.Index(d.order, field)
	lines, isHead := c.style.field(field, v), place < 2 && (place >= 0 || !d.object)
	if best < 0 && isHead { // apiVersion and kind come first
		if c.isAiry(entries) {
			lines = append(lines, "")
		}
		c.lines(c.before(entries[0]), lines, columnOf(d.root))
		return nil
	}
	if !c.isRest(after.end) {
		return errOpaque
	}
	at := c.behind(after)
	switch above := c.lineOf(at) - 1; {
	case isHead || !c.isAiry(entries):
	case above < 0 || len(bytes.TrimSpace(c.line(above))) > 0:
		lines = append([]string{""}, lines...)
	case at < len(c.data):
		lines = append(lines, "")
	}
	c.lines(at, lines, columnOf(d.root))
	return nil
}

// before returns the offset of the first entry including the comments above it. Comments at the
// start of the file belong to the file, and the offset is after them.
func (c *change) before(e entry) int {
	start := c.comments(c.lineOf(e.dash), 0)
	if above := c.lineOf(start); above == 0 || len(bytes.TrimSpace(c.line(above-1))) > 0 {
		return c.lineStart(e.dash)
	}
	return start
}

// behind returns the offset after an entry and the comments below it, unless these comments are
// directly above another entry.
func (c *change) behind(e entry) int {
	i := c.lineOf(e.end) + 1
	for ; i < len(c.text.lines); i++ {
		line := bytes.TrimSpace(c.line(i))
		if len(line) == 0 {
			return c.text.lines[i]
		}
		if line[0] != '#' {
			return c.lineEnd(e.end)
		}
	}
	return len(c.data)
}

// isAiry reports whether most fields of the file are preceded by a blank line.
func (c *change) isAiry(entries []entry) bool {
	airy := 0
	for i := 1; i < len(entries); i++ {
		for l := c.lineOf(entries[i-1].end) + 1; l < c.lineOf(entries[i].dash); l++ {
			if len(bytes.TrimSpace(c.line(l))) == 0 {
				airy++
				break
			}
		}
	}
	return 2*airy > len(entries)-1
}
