package yaml

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/secret/words"
	"go.yaml.in/yaml/v3"
)

const (
	// maxSlow is the maximum size in bytes of a document that needs the slow path.
	maxSlow = 16 << 20
	// maxAlias is the maximum size in bytes of the documents of a file with their aliases
	// expanded. maxValueAlias is the limit for a configuration file. It is lower because decoding
	// turns every alias into a copy.
	maxAlias      = 64 << 20
	maxValueAlias = 4 << 20
	// maxMarks is the maximum number of marks (see the function marks) in a document of a
	// function's answer that needs the slow path, and maxRare the maximum for all such documents
	// of the answer. The limits exist because the nodes of yaml/v3 are large and slow.
	maxMarks = 1 << 19
	maxRare  = 8 * maxMarks
)

// parseSlow parses a document on which the parser gave up.
func (s *Source) parseSlow(p *parser, pc piece) (Value, error) {
	v, err := s.convertSlow(p, pc)
	if err != nil && !s.answer {
		err = advise(err, pc)
	}
	return v, err
}

func (s *Source) convertSlow(p *parser, pc piece) (Value, error) {
	c := converter{source: s, line: pc.line - 1, parser: p, limit: maxAlias, taken: p.aliases, known: map[*yaml.Node]converted{}}
	if p.first {
		c.limit = min(maxAlias, max(maxValueAlias, 16*len(pc.text)))
		c.taken = maxAlias - c.limit
	}
	if at, what := badCharacter(pc.text); at >= 0 {
		return Value{}, c.errorf(1+strings.Count(pc.text[:at], "\n"), "%s", what)
	}
	if p.reason == tooDeep || p.reason == tooMany {
		return Value{}, c.reason(pc)
	}
	if len(pc.text) > maxSlow {
		return Value{}, c.limitf(1, "the document uses anchors, tags or other rare YAML and has more than %s", diag.Size(maxSlow))
	}
	if s.answer {
		n := marks(pc.text)
		if s.rare += n; n > maxMarks || s.rare > maxRare {
			return Value{}, c.limitf(1, "it uses anchors, tags or other rare YAML and has more than %d values, or %d together with others",
				maxMarks, maxRare)
		}
	}
	d := yaml.NewDecoder(strings.NewReader(pc.text))
	root, err := decodeNode(d)
	if err != nil {
		if p.reason != "" {
			return Value{}, c.reason(pc)
		}
		line, what := explain(pc.text, err)
		return Value{}, c.said(line, what)
	}
	if root == nil || len(root.Content) == 0 {
		return OmittedNull, nil
	}
	if p.first {
		s.warnSecond(pc.text, secondDocument(pc.text, root.Content[0].Line))
	} else if line := nextLine(d, pc.text); line > 0 {
		s.warn(diag.IgnoredText, c.line+line, "", "the document ends before this text, which is ignored; put --- between documents")
	}
	c.secret = s.answer || words.Document(kindOf(root.Content[0]), pc.text)
	done, err := c.convert(root.Content[0], 0)
	p.size = max(len(pc.text), done.size)
	if c.aliased {
		p.aliases += done.size
	}
	p.cut += 4 * done.size // approximate memory
	return done.value, err
}

// marks returns the number of characters in text that may begin or end a value.
func marks(text string) (n int) {
	for _, mark := range []string{"\n", ",", ":", "[", "{", "-"} {
		n += strings.Count(text, mark)
	}
	return n
}

// kindOf returns the kind of the object n, "" if it has none.
func kindOf(n *yaml.Node) string {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "kind" {
			return n.Content[i+1].Value
		}
	}
	return ""
}

// parseNode returns the first document of text, nil if there is none.
func parseNode(text string) (*yaml.Node, error) {
	return decodeNode(yaml.NewDecoder(strings.NewReader(text)))
}

// nextLine returns the line where the unread part of text starts, 0 if d has read everything.
func nextLine(d *yaml.Decoder, text string) int {
	root, err := decodeNode(d)
	switch {
	case err != nil:
		line, _ := explain(text, err)
		return line
	case root == nil || len(root.Content) == 0 || isOmitted(root.Content[0]):
		return 0
	}
	return root.Content[0].Line
}

