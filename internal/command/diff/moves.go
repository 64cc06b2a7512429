package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/command/diff/cause"
	"github.com/krmflow/krmflow/internal/command/diff/findings"
	"github.com/krmflow/krmflow/krm/diff"
)

// moves are the relocations of one or more roots, with the number of resources and fields that
// they explain. Resources without further changes are shown only as part of these numbers.
type moves struct {
	list []*move
	// fields counts the references and other fields that follow. elsewhere of them are in others,
	// resources that have not moved themselves and have no further changes.
	fields, elsewhere, others int
}

// A move is one relocation in some roots.
type move struct {
	diff.Relocation
	resources, roots int
	further          int // resources that have further changes
	cause            diag.Pos
}

// movesOf returns the moves of roots, in the order of their first root.
func movesOf(roots []*Root) moves {
	var m moves
	at := map[diff.Relocation]*move{}
	for _, root := range roots {
		of := make([]*move, len(root.Changes.Relocations))
		for i, x := range root.Changes.Relocations {
			if of[i] = at[x]; of[i] == nil {
				of[i] = &move{Relocation: x}
				at[x] = of[i]
				m.list = append(m.list, of[i])
				if i < len(root.MoveCauses) {
					of[i].cause = root.MoveCauses[i]
				}
			}
			if of[i].roots++; i < len(root.MoveCauses) && root.MoveCauses[i] != of[i].cause {
				of[i].cause = diag.Pos{}
			}
		}
		for i := range root.Changes.Resources {
			m.add(&root.Changes.Resources[i], of)
		}
	}
	return m
}

// add counts one resource.
func (m *moves) add(r *diff.Resource, of []*move) {
	follows := r.What != diff.Relocated && !r.Remains()
	if r.What == diff.Relocated {
		of[r.Relocation].resources++
		if r.Remains() {
			of[r.Relocation].further++
		}
	} else if follows {
		m.others++
	}
	for k := range r.Edits {
		if e := &r.Edits[k]; e.Moves && !cause.IsIdentity(e) {
			if m.fields++; follows {
				m.elsewhere++
			}
		}
	}
}

// String describes a move in one line.
func (m *move) String() string {
	what := diag.Count(m.resources, "resource")
	if m.roots > 1 {
		what += " of " + diag.Count(m.roots, "root")
	}
	line := what + " " + safe(m.Relocation.String())
	if m.further > 0 {
		line += fmt.Sprintf(" (%d with further changes)", m.further)
	}
	return line
}

// total describes all moves in one short line of Markdown.
func (m moves) total() string {
	resources := 0
	for _, x := range m.list {
		resources += x.resources
	}
	if resources == 0 {
		return ""
	}
	return fmt.Sprintf("\n- %s moved or renamed, in %s\n", diag.Count(resources, "resource"), diag.Count(len(m.list), "way"))
}

// follow describes the fields that follow the moves, "" if there are none.
func (m moves) follow() string {
	if m.fields == 0 {
		return ""
	}
	verb := "follow"
	if m.fields == 1 {
		verb = "follows"
	}
	line := diag.Count(m.fields, "reference") + " " + verb
	if m.others > 0 {
		line += fmt.Sprintf(" (%d of them in %s that did not move)", m.elsewhere, diag.Count(m.others, "resource"))
	}
	return line
}

// shown returns the indexes of the resources to show individually: all except those that moves
// explain and that have no findings.
func (r *Root) shown() (list []int) {
	for i := range r.Changes.Resources {
		if r.Changes.Resources[i].Remains() || len(r.findingsOf(i)) > 0 {
			list = append(list, i)
		}
	}
	return list
}

// causesOf returns the causes of the edits of a resource.
func (r *Root) causesOf(i int) []diag.Pos {
	if i < len(r.Causes) {
		return r.Causes[i]
	}
	return nil
}

// findingsOf returns the findings for a resource.
func (r *Root) findingsOf(i int) []findings.Finding {
	if i < len(r.Findings) {
		return r.Findings[i]
	}
	return nil
}

// onlyMoved reports whether moves explain all changes of the root.
func (r *Root) onlyMoved() bool { return len(r.Changes.Relocations) > 0 && len(r.shown()) == 0 }

// moveKey identifies the moves of a root, without their numbers and causes.
func (r *Root) moveKey() string {
	var all []string
	for _, m := range r.Changes.Relocations {
		all = append(all, m.String()+"\n")
	}
	slices.Sort(all)
	return strings.Join(all, "")
}

// commonMoves returns the moves of all roots, if a move occurs in several groups.
func (r *Result) commonMoves(groups []*group) moves {
	seen := map[diff.Relocation]int{}
	common := false
	for _, g := range groups {
		for _, m := range g.moves.list {
			seen[m.Relocation]++
			common = common || seen[m.Relocation] > 1
		}
	}
	if !common {
		return moves{}
	}
	var all []*Root
	for i := range r.Roots {
		all = append(all, &r.Roots[i])
	}
	return movesOf(all)
}
