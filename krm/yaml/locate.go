package yaml

import (
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"go.yaml.in/yaml/v3"
)

// Locate returns the position of the field at path (mapping keys and list indexes) in document
// doc. If the field does not exist, it returns the line of the nearest existing parent. A
// [diag.TextLine] as the last step leads to a line of a literal block; a text in another style has
// only one position. doc is an index into the result of [Source.Documents]. A file that was read
// only by [Source.Value] has only document 0.
//
// Values do not store their positions, so Locate parses the document again. It is meant for
// messages.
func (s *Source) Locate(doc int, path ...any) diag.Pos {
	if len(s.subs) > 0 {
		return s.locateSub(path)
	}
	if len(s.places) > 0 {
		p, at := s.placeOf(path)
		return p.Source.Locate(p.Doc, at...)
	}
	if s.same != nil {
		return diag.Pos{File: s.File, Line: s.same.Locate(doc, path...).Line}
	}
	pos := diag.Pos{File: s.File}
	text, err := s.readText()
	if err != nil {
		return pos
	}
	pc, part := piece{text: text, line: 1}, -1 // the whole file
	if s.docsRead.Load() && doc < len(s.docs) {
		docs := s.docs
		if pieces, err := s.pieces(); err == nil {
			part = docs[doc].piece
			pc = pieces[part]
			path = append(docs[doc].path[:len(docs[doc].path):len(docs[doc].path)], path...)
		}
	} else if doc > 0 {
		return pos
	}
	pos.Line = s.lineOf(part, pc, path)
	return pos
}

// IsItem reports whether a document is an item of a List.
func (s *Source) IsItem(doc int) bool {
	return s.docsRead.Load() && doc < len(s.docs) && len(s.docs[doc].path) > 0
}

// LocateQuickly is [Source.Locate] with a bound on time and memory, for a file that was read by
// [Source.Value]. If the parser for common YAML cannot read the text, it returns the position of
// the top-level field.
func (s *Source) LocateQuickly(path ...any) diag.Pos {
	if len(s.subs) > 0 {
		p := s.subOf(path)
		return p.src.LocateQuickly(append(p.path[:len(p.path):len(p.path)], path...)...)
	}
	if len(s.places) > 0 {
		return s.Locate(0, path...)
	}
	text, err := s.original().readText()
	if err != nil || len(path) == 0 {
		return diag.Pos{File: s.File, Line: 1}
	}
	if line := lineOfPath(text, path); line > 0 {
		return diag.Pos{File: s.File, Line: line}
	}
	top := strings.Index("\n"+text, fmt.Sprintf("\n%v:", path[0]))
	return diag.Pos{File: s.File, Line: 1 + strings.Count(text[:max(0, top)], "\n")}
}

// lineOf returns the line of the field at path in a part of the file, 0 if the part cannot be
// parsed.
func (s *Source) lineOf(part int, pc piece, path []any) int {
	if n := len(path); n > 0 && isTextLine(path[n-1]) {
		// Only the tree has the styles of texts.
	} else if s.located.Add(1) <= 8 {
		if line := lineOfPath(pc.text, path); line > 0 {
			return pc.line - 1 + line
		}
	}
	if root := s.treeOf(part, pc.text); root != nil && len(root.Content) > 0 {
		return pc.line - 1 + lineAt(root.Content[0], path)
	}
	return 0
}

// treeOf returns the nodes of a part of the file. It keeps the last result, because a plan, for
// instance, needs many positions in one configuration file.
func (s *Source) treeOf(part int, text string) *yaml.Node {
	s.treeMu.Lock()
	defer s.treeMu.Unlock()
	if s.tree == nil || s.treePart != part {
		s.tree, _ = parseNode(text)
		s.treePart = part
	}
	return s.tree
}

// lineAt returns the line of the node at path below n, or of its nearest existing parent.
func lineAt(n *yaml.Node, path []any) int {
	line := n.Line
	for _, step := range path {
		if n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		var at, child *yaml.Node
		switch step := step.(type) {
		case diag.TextLine:
			if n.Kind == yaml.ScalarNode && n.Style&yaml.LiteralStyle != 0 {
				return n.Line + int(step)
			}
		case int:
			if n.Kind == yaml.SequenceNode && step >= 0 && step < len(n.Content) {
				at, child = n.Content[step], n.Content[step]
			}
		case string:
			for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == step {
					at, child = n.Content[i], n.Content[i+1]
				}
			}
		}
		if child == nil {
			return line
		}
		n, line = child, at.Line
	}
	return line
}

func isTextLine(step any) bool {
	_, ok := step.(diag.TextLine)
	return ok
}
