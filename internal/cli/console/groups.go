package console

import (
	"cmp"
	"slices"

	"github.com/krmflow/krmflow/diag"
)

// groups are findings that can occur several times at one place: once for each root that uses the
// file, and for each object that a generator makes there. Each place is printed once with the
// number of its findings. Therefore they are not printed when they occur, but before the result of
// the command, in the order of their places. This order and the printed text do not depend on which
// root is done first.
type groups struct {
	known   map[place]*group
	waiting []*group // not printed yet
}

// A place is the file and line of a finding, its field and its code.
type place struct {
	pos   diag.Pos
	field string
	code  diag.Code
}

// A group has the findings at a place.
type group struct {
	*diag.Error // the finding with the smallest text
	level       diag.Level
	n           int  // of different texts
	hidden      bool // there were too many warnings to print it
}

// isGrouped reports whether e belongs to a group: see [diag.Code.ByPlace].
func isGrouped(e *diag.Error) bool { return diag.CodeOf(e).ByPlace() && e.Pos.File != "" }

// add adds a finding. It returns the new group of the first one at its place, and nil for others.
func (l *groups) add(e *diag.Error, level diag.Level) *group {
	at := place{e.Pos, e.Field, diag.CodeOf(e)}
	if g := l.known[at]; g != nil {
		if g.n++; e.Msg < g.Msg {
			g.Error = e
		}
		return nil
	}
	if l.known == nil {
		l.known = map[place]*group{}
	}
	g := &group{Error: e, level: level, n: 1}
	l.known[at] = g
	l.waiting = append(l.waiting, g)
	return g
}

// take returns the groups that were not printed yet, sorted by place.
func (l *groups) take() []*group {
	list := l.waiting
	l.waiting = nil
	slices.SortStableFunc(list, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Field, b.Field),
			cmp.Compare(diag.CodeOf(a.Error), diag.CodeOf(b.Error)))
	})
	return list
}

// message returns the message for the group.
func (g *group) message() *diag.Error {
	e := *g.Error
	if g.n > 1 {
		e.Hints = nil
		e.Hint("and %d more at this line, for other roots or objects", g.n-1)
		e.Hints = append(e.Hints, g.Hints...)
	}
	return &e
}
