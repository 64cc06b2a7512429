package records

import (
	"slices"

	"github.com/krmflow/krmflow/krm"
)

// A State is what has become of a root since it was rendered last.
type State struct {
	// Known tells that it was rendered before.
	Known bool
	// Calls tells that it called functions then.
	Calls bool
	// Last is what it was made from then: see [Record.Inputs].
	Last krm.Digest
	// Changes are what is different now; without any the result is what it was, unless functions are called that make something else.
	Changes []Change
}

// State returns what has become of the root in a directory, an absolute path. functions are those that it calls now.
func (rs *Records) State(dir string, functions []Setting) State {
	real := rs.view.dirs.Real(dir)
	if real == "" {
		return State{}
	}
	all := rs.of(real)
	last := slices.IndexFunc(all, func(r *Record) bool { return r.Rendered })
	if last < 0 {
		return State{}
	}
	r := all[last]
	return State{Known: true, Last: r.inputs, Calls: len(r.Functions) > 0,
		Changes: slices.Concat(differences(r.settings, rs.settings), differences(r.Functions, functions), r.trace.changes(rs.view))}
}

// differences returns what of the settings has changed.
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
