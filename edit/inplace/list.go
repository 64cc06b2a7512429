package inplace

import (
	"bytes"
	"strings"

	"github.com/krmflow/krmflow/krm/yaml"
	yaml3 "go.yaml.in/yaml/v3"
)

// list changes the items of a list that has some. At least one of them stays.
func (c *change) list(n *yaml3.Node, old, v yaml.Value, flow bool) error {
	items, err := c.items(n)
	if err != nil {
		return err
	}
	if len(items) != old.Len() {
		return errOpaque
	}
	was, is := old.Items(), v.Items()
	of := match(was, is)
	stays := make([]bool, len(was))
	last := -1
	var added []int
	for j, i := range of {
		if i < 0 {
			added = append(added, j)
			continue
		}
		stays[i] = true
		if c.value(items[i], was[i], is[j], flow) != nil {
			if err := c.itemAnew(n, items[i], is[j], flow); err != nil {
				return err
			}
		}
		last = i
	}
	if last < 0 {
		return errOpaque
	}
	for _, j := range added {
		if err := c.addItem(n, items, was, is, of, j, flow); err != nil {
			return err
		}
	}
	var gone []int
	for i := range was {
		if !stays[i] {
			gone = append(gone, i)
		}
	}
	return c.cut(n, items, gone, flow)
}

// itemAnew writes an item anew.
func (c *change) itemAnew(n *yaml3.Node, e entry, v yaml.Value, flow bool) error {
	if flow {
		c.splice(e.dash, e.end, inline(v, true))
		return nil
	}
	if !c.isRest(e.end) {
		return errOpaque
	}
	lines := indented(c.like(e).item(v), c.column(e))
	c.splice(e.dash, e.end, strings.Join(lines, c.eol)[c.column(e):])
	return nil
}

// addItem adds item j of is behind the item before it that stays, or before the first one that stays.
func (c *change) addItem(n *yaml3.Node, items []entry, was, is []yaml.Value, of []int, j int, flow bool) error {
	before, first := -1, -1
	for k, i := range of {
		if i >= 0 && k < j {
			before = i
		}
		if i >= 0 && first < 0 {
			first = i
		}
	}
	if flow {
		if before < 0 {
			c.splice(items[first].dash, items[first].dash, inline(is[j], true)+", ")
		} else {
			c.splice(items[before].end, items[before].end, c.between(n)+inline(is[j], true))
		}
		return nil
	}
	near := items[max(before, 0)]
	if before < 0 {
		near = items[first]
	}
	if !c.isRest(near.end) || before < 0 && !c.ownLines(near) {
		return errOpaque
	}
	at := c.lineEnd(near.end)
	if before < 0 {
		at = c.commentsOf(items, first)
	}
	if text := c.movedText(items, was, of, is[j]); text != "" {
		c.splice(at, at, text)
		return nil
	}
	c.lines(at, c.like(near).item(is[j]), c.column(near))
	return nil
}

// movedText returns the lines of the item of the list that is equal to v and does not stay where it is, "" if there is none.
func (c *change) movedText(items []entry, was []yaml.Value, of []int, v yaml.Value) string {
	for i, w := range was {
		if !w.Equal(v) || !c.ownLines(items[i]) || !bytes.HasSuffix(c.data[:c.lineEnd(items[i].end)], []byte("\n")) {
			continue
		}
		stays := false
		for _, k := range of {
			stays = stays || k == i
		}
		if !stays {
			return string(c.data[c.commentsOf(items, i):c.lineEnd(items[i].end)])
		}
	}
	return ""
}

// commentsOf returns where the comments of an item begin, or the item if it has none.
func (c *change) commentsOf(items []entry, i int) int {
	from := 0
	if i > 0 {
		from = c.lineEnd(items[i-1].end)
	}
	return c.comments(c.lineOf(items[i].dash), from)
}

// column returns the column of the dash of an item.
func (c *change) column(e entry) int { return e.dash - c.lineStart(e.dash) }

// like returns the style of an item.
func (c *change) like(e entry) *style {
	s := c.style
	if gap := string(c.data[e.dash+1 : e.content]); len(gap) > 0 && strings.Trim(gap, " ") == "" {
		s.gap = gap
	}
	return &s
}

// match returns for each of the new items which old one it is, or -1: an equal one, or else one that was changed. Their order is the same.
func match(was, is []yaml.Value) []int {
	of := make([]int, len(is))
	head := 0
	for head < len(was) && head < len(is) && was[head].Equal(is[head]) {
		of[head] = head
		head++
	}
	tail := 0
	for tail < len(was)-head && tail < len(is)-head && was[len(was)-1-tail].Equal(is[len(is)-1-tail]) {
		tail++
		of[len(is)-tail] = len(was) - tail
	}
	a, b := was[head:len(was)-tail], is[head:len(is)-tail]
	next := 0 // of a
	for j := range b {
		of[head+j] = -1
		if len(a) == len(b) && !anyEqual(a, b) { // each was changed
			of[head+j] = head + j
			continue
		}
		for i := next; i < len(a); i++ {
			if a[i].Equal(b[j]) || isSame(a[i], b[j]) {
				of[head+j] = head + i
				next = i + 1
				break
			}
		}
	}
	return of
}

// anyEqual reports whether an item of one list is also in the other, or is the same thing with other contents.
func anyEqual(a, b []yaml.Value) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Equal(y) || isSame(x, y) {
				return true
			}
		}
	}
	return false
}

// isSame reports whether two items are about the same thing: they have the same name.
func isSame(a, b yaml.Value) bool {
	name := a.Get("name")
	return name.Exists() && name.Equal(b.Get("name")) && a.Get("namespace").Equal(b.Get("namespace"))
}