func isOmitted(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Style == 0 && n.Value == "" }

// decodeNode returns the next document of d, nil if there is none.
func decodeNode(d *yaml.Decoder) (root *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	root = new(yaml.Node)
	if err := d.Decode(root); err != nil {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return nil, err
	}
	return root, nil
}

// secondDocument returns the position of the first document marker after line.
func secondDocument(text string, line int) int {
	i := 0
	for n := 1; i < len(text); n++ {
		if n > line && isMarker(text, i) {
			return i
		}
		i = lineEnd(text, i) + 1
	}
	return len(text)
}

// badCharacter returns the position of the first character that YAML does not allow and an error
// message, or -1 if there is none.
func badCharacter(text string) (int, string) {
	for i := 0; i < len(text); {
		at := firstOdd(text[i:])
		if at < 0 {
			break
		}
		i += at
		r, size := utf8.DecodeRuneInString(text[i:])
		switch r {
		case '\r', 0x85, 0x2028, 0x2029, 0xFEFF:
		case utf8.RuneError:
			return i, fmt.Sprintf("found the byte 0x%02X, which is not UTF-8", text[i])
		default:
			return i, fmt.Sprintf("found the control character U+%04X", r)
		}
		i += size
	}
	return -1, ""
}

// A converter converts nodes to values.
type converter struct {
	source *Source
	parser *parser
	line   int // lines before the document
	path   []any
	secret bool // messages must not show values
	limit  int  // for this and earlier documents, in messages
	taken  int  // of maxAlias
	// aliased is true if there was an alias.
	aliased bool
	known   map[*yaml.Node]converted
}

// A converted is a value, with its size and depth when aliases are counted as copies.
type converted struct {
	value Value
	size  int
	depth int
	open  bool // conversion is in progress: an alias to it would contain itself
}

func (c *converter) errorf(line int, format string, args ...any) error {
	return diag.Errorf(diag.Pos{File: c.source.File, Line: c.line + line}, "", format, args...).With(diag.InvalidYAML)
}

func (c *converter) limitf(line int, format string, args ...any) error {
	return diag.TooLargef(diag.Pos{File: c.source.File, Line: c.line + line}, "", format, args...)
}

func (c *converter) reason(pc piece) error {
	return c.said(1+strings.Count(pc.text[:c.parser.i], "\n"), c.parser.reason)
}

// said returns the error for a parser's reason.
func (c *converter) said(line int, reason string) error {
	if reason == tooDeep || reason == tooMany {
		return c.limitf(line, "%s", reason)
	}
	return c.errorf(line, "%s", reason)
}

func (c *converter) convert(n *yaml.Node, depth int) (done converted, err error) {
	if n.Kind == yaml.AliasNode {
		return c.alias(n, depth)
	}
	if depth > maxDepth {
		return done, c.limitf(n.Line, tooDeep)
	}
	if n.Anchor != "" {
		c.known[n] = converted{open: true}
	}
	switch n.Kind {
	case yaml.MappingNode:
		done, err = c.mapping(n, depth)
	case yaml.SequenceNode:
		done, err = c.sequence(n, depth)
	default:
		done.value, err = c.scalar(n)
		done.size = len(n.Value) + 8
	}
	if err == nil && done.size > maxAlias-c.taken {
		err = c.limitf(n.Line, "the aliases of the document expand to more than %s", diag.Size(int64(c.limit)))
	}
	if n.Anchor != "" {
		c.known[n] = done
	}
	return done, err
}

// child converts n, the child at step of the node that is being converted.
func (c *converter) child(step any, n *yaml.Node, depth int) (converted, error) {
	c.path = append(c.path, step)
	done, err := c.convert(n, depth)
	c.path = c.path[:len(c.path)-1]
	return done, err
}

func (c *converter) alias(n *yaml.Node, depth int) (converted, error) {
	done, ok := c.known[n.Alias]
	c.aliased = true
	switch {
	case !ok:
		return c.convert(n.Alias, depth)
	case done.open:
		if c.secret {
			return done, c.errorf(n.Line, "this anchor contains itself")
		}
		return done, c.errorf(n.Line, "the anchor %s contains itself", n.Value)
	case depth+done.depth > maxDepth:
		return done, c.limitf(n.Line, tooDeep)
	}
	return done, nil
}

