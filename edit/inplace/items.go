package inplace

import (
	"bytes"

	yaml3 "go.yaml.in/yaml/v3"
)

// An entry is the position of a field of a mapping or an item of a list, as offsets.
type entry struct {
	node    *yaml3.Node
	key     *yaml3.Node // nil for an item
	dash    int         // dash of an item in block style; otherwise the start of the key or item
	content int         // start of the value
	end     int         // end of the value
}

// items returns the entries of a list in any style.
func (t *text) items(n *yaml3.Node) ([]entry, error) {
	flow := n.Style&yaml3.FlowStyle != 0
	at := t.content(n)
	list := make([]entry, len(n.Content))
	for i, v := range n.Content {
		e := entry{node: v, content: t.start(v), end: t.end(v)}
		if e.dash = e.content; !flow {
			e.dash = t.skip(at)
			if e.dash >= len(t.data) || t.data[e.dash] != '-' || e.dash >= e.content {
				return nil, errOpaque
			}
		}
		list[i] = e
		at = e.end
	}
	return list, nil
}

// fields returns the entries of a mapping in any style.
func (t *text) fields(n *yaml3.Node) ([]entry, error) {
	var list []entry
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		e := entry{node: v, key: k, dash: t.start(k), content: t.start(v), end: t.end(v)}
		if k.Kind != yaml3.ScalarNode {
			return nil, errOpaque
		}
		list = append(list, e)
	}
	return list, nil
}

// colon returns the offset after the colon of a field.
func (t *text) colon(e entry) (int, error) {
	at := t.skip(t.end(e.key))
	if at >= len(t.data) || t.data[at] != ':' {
		return 0, errOpaque
	}
	return at + 1, nil
}

// ownLines reports whether an entry in block style has its lines for itself: only spaces precede
// it, and at most a comment follows.
func (t *text) ownLines(e entry) bool {
	before := t.data[t.lineStart(e.dash):e.dash]
	return len(bytes.TrimLeft(before, " ")) == 0 && t.isRest(e.end)
}

// columnOf returns the column of the keys of a non-empty mapping.
func columnOf(n *yaml3.Node) int { return n.Content[0].Column - 1 }
