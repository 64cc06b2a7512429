package inplace

import (
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/krm/yaml"
)

// Moved returns comments of the value was, with their places in the value is. A comment of a
// list item follows the item in the same way as in [Document.With]: to the item with the same
// name, an equal one, or the changed one. Comments of removed fields and items are dropped.
func (c Comments) Moved(was, is yaml.Value) Comments {
	if len(c) == 0 || was.Same(is) {
		return c
	}
	m := mover{}
	next := make(Comments, len(c))
	for p, text := range c {
		if to, ok := m.path(p.path, was, is); ok {
			next[Place{to, p.side}] = text
		}
	}
	return next
}

// A mover caches matched lists by their paths in the old value.
type mover map[string]*matchedList

// A matchedList maps the items of an old list to the items of the new list.
type matchedList struct {
	byName map[string]int // old items; nil if identified by index
	to     []int          // index of the new item for each old one, or -1
	names  []string       // of the new items; nil if identified by index
}

// path returns the path in the new value, and false if the new value has no such path.
func (m mover) path(path string, was, is yaml.Value) (string, bool) {
	var to strings.Builder
	for at := 0; at < len(path); {
		end := len(path)
		if i := strings.IndexByte(path[at+1:], '\x00'); i >= 0 {
			end = at + 1 + i
		}
		part := path[at+1 : end]
		to.WriteByte('\x00')
		if part[0] == '.' {
			was, is = was.Get(part[1:]), is.Get(part[1:])
			to.WriteString(part)
		} else {
			list := m[path[:at]]
			if list == nil {
				list = matchLists(was.Items(), is.Items())
				m[path[:at]] = list
			}
			i, ok := list.old(part)
			if !ok || list.to[i] < 0 {
				return "", false
			}
			j := list.to[i]
			was, is = was.Items()[i], is.Items()[j]
			to.WriteString(itemPart(list.names, j))
		}
		if !is.Exists() {
			return "", false
		}
		at = end
	}
	return to.String(), true
}

// itemPart returns the part of a path for item i. names are the names of all items, nil if they
// are identified by index.
func itemPart(names []string, i int) string {
	if names != nil {
		return "=" + names[i]
	}
	return "[" + strconv.Itoa(i)
}

// old returns the index of the old item for a part of a path.
func (l *matchedList) old(part string) (i int, ok bool) {
	if part[0] == '=' {
		i, ok = l.byName[part[1:]]
		return i, ok
	}
	i, err := strconv.Atoi(part[1:])
	return i, err == nil && i >= 0 && i < len(l.to)
}

func matchLists(was, is []yaml.Value) *matchedList {
	l := &matchedList{to: slices.Repeat([]int{-1}, len(was)), names: itemNames(is)}
	oldNames := itemNames(was)
	if oldNames != nil {
		l.byName = make(map[string]int, len(was))
		for i, name := range oldNames {
			l.byName[name] = i
		}
	}
	if oldNames != nil && l.names != nil {
		for j, name := range l.names {
			if i, ok := l.byName[name]; ok {
				l.to[i] = j
			}
		}
		return l
	}
	head, tail := equalEnds(was, is)
	for i := range head {
		l.to[i] = i
	}
	for i := 1; i <= tail; i++ {
		l.to[len(was)-i] = len(is) - i
	}
	a, b := was[head:len(was)-tail], is[head:len(is)-tail]
	if len(a)*len(b) > maxMatch {
		return l
	}
	taken := make([]bool, len(b))
	for j, i := range match(a, b) {
		if i >= 0 {
			l.to[head+i], taken[j] = head+j, true
		}
	}
	for i, x := range a { // moved items
		if l.to[head+i] >= 0 {
			continue
		}
		if j := slices.IndexFunc(b, x.Equal); j >= 0 && !taken[j] {
			l.to[head+i], taken[j] = head+j, true
		}
	}
	return l
}

// maxMatch is the maximum number of pairs of items to compare.
const maxMatch = 1 << 20

// itemNames is the counterpart of namesOf for values.
func itemNames(items []yaml.Value) []string {
	names := make([]string, len(items))
	seen := make(map[string]bool, len(items))
	for i, x := range items {
		name := x.Get("name")
		if x.Type() != yaml.Map || x.Get("kind").Exists() || name.Type() >= yaml.Seq {
			return nil
		}
		if names[i] = name.SourceText(); names[i] == "" || !name.Exists() || seen[names[i]] {
			return nil
		}
		seen[names[i]] = true
	}
	return names
}
