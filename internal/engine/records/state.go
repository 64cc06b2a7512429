package records

import (
	"slices"

	"github.com/krmflow/krmflow/krm"
)

// A State describes the changes of a root since it was last rendered.
type State struct {
	// Known reports whether the root was rendered before.
	Known bool
	// Calls reports whether it called functions.
	Calls bool
	// Last is the digest of its inputs: see [Record.Inputs].
	Last krm.Digest
	// Changes are the changed inputs. Without changes the result is the same, unless a function
	// returns a different answer.
	Changes []Change
}

// State returns the changes of the root in a directory, which is an absolute path. functions
// are the functions that it calls now.
func (rs *Records) State(dir string, functions []Setting) State {
	real := rs.real(dir)
	if real == "" {
		return State{}
	}
	all := rs.of(real)
	last := slices.IndexFunc(all, func(r *Record) bool { return r.Rendered })
	if last < 0 {
		return State{}
	}
	r := all[last]
	changes := differences(r.Functions, functions)
	if !rs.valid[r] {
		changes = slices.Concat(differences(r.settings, rs.settings), changes, r.trace.changes(rs.view))
	}
	return State{Known: true, Last: r.inputs, Calls: len(r.Functions) > 0, Changes: changes}
}

// differences returns the settings that have changed.
func differences(old, new []Setting) (changes []Change) {
	value := func(of []Setting, name string) string {
		i := slices.IndexFunc(of, func(s Setting) bool { return s.Name == name })
		if i < 0 {
			return "none"
		}
		return of[i].Value
	}
	for _, s := range old {
		if now := value(new, s.Name); now != s.Value {
			changes = append(changes, Change{What: s.Name, Setting: true, Old: s.Value, New: now})
		}
	}
	for _, s := range new {
		if value(old, s.Name) == "none" && s.Value != "none" {
			changes = append(changes, Change{What: s.Name, Setting: true, Old: "none", New: s.Value})
		}
	}
	return changes
}
