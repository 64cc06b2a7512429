package yaml

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// TextWithout returns the source text of object doc without some of its top-level fields. doc is
// an index into the result of [Source.Documents] or [Source.Configs]. Comments and style are kept.
// If the text cannot be cut, for instance in a JSON document, the value is encoded again.
// TextWithout returns nil if there is no such object.
func (s *Source) TextWithout(doc int, keys ...string) []byte {
	docs, err := s.Configs()
	if err != nil || doc < 0 || doc >= len(docs) {
		return nil
	}
	d := docs[doc]
	pieces, err := s.pieces()
	want := d.Value
	for _, key := range keys {
		want = want.Without(key)
	}
	if err == nil && d.path == nil && d.piece < len(pieces) {
		if cut, ok := cutFields(pieces[d.piece].text, keys); ok && means(cut, want) {
			return []byte(cut)
		}
	}
	return AppendYAML(nil, want)
}

// means reports whether text is one document with the value want.
func means(text string, want Value) bool {
	v, err := (&Source{}).parsePiece(&parser{}, piece{text: text, line: 1})
	return err == nil && v.Equal(want)
}

// cutFields removes top-level fields from the text of a mapping in block style.
func cutFields(text string, keys []string) (string, bool) {
	root, err := parseNode(text)
	if err != nil || root == nil || len(root.Content) != 1 || root.Content[0].Kind != yaml.MappingNode {
		return text, false
	}
	m := root.Content[0]
	lines := strings.SplitAfter(text, "\n")
	cut := make([]bool, len(lines)+1)
	found := false
	for i := 0; i+1 < len(m.Content); i += 2 {
		if !slices.Contains(keys, m.Content[i].Value) {
			continue
		}
		if m.Style&yaml.FlowStyle != 0 {
			return text, false
		}
		found = true
		first, end := m.Content[i].Line-1, len(lines)
		if i+2 < len(m.Content) {
			end = m.Content[i+2].Line - 1
			// A comment above the next key belongs to that key.
			for end-1 > first && strings.HasPrefix(lines[end-1], "#") {
				end--
			}
		}
		for n := first; n < end && n < len(lines); n++ {
			cut[n] = true
		}
	}
	if !found {
		return text, true
	}
	var b strings.Builder
	for i, line := range lines {
		if !cut[i] {
			b.WriteString(line)
		}
	}
	return b.String(), true
}
