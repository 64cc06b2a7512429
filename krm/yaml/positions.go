package yaml

import "strings"

// positions holds the places of the keys and list items of a document, parents first and otherwise in the order of the text. Values do
// not hold theirs: they would be larger, and few places are ever asked for. Then the text is parsed once more.
type positions struct {
	places []int
	flow   bool // there are lists or mappings whose contents have no place
}

// mark adds a place; nil positions take none.
func (t *positions) mark(i int) {
	if t != nil {
		t.places = append(t.places, i)
	}
}

// lineOfPath returns the line of the field at path in text, of its nearest existing parent if there is none, and 0 if only
// the slow path can tell.
func lineOfPath(text string, path []any) int {
	if !simpleText(text) {
		return 0
	}
	p := parser{yaml11: true, first: true, positions: &positions{}}
	v, ok := p.parse(text)
	if !ok || p.positions.flow || len(p.positions.places) == 0 {
		return 0
	}
	at := p.positions.places[0]
	k := 0 // of the place of v's first key or item
	for _, step := range path {
		child, n, ok := v.step(step)
		if !ok {
			break
		}
		k += n
		v, at = child, p.positions.places[k]
		k++
	}
	return 1 + strings.Count(text[:at], "\n")
}

// step returns the child of v that a step of a path leads to and how many places are between v's first one and its.
func (v Value) step(step any) (child Value, places int, ok bool) {
	switch step := step.(type) {
	case int:
		if step < 0 || step >= len(v.Items()) {
			return v, 0, false
		}
		for _, item := range v.Items()[:step] {
			places += 1 + item.places()
		}
		return v.Items()[step], places, true
	case string:
		i := v.Index(step)
		if i < 0 {
			return v, 0, false
		}
		for _, f := range v.Fields()[:i] {
			places += 1 + f.Value.places()
		}
		return v.Fields()[i].Value, places, true
	}
	return v, 0, false
}

// places returns how many keys and items are within v.
func (v Value) places() int {
	n := v.Len()
	for _, f := range v.Fields() {
		n += f.Value.places()
	}
	for _, item := range v.Items() {
		n += item.places()
	}
	return n
}