func (c *converter) sequence(n *yaml.Node, depth int) (done converted, err error) {
	c.tagged(n)
	items := make([]Value, len(n.Content))
	done.size = 8
	for i, x := range n.Content {
		item, err := c.child(i, x, depth+1)
		if err != nil {
			return done, err
		}
		items[i] = item.value
		done.add(item)
		if done.size > maxAlias-c.taken {
			return done, nil // the caller rejects it: see mapping
		}
	}
	done.value = SeqOf(items...)
	done.value = done.value.flagged(marked, n.Style&yaml.FlowStyle != 0 && !c.parser.yaml11)
	return done, nil
}

func (done *converted) add(x converted) {
	done.size = min(done.size+x.size, maxAlias+1)
	done.depth = max(done.depth, x.depth+1)
}

// scalar returns the value of a scalar node.
func (c *converter) scalar(n *yaml.Node) (v Value, err error) {
	tag := n.ShortTag()
	if n.Style&yaml.TaggedStyle == 0 {
		if n.Style != 0 {
			v = c.text(n)
			c.noteAmbiguous(n, v)
			return v, nil
		}
		if tag == "!!str" && !c.parser.yaml11 || n.Value == "<<" {
			v = Str(n.Value)
			c.noteAmbiguous(n, v)
			return v, nil
		}
		if v = resolve(n.Value, c.parser.yaml11); v.typ == None {
			return v, diag.Errorf(diag.Pos{File: c.source.File, Line: c.line + n.Line}, diag.FieldPath(words.Path(c.path)),
				"the number %s cannot be written as JSON", n.Value).With(diag.OddValue)
		}
		if differs(v) && !(v.typ == Int && len(c.path) > 0 && isModeKey(fmt.Sprint(c.path[len(c.path)-1]))) {
			c.source.warnValue(c.line+n.Line, v, c.secret)
		}
		return v, nil
	}
	c.tagged(n)
	return c.tagScalar(n, tag)
}

func (c *converter) noteAmbiguous(n *yaml.Node, v Value) {
	if !c.parser.yaml11 && ambiguous(v) {
		c.source.warnValue(c.line+n.Line, v, c.secret)
	}
}

func (c *converter) tagScalar(n *yaml.Node, tag string) (Value, error) {
	v := resolve(n.Value, c.parser.yaml11)
	want := None
	switch tag {
	case "!!null":
		want = Null
	case "!!bool":
		want = Bool
	case "!!int":
		want = Int
	case "!!float":
		if want = Float; v.typ == Int {
			want = Int
		}
	case "!!timestamp":
		want = Time
	case "!!binary":
		data, err := base64.StdEncoding.DecodeString(n.Value)
		if err != nil {
			return v, c.errorf(n.Line, "the text tagged !!binary is not base64")
		}
		return Str(jsonText(string(data))), nil
	default:
		if !quotedStyle(n) {
			return Str(n.Value), nil
		}
		return c.text(n), nil
	}
	if v.typ == Null {
		v.flags |= reread // stays null in brackets as well
	}
	if v.typ != want {
		return v, c.errorf(n.Line, "the value does not match its tag %s", tag)
	}
	return v, nil
}

// text returns the value of a scalar that is not plain.
func (c *converter) text(n *yaml.Node) Value {
	v := QuotedStr(n.Value)
	v = v.flagged(reread, n.Style&yaml.FoldedStyle != 0 && !c.parser.yaml11)
	return v
}

func quotedStyle(n *yaml.Node) bool {
	return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

// tagged warns about an explicit tag, because it is not part of the output.
func (c *converter) tagged(n *yaml.Node) {
	switch {
	case n.Style&yaml.TaggedStyle == 0:
	case c.secret && foreign(n):
		c.source.warnForm(c.line+n.Line, "a tag is dropped; a value that starts with ! needs quotes")
	default:
		c.source.warnForm(c.line+n.Line, "the tag %s is dropped", n.ShortTag())
	}
}
