package inplace

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/krm/yaml"
	yaml3 "go.yaml.in/yaml/v3"
)

// A listChange changes the items of one list.
type listChange struct {
	*change
	node    *yaml3.Node
	entries []entry
	was, is []yaml.Value
	of      []int // for each new item the index of the old one, or -1
	flow    bool
}

// list changes the items of a non-empty list. At least one item must be kept.
func (c *change) list(n *yaml3.Node, old, v yaml.Value, flow bool) error {
	entries, err := c.items(n)
	if err != nil || len(entries) != old.Len() {
		return errOpaque
	}
	l := &listChange{c, n, entries, old.Items(), v.Items(), match(old.Items(), v.Items()), flow}
	var gone []int
	for i := range l.was {
		if !slices.Contains(l.of, i) {
			gone = append(gone, i)
		}
	}
	if len(gone) == len(l.was) {
		return errOpaque
	}
	for j, i := range l.of {
		switch {
		case i < 0:
			err = l.add(j)
		case c.value(entries[i], l.was[i], l.is[j], flow) != nil:
			err = l.anew(i, l.is[j])
		}
		if err != nil {
			return err
		}
	}
	return c.cut(n, entries, gone, flow)
}

// anew rewrites item i.
func (l *listChange) anew(i int, v yaml.Value) error {
	e := l.entries[i]
	if l.flow {
		l.splice(e.dash, e.end, inline(v, true))
		return nil
	}
	if !l.isRest(e.end) {
		return errOpaque
	}
	lines := indented(l.like(e).item(v), l.column(e))
	l.splice(e.dash, e.end, strings.Join(lines, l.eol)[l.column(e):])
	return nil
}

// add adds item j after the nearest kept item before it, or before the first kept item.
func (l *listChange) add(j int) error {
	near, before := -1, false
	for k, i := range l.of {
		if i >= 0 && (k < j || near < 0) {
			near, before = i, k < j
		}
	}
	e := l.entries[near]
	switch {
	case l.flow && before:
		l.splice(e.end, e.end, l.between(l.node)+inline(l.is[j], true))
		return nil
	case l.flow:
		l.splice(e.dash, e.dash, inline(l.is[j], true)+", ")
		return nil
	case !l.isRest(e.end) || !before && !l.ownLines(e):
		return errOpaque
	}
	at := l.lineEnd(e.end)
	if !before {
		at = l.commentsOf(near)
	}
	if text := l.moved(l.is[j]); text != "" {
		l.splice(at, at, text)
		return nil
	}
	l.lines(at, l.like(e).item(l.is[j]), l.column(e))
	return nil
}

// moved returns the lines of a removed item equal to v, or "" if there is none.
func (l *listChange) moved(v yaml.Value) string {
	for i, e := range l.entries {
		if l.was[i].Equal(v) && !slices.Contains(l.of, i) && l.ownLines(e) {
			return string(l.data[l.commentsOf(i):l.lineEnd(e.end)])
		}
	}
	return ""
}

// commentsOf returns the start of the comments above item i, or of the item if it has none.
func (l *listChange) commentsOf(i int) int {
	from := 0
	if i > 0 {
		from = l.lineEnd(l.entries[i-1].end)
	}
	return l.comments(l.lineOf(l.entries[i].dash), from)
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

// match returns, for each new item, the index of the corresponding old item, or -1. Items
// correspond if they are equal or one is a changed form of the other. The indexes are
// increasing: match does not detect moves.
//
// Equal items at both ends are matched first, so that a typical edit leaves a short middle part.
// If the rest of both lists has the same length and no common items, every item was changed.
// Otherwise the items are matched in order by equality or name.
func match(was, is []yaml.Value) []int {
	of := make([]int, len(is))
	head, tail := equalEnds(was, is)
	for i := range head {
		of[i] = i
	}
	for i := 1; i <= tail; i++ {
		of[len(is)-i] = len(was) - i
	}
	a, b := was[head:len(was)-tail], is[head:len(is)-tail]
	next := 0 // in a
	for j := range b {
		of[head+j] = -1
		if len(a) == len(b) && !anyEqual(a, b) { // all items were changed
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

// equalEnds returns the number of equal items at the start and at the end of two lists.
func equalEnds(was, is []yaml.Value) (head, tail int) {
	for head < len(was) && head < len(is) && was[head].Equal(is[head]) {
		head++
	}
	for tail < len(was)-head && tail < len(is)-head && was[len(was)-1-tail].Equal(is[len(is)-1-tail]) {
		tail++
	}
	return head, tail
}

// anyEqual reports whether the lists have an item in common, possibly with changed content.
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

// isSame reports whether two items have the same name and namespace.
func isSame(a, b yaml.Value) bool {
	name := a.Get("name")
	return name.Exists() && name.Equal(b.Get("name")) && a.Get("namespace").Equal(b.Get("namespace"))
}
