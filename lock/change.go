package lock

import "fmt"

// A Change is a difference between two states of a lock file: of two entries with one name, or of one that the other has not.
type Change struct {
	Name string
	// Old and New are the versions; that of an entry that is not there is empty.
	Old, New string
}

// String returns the change as a line for people.
func (c Change) String() string {
	switch {
	case c.Old == "":
		return fmt.Sprintf("added    %s  %s", c.Name, c.New)
	case c.New == "":
		return fmt.Sprintf("removed  %s  %s", c.Name, c.Old)
	case c.Old == c.New:
		return fmt.Sprintf("changed  %s  %s", c.Name, c.New)
	}
	return fmt.Sprintf("moved    %s  %s -> %s", c.Name, c.Old, c.New)
}

// A Learning says what becomes of entries that exist.
type Learning struct {
	// Update chooses those that move to what was found, nil for none. All others stay as they are.
	Update func(Entry) bool
	// Drop chooses those that go if nothing was found for them, nil for none.
	Drop func(Entry) bool
}

// Learn puts what was found into f and returns what has changed, sorted by name.
func (f *File) Learn(found []Entry, how Learning) []Change {
	before := f.Without(nil)
	seen := map[string]bool{}
	for _, e := range found {
		seen[e.Name] = true
		if old, ok := f.Get(e.Name); !ok || how.Update != nil && how.Update(old) && !old.same(e) {
			f.Set(e)
		}
	}
	for _, e := range before.entries {
		if !seen[e.Name] && how.Drop != nil && how.Drop(e) {
			f.Remove(e.Name)
		}
	}
	return Compare(before, f)
}

// Compare returns how after differs from before, sorted by name.
func Compare(before, after *File) []Change {
	var list []Change
	old, now := before.Entries(), after.Entries()
	for len(old) > 0 || len(now) > 0 {
		switch {
		case len(now) == 0 || len(old) > 0 && old[0].Name < now[0].Name:
			list = append(list, Change{Name: old[0].Name, Old: old[0].Version()})
			old = old[1:]
		case len(old) == 0 || now[0].Name < old[0].Name:
			list = append(list, Change{Name: now[0].Name, New: now[0].Version()})
			now = now[1:]
		default:
			if !old[0].same(now[0]) {
				list = append(list, Change{old[0].Name, old[0].Version(), now[0].Version()})
			}
			old, now = old[1:], now[1:]
		}
	}
	return list
}
