package terminal

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Shorten returns names with at most width characters each. It replaces the middle of a longer
// name by an ellipsis. Different names stay different.
//
// The names of a table are often paths that share their beginning and their end, so that they
// would become equal. Then Shorten keeps the elements in which a path differs from other long
// ones, leaves out the elements that they share, and adds as many of these as fit: the last, then
// from the first on. If even the differing elements are too long, or the names are not paths, it
// cuts them at a place that shows a difference. In a width that is too small for that, it adds
// numbers.
func Shorten(names []string, width int) []string {
	width = max(width, 4)
	short := slices.Clone(names)
	var long []int
	top := &element{}
	for i, name := range names {
		if utf8.RuneCountInString(name) > width {
			long = append(long, i)
			top.add(strings.Split(name, "/"))
		}
	}
	for _, i := range long {
		short[i] = cutAt([]rune(names[i]), width, width/3)
	}
	if len(groups(names, short, long)) == 0 {
		return short
	}
	for _, i := range long {
		short[i] = top.shorten(strings.Split(names[i], "/"), width)
	}
	separate(names, short, long, width)
	number(names, short, width)
	return short
}

// An element is an element of paths. It has the elements that follow it.
type element struct {
	next map[string]*element
	ends bool                      // a path ends here
	cut  map[int]map[string]string // shortened names of next by width
}

func (e *element) add(path []string) {
	for _, name := range path {
		if e.next == nil {
			e.next = map[string]*element{}
		}
		if e.next[name] == nil {
			e.next[name] = &element{}
		}
		e = e.next[name]
	}
	e.ends = true
}

// differs reports whether paths differ in the element after e.
func (e *element) differs() bool { return len(e.next) > 1 || e.ends }

// shortNext returns the shortened names of the elements after e.
func (e *element) shortNext(width int) map[string]string {
	if e.cut[width] == nil {
		names := slices.Sorted(maps.Keys(e.next))
		short := slices.Clone(names)
		for i, name := range names {
			short[i] = cutAt([]rune(name), width, width/3)
		}
		separate(names, short, indices(names), width)
		number(names, short, width)
		if e.cut == nil {
			e.cut = map[int]map[string]string{}
		}
		e.cut[width] = map[string]string{}
		for i, name := range names {
			e.cut[width][name] = short[i]
		}
	}
	return e.cut[width]
}

func indices(names []string) []int {
	all := make([]int, len(names))
	for i := range all {
		all[i] = i
	}
	return all
}

// minElement is the smallest width of an element that is cut.
const minElement = 6

// shorten returns a path in at most width characters. e is the element before it.
func (e *element) shorten(path []string, width int) string {
	keep := make([]bool, len(path))
	parents := make([]*element, len(path))
	for i, name := range path {
		keep[i], parents[i] = e.differs(), e
		e = e.next[name]
	}
	join := func(most int) string {
		var parts []string
		for i, name := range path {
			switch {
			case keep[i]:
				parts = append(parts, parents[i].shortNext(most)[name])
			case len(parts) == 0 || parts[len(parts)-1] != "…":
				parts = append(parts, "…")
			}
		}
		return strings.Join(parts, "/")
	}
	fits := func(text string) bool { return utf8.RuneCountInString(text) <= width }
	most := width
	for most > minElement && !fits(join(most)) {
		most--
	}
	if !fits(join(most)) || len(path) == 1 {
		return cutAt([]rune(strings.Join(path, "/")), width, width/3)
	}
	for k := range path {
		i := (k + len(path) - 1) % len(path) // the last one, then from the first on
		if !keep[i] {
			keep[i] = true
			keep[i] = fits(join(most))
		}
	}
	return join(most)
}

// separate changes the short forms of the names with the indices in of, until names that are
// different have different short forms, as far as the width allows it.
func separate(names, short []string, of []int, width int) {
	for _, same := range groups(names, short, of) {
		var runes [][]rune
		for _, i := range same {
			runes = append(runes, []rune(names[i]))
		}
		texts := cutEqually(runes, width)
		if texts == nil {
			texts = showDifference(runes, width)
		}
		progress := false
		for k, i := range same {
			progress = progress || texts[k] != texts[0]
			short[i] = texts[k]
		}
		if progress {
			separate(names, short, same, width)
		}
	}
}

// groups returns the indices in of, grouped by equal short forms of different names.
func groups(names, short []string, of []int) (list [][]int) {
	by := map[string][]int{}
	for _, i := range of {
		by[short[i]] = append(by[short[i]], i)
	}
	for _, i := range of {
		if same := by[short[i]]; same != nil {
			delete(by, short[i])
			if slices.ContainsFunc(same, func(k int) bool { return names[k] != names[i] }) {
				list = append(list, same)
			}
		}
	}
	return list
}

// cutAt replaces the middle of a name by an ellipsis after head characters.
func cutAt(name []rune, width, head int) string {
	if len(name) <= width {
		return string(name)
	}
	return string(name[:head]) + "…" + string(name[len(name)-(width-head-1):])
}

// cutEqually cuts all names after the same number of characters, the one nearest to a third of
// the width with different results. It returns nil if there is none.
func cutEqually(names [][]rune, width int) []string {
	heads := make([]int, width)
	for i := range heads {
		heads[i] = i
	}
	slices.SortStableFunc(heads, func(a, b int) int { return cmp.Compare(distance(a, width), distance(b, width)) })
	for _, head := range heads {
		seen := map[string]string{}
		texts := make([]string, 0, len(names))
		for _, name := range names {
			text := cutAt(name, width, head)
			if other, ok := seen[text]; ok && other != string(name) {
				break
			}
			seen[text] = string(name)
			texts = append(texts, text)
		}
		if len(texts) == len(names) {
			return texts
		}
	}
	return nil
}

// distance returns how far head is from a third of the width. A short head, which says nothing, is
// twice as far.
func distance(head, width int) int {
	far := max(head-width/3, width/3-head)
	if head < width/5 {
		far *= 2
	}
	return far
}

// showDifference cuts names on both sides of the first character in which they differ.
func showDifference(names [][]rune, width int) []string {
	same := len(names[0])
	for _, name := range names[1:] {
		n := 0
		for n < min(same, len(name)) && name[n] == names[0][n] {
			n++
		}
		same = n
	}
	texts := make([]string, 0, len(names))
	for _, name := range names {
		quarter := width / 4
		head := min(same, quarter)
		tail := min(len(name)-same, quarter)
		from := same - min(same-head, quarter/2) // some context before the difference
		to := min(len(name)-tail, from+width-head-tail-2)
		text := string(name[:head])
		if from > head {
			text += "…"
		}
		text += string(name[from:max(from, to)])
		if to < len(name)-tail {
			text += "…"
		}
		texts = append(texts, text+string(name[len(name)-tail:]))
	}
	return texts
}

// number adds numbers to short forms of different names that are still equal: the width is too
// small for their differences.
func number(names, short []string, width int) {
	used := map[string]string{}
	for i, name := range names {
		for n := 2; used[short[i]] != "" && used[short[i]] != name; n++ {
			end := fmt.Sprintf("…%d", n)
			r := []rune(cutAt([]rune(name), width, width/3))
			short[i] = string(r[:max(0, min(len(r), width-len([]rune(end))))]) + end
		}
		used[short[i]] = name
	}
}
