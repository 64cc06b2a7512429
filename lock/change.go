package lock

import "fmt"

// A Change is a difference between two states of a lock file: an entry that was added, removed or
// changed.
type Change struct {
	Name string
	// Old and New are the entries before and after. An absent entry is zero.
	Old, New Entry
}

// String returns the change as one line of text.
func (c Change) String() string {
	old, now := c.Old.Version(), c.New.Version()
	switch {
	case c.Old.Kind == "":
		return fmt.Sprintf("added    %s  %s", c.Name, now)
	case c.New.Kind == "":
		return fmt.Sprintf("removed  %s  %s", c.Name, old)
	case old == now:
		return fmt.Sprintf("changed  %s  %s", c.Name, now)
	}
	return fmt.Sprintf("moved    %s  %s -> %s", c.Name, old, now)
}

// RolledBack reports whether the change replaces a catalog with an older edition from its
// publisher.
func (c Change) RolledBack() bool {
	return c.Old.Kind == Catalog && c.New.Kind != "" && c.New.Serial < c.Old.Serial
}

// A Learning controls how [File.Learn] treats existing entries.
type Learning struct {
	// Update selects entries that move to the version found, nil for none. All others keep their
	// version.
	Update func(Entry) bool
	// Drop selects entries to remove if they were not found, nil for none.
	Drop func(Entry) bool
}

// Learn adds the entries found to f and returns the changes, sorted by name.
func (f *File) Learn(found []Entry, how Learning) []Change {
	before := f.Without(nil)
	seen := map[string]bool{}
	for _, e := range found {
		seen[e.Name] = true
		old, ok := f.Get(e.Name)
		switch {
		case !ok:
			f.Set(e)
		case old.Version() == e.Version():
			if old.Kind != Catalog { // keep a catalog's entry, which has its serial
				f.Set(e)
			}
		case how.Update != nil && how.Update(old):
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

// Compare returns the differences between before and after, sorted by name.
func Compare(before, after *File) []Change {
	var list []Change
	old, now := before.Entries(), after.Entries()
	for len(old) > 0 || len(now) > 0 {
		switch {
		case len(now) == 0 || len(old) > 0 && old[0].Name < now[0].Name:
			list = append(list, Change{Name: old[0].Name, Old: old[0]})
			old = old[1:]
		case len(old) == 0 || now[0].Name < old[0].Name:
			list = append(list, Change{Name: now[0].Name, New: now[0]})
			now = now[1:]
		default:
			if !old[0].same(now[0]) {
				list = append(list, Change{old[0].Name, old[0], now[0]})
			}
			old, now = old[1:], now[1:]
		}
	}
	return list
}
