package yaml

import (
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/secret/words"
	"go.yaml.in/yaml/v3"
)

// A StrictDocument is the only document of a file that was read by [Source.Strict]. It is safe for
// concurrent use.
type StrictDocument struct {
	// Value is None if the file has no document, for instance only comments.
	Value Value

	file  string
	piece piece
	once  sync.Once
	root  *yaml.Node // of the piece, for positions
}

// Strict reads the file as one document that every YAML reader interprets in the same way. It is
// for documents that decide which programs may run. A second document, a duplicate key, and a tag
// that is not one of YAML's own are errors, and words such as yes and on are strings. The error is
// an [*diag.Error] with the line.
func (s *Source) Strict() (*StrictDocument, error) {
	// This reading must not add warnings to s.
	own := &Source{File: s.File, Data: s.Data}
	text, err := own.readText()
	if err != nil {
		return nil, err
	}
	pieces, err := own.split(text)
	if err != nil {
		return nil, err
	}
	doc := &StrictDocument{file: s.File}
	for _, pc := range pieces {
		v, err := own.strictPiece(pc)
		switch {
		case err != nil:
			return nil, err
		case v.IsNull():
		case doc.Value.Exists():
			return nil, diag.Errorf(diag.Pos{File: s.File, Line: pc.line + firstLine(pc.text)}, "",
				"the file has a second document; only one is allowed").With(diag.IgnoredText)
		default:
			doc.Value, doc.piece = v, pc
		}
	}
	return doc, nil
}

func (s *Source) strictPiece(pc piece) (Value, error) {
	p := parser{}
	if simpleText(pc.text) {
		if v, ok := p.parse(pc.text); ok {
			return v, nil
		}
	} else {
		p.reason = ""
	}
	v, err := s.parseSlow(&p, pc)
	if err != nil {
		return v, err
	}
	return v, checkStrict(s.File, pc)
}

// checkStrict rejects tags and further documents, which [Source.parseSlow] accepts.
func checkStrict(file string, pc piece) (err error) {
	at := func(line int) diag.Pos { return diag.Pos{File: file, Line: pc.line - 1 + line} }
	defer func() {
		if r := recover(); r != nil {
			err = diag.Errorf(at(1), "", "this is not valid YAML: %v", r).With(diag.InvalidYAML)
		}
	}()
	d := yaml.NewDecoder(strings.NewReader(pc.text))
	for n := 0; ; n++ {
		var root yaml.Node
		if err := d.Decode(&root); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			line, what := explain(pc.text, err)
			return diag.Errorf(at(line), "", "%s", what).With(diag.InvalidYAML)
		}
		if n > 0 {
			return diag.Errorf(at(root.Line), "", "the file has a second document; only one is allowed")
		}
		if n := foreignTag(&root); n != nil {
			if words.Text(pc.text) {
				return diag.Errorf(at(n.Line), "",
					"tags are not allowed here; a value that starts with ! needs quotes").With(diag.InvalidYAML)
			}
			return diag.Errorf(at(n.Line), "", "the tag %s is not allowed here", n.ShortTag()).With(diag.InvalidYAML)
		}
	}
}

// foreign reports whether the tag of n is not one that YAML assigns implicitly.
func foreign(n *yaml.Node) bool {
	switch n.ShortTag() {
	case "!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq":
		return false
	}
	return true
}

// foreignTag returns the first node below n with a tag that is not YAML's own, nil if there is
// none.
func foreignTag(n *yaml.Node) *yaml.Node {
	if n.Style&yaml.TaggedStyle != 0 && foreign(n) {
		return n
	}
	for _, c := range n.Content {
		if found := foreignTag(c); found != nil {
			return found
		}
	}
	return nil
}

// Locate returns the position of the field at path, or of its nearest existing parent. The first
// call parses the document again.
func (d *StrictDocument) Locate(path ...any) diag.Pos {
	d.once.Do(func() {
		if root, err := parseNode(d.piece.text); err == nil && root != nil && len(root.Content) > 0 {
			d.root = root.Content[0]
		}
	})
	pos := diag.Pos{File: d.file}
	if d.root != nil {
		pos.Line = d.piece.line - 1 + lineAt(d.root, path)
	}
	return pos
}
