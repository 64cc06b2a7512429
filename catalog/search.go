package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// A Match is the result of a search.
type Match struct {
	// Entry is the first definition, or nil if there is none.
	Entry *Entry
	// Shadowed lists later definitions of the same GVK that differ from Entry.
	Shadowed []*Entry
	// Hints suggests alternatives if Entry is nil: the available versions, or the nearest name.
	Hints []string
}

// Search returns the first entry with this exact group, version and kind, in the order of
// catalogs. It never finds a reserved GVK: see [Reserved].
func Search(gvk krm.GVK, catalogs []*Catalog) Match {
	var m Match
	if Reserved(gvk) {
		return m
	}
	for _, c := range catalogs {
		for _, e := range c.index[gvk] {
			switch {
			case m.Entry == nil:
				m.Entry = e
			case !e.SameProgram(m.Entry):
				m.Shadowed = append(m.Shadowed, e)
			}
		}
	}
	if m.Entry == nil {
		m.Hints = hints(gvk, catalogs)
	}
	return m
}

// hints returns alternatives to a gvk that no catalog defines.
func hints(gvk krm.GVK, catalogs []*Catalog) []string {
	var list, names []string
	byName := map[string]*Entry{}
	for _, c := range catalogs {
		var versions []string
		for _, e := range c.Entries {
			if e.Group == gvk.Group && e.Kind == gvk.Kind && !slices.Contains(versions, e.Version) {
				versions = append(versions, e.Version)
			}
			if _, ok := byName[e.GVK.String()]; !ok {
				byName[e.GVK.String()] = e
				names = append(names, e.GVK.String())
			}
		}
		if versions != nil {
			list = append(list, fmt.Sprintf("catalog %s offers: %s", c.Ref, strings.Join(versions, ", ")))
		}
	}
	if list != nil {
		return list
	}
	if near := diag.Nearest(gvk.String(), names); near != "" {
		return []string{fmt.Sprintf("did you mean %s (%s)?", near, byName[near])}
	}
	for _, name := range names { // the same kind in a different group
		if e := byName[name]; e.Kind == gvk.Kind {
			list = append(list, fmt.Sprintf("did you mean %s (%s)?", name, e))
		}
	}
	return list
}
