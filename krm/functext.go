package krm

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// FunctionConfig returns config as the function gets it: without the reserved field that names the runtime. Annotations
// stay, as in kustomize.
func FunctionConfig(config Value) Value {
	return config.Without(PlaceRuntime).Without(PlaceProvider)
}

// FunctionConfigText returns the source text of resource doc of an earlier call of [Source.Documents], less the reserved
// field that names the runtime: comments and style stay. Where the text cannot be cut, for instance in a document of
// JSON, the value is written anew.
func (s *Source) FunctionConfigText(doc int) []byte {
	docs, err := s.documents()
	if err != nil || doc < 0 || doc >= len(docs) {
		return nil
	}
	d := docs[doc]
	pieces, err := s.pieces()
	want := FunctionConfig(d.value)
	if err == nil && d.path == nil && d.piece < len(pieces) {
		if cut, ok := cutFields(pieces[d.piece].text, PlaceRuntime, PlaceProvider); ok && meansConfig(cut, want) {
			return []byte(cut)
		}
	}
	return AppendYAML(nil, want)
}

// meansConfig reports whether text is one document with the value want.
func meansConfig(text string, want Value) bool {
	v, err := (&Source{}).parsePiece(&parser{}, piece{text: text, line: 1})
	return err == nil && v.Equal(want)
}

// cutFields removes top-level fields from the text of a mapping in block style.
func cutFields(text string, keys ...string) (string, bool) {
	root, err := parseNode(text)
	if err != nil || root == nil || len(root.Content) != 1 || root.Content[0].Kind != yaml.MappingNode {
		return text, false
	}
	m := root.Content[0]
	lines := strings.SplitAfter(text, "\n")
	cut := make([]bool, len(lines)+1)
	found := false
	for i := 0; i+1 < len(m.Content); i += 2 {
		if k := m.Content[i].Value; k != keys[0] && k != keys[len(keys)-1] {
			continue
		}
		if m.Style&yaml.FlowStyle != 0 {
			return text, false
		}
		found = true
		first, end := m.Content[i].Line-1, len(lines)
		if i+2 < len(m.Content) {
			end = m.Content[i+2].Line - 1
			for end-1 > first && strings.HasPrefix(lines[end-1], "#") { // a comment above the next key is about that
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
