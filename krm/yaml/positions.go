package yaml

import "strings"

// positions holds the places of the keys and list items of a document, parents first and otherwise
// in text order. Values do not store their positions, because they would be larger and few
// positions are ever needed. When one is needed, the text is parsed again.
type positions struct {
	places []int
	flow   bool // some lists or mappings have contents without a place
}

// mark adds a place. It does nothing on a nil t.
func (t *positions) mark(i int) {
	if t != nil {
		t.places = append(t.places, i)
	}
}

// lineOfPath returns the line of the field at path in text, or of its nearest existing parent. It
// returns 0 if the slow path is needed.
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
	k := 0 // index of the place of v's first key or item
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

// step returns the child of v for one step of a path, and the number of places between v's first
// one and the child's.
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

// places returns the number of keys and items within v.
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
