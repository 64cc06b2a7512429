package yaml

import (
	"strings"
	"sync"
)

// maxDepth limits the nesting of lists and mappings, so that recursion over values is always safe.
const maxDepth = 1000

// A parser is the fast path: it parses the YAML that Kubernetes files commonly use and gives up on
// everything that it cannot decide with certainty, such as anchors, tags, merge keys and complex
// keys. [Source.parseSlow] then parses the document with yaml/v3, which takes many times as long.
//
// If the parser accepts a document, its value is the same as in go.yaml.in/yaml/v3. That library
// follows libyaml's rules about indentation rather than the YAML specification, and so does the
// parser.
//
// A parser parses many documents of many files, one after the other, and reuses its stacks and
// slabs.
type parser struct {
	s       string // the document
	i       int    // position of the next byte
	line    int    // start of the current line
	col     int    // column of the token at i, -1 at the end of the document
	breaks  int    // line ends that the last call of next skipped
	passed  bool   // the last call of next skipped a comment
	multi   bool   // the last quoted scalar has several lines
	yaml11  bool   // y, yes, on ... are booleans
	anyKeys bool   // keys need not be strings
	first   bool   // further documents in s are ignored
	odd     []odd  // values that change their form in the output or are ambiguous
	depth   int
	// room limits the bytes of the lists and mappings of all documents together. 0 means no limit.
	room int
	// reason is the error at i, if the document is certainly invalid.
	reason string
	// size is the size of the last document, with aliases counted as copies.
	size    int
	aliases int // bytes added by aliases in the documents so far

	fields    []Field             // stack of the open mappings
	items     []Value             // stack of the open lists
	buf       []byte              // the scalar under construction
	seen      map[string]struct{} // empty, for unique
	sized     int                 // number of keys for which seen was made
	positions *positions          // if not nil, receives the places of keys and items
	slabs
}

var parsers = sync.Pool{New: func() any { return new(parser) }}

// newParser returns a parser from a pool. The caller must return it with release. A small file
// uses little of a parser's slabs, and the next file uses the rest.
func newParser() *parser { return parsers.Get().(*parser) }

func (p *parser) release() {
	kept := parser{slabs: p.slabs}
	if p.sized <= maxSlab {
		kept.seen, kept.sized = p.seen, p.sized
	}
	if cap(p.fields) <= maxSlab && cap(p.items) <= maxSlab && cap(p.buf) <= 64*maxSlab {
		clear(p.fields[:cap(p.fields)])
		clear(p.items[:cap(p.items)])
		kept.fields, kept.items, kept.buf = p.fields[:0], p.items[:0], p.buf[:0]
	}
	kept.cut = 0
	*p = kept
	parsers.Put(p)
}

func (p *parser) fail(reason string) bool {
	p.reason = reason
	return false
}

// parse returns the only document of s. ok is false if the fast path does not apply.
func (p *parser) parse(s string) (v Value, ok bool) {
	p.s, p.i, p.line, p.depth, p.reason = s, 0, 0, 0, ""
	p.fields, p.items, p.odd = p.fields[:0], p.items[:0], p.odd[:0]
	if !p.next() {
		return
	}
	explicit := p.col < 0 && strings.HasPrefix(p.s[p.i:], "---")
	if explicit {
		p.i += 3
		p.blanks()
		if !p.atLineEnd() || !p.next() {
			return
		}
	}
	if p.col < 0 {
		// An end marker without a start is not a document.
		return OmittedNull, (explicit || p.i == len(p.s)) && p.atEnd()
	}
	if v, ok = p.node(-1); !ok {
		return
	}
	if p.col >= 0 {
		p.fail("this line is not part of the mapping or list above it")
		return v, false
	}
	return v, p.atEnd()
}

// atEnd reports whether nothing follows the document. yaml/v3 ignores further documents, but looks
// ahead into them.
func (p *parser) atEnd() bool {
	if p.i < len(p.s) && !p.first {
		p.i += 3
		return p.next() && p.i == len(p.s)
	}
	return true
}

// next skips spaces, line ends and comments up to the next token.
func (p *parser) next() bool {
	p.breaks, p.passed = 0, false
	s, i := p.s, p.i
	for i < len(s) {
		switch s[i] {
		case ' ':
			i++
		case '\n':
			i++
			p.line = i
			p.breaks++
		case '#':
			p.passed = true
			i = lineEnd(s, i)
		case '\t':
			p.i = i
			return p.fail("found a tab where indentation is expected")
		default:
			p.i, p.col = i, i-p.line
			if p.col == 0 && isMarker(s, i) {
				p.col = -1
			}
			return true
		}
	}
	p.i, p.col = len(s), -1
	return true
}

func lineEnd(s string, i int) int {
	if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(s)
}

// isMarker reports whether a document marker, --- or ..., is at i.
func isMarker(s string, i int) bool {
	return len(s)-i >= 3 && (s[i:i+3] == "---" || s[i:i+3] == "...") && blankAt(s, i+3)
}

// blankAt reports whether a space, tab, line end or the end of s is at i.
func blankAt(s string, i int) bool {
	return i >= len(s) || class[s[i]]&(isBlank|isBreak) != 0
}

func (p *parser) blanks() {
	for p.i < len(p.s) && class[p.s[p.i]]&isBlank != 0 {
		p.i++
	}
}

func (p *parser) atLineEnd() bool {
	return p.i >= len(p.s) || p.s[p.i] == '\n' || p.s[p.i] == '#'
}

// endLine moves to the next token, which must not be on the current line.
func (p *parser) endLine() bool {
	p.blanks()
	if !p.atLineEnd() {
		return p.fail("found more text after the end of the value")
	}
	return p.next()
}

func (p *parser) atDash() bool { return p.s[p.i] == '-' && blankAt(p.s, p.i+1) }

// node parses the block node at the current token. indent is the column of the enclosing mapping
// or list.
func (p *parser) node(indent int) (Value, bool) {
	col := p.col
	switch c := p.s[p.i]; {
	case class[c]&isIndicator == 0:
	case c == '-' && blankAt(p.s, p.i+1):
		return p.seq(col, false)
	case c == '"' || c == '\'':
		start := p.i
		v, ok := p.quoted()
		if !ok {
			return v, false
		}
		if p.atColon(start) {
			p.positions.mark(start)
			return p.mapping(col, v.Text())
		}
		return v, p.endLine()
	case c == '[' || c == '{' || c == '|' || c == '>':
		return p.inline(indent)
	case !p.startsPlain():
		return Value{}, false
	}
	start := p.i
	end, colon := p.plainLine()
	if !colon {
		return p.plainRest(start, end, indent)
	}
	key, ok := p.plainKey(start, end)
	if !ok {
		return Value{}, false
	}
	p.positions.mark(start)
	return p.mapping(col, key)
}

// inline parses a node after "key: ", where no block list or mapping can start.
func (p *parser) inline(indent int) (v Value, ok bool) {
	switch p.s[p.i] {
	case '"', '\'':
		v, ok = p.quoted()
	case '[', '{':
		v, ok = p.flow()
	case '|', '>':
		return p.blockScalar(indent)
	default:
		return p.plain(indent)
	}
	return v, ok && p.endLine()
}

// value parses the value after the colon of a key in the mapping at column col.
func (p *parser) value(col int) (Value, bool) {
	p.blanks()
	if !p.atLineEnd() {
		return p.inline(col)
	}
	switch {
	case !p.next():
		return Value{}, false
	case p.col > col:
		return p.node(col)
	case p.col == col && p.atDash():
		return p.seq(col, true)
	}
	return OmittedNull, true
}

// mapping parses a block mapping at column col. Its first key has already been parsed.
func (p *parser) mapping(col int, key string) (v Value, ok bool) {
	if !p.enter() {
		return v, false
	}
	base := len(p.fields)
	for {
		if v, ok = p.value(col); !ok {
			return v, false
		}
		if p.fields = append(p.fields, Field{key, v}); p.full() {
			return v, p.fail(tooMany)
		}
		if p.col != col {
			break
		}
		if key, ok = p.key(); !ok {
			return v, false
		}
	}
	if p.col > col {
		return v, p.fail("found more indentation than the lines above have")
	}
	p.depth--
	return p.closeMap(base)
}

func (p *parser) enter() bool {
	if p.depth++; p.depth > maxDepth {
		return p.fail(tooDeep)
	}
	return true
}

// full reports whether the lists and mappings exceed the memory limit. Open ones count three
// times: for the stack, for the smaller arrays that the stack left behind as it grew, and for the
// values that will be made of them.
func (p *parser) full() bool {
	return p.room > 0 && p.cut+3*(len(p.fields)*fieldSize+len(p.items)*itemSize) > p.room
}

const (
	tooDeep = "lists and mappings are nested more than 1000 levels deep"
	tooMany = "the values exceed the memory limit for function output"
)

// key parses a key of a block mapping and its colon.
func (p *parser) key() (string, bool) {
	start := p.i
	p.positions.mark(start)
	if c := p.s[start]; c == '"' || c == '\'' {
		v, ok := p.quoted()
		if ok && !p.atColon(start) {
			return "", p.fail("expected a colon after the key")
		}
		return v.Text(), ok
	}
	if p.atDash() {
		return "", p.fail("found a list item where a key is expected")
	}
	if !p.startsPlain() {
		return "", false
	}
	end, colon := p.plainLine()
	if !colon {
		p.i = start
		return "", p.fail("expected a colon after the key")
	}
	return p.plainKey(start, end)
}

// maxKey is the number of bytes within which libyaml expects the colon.
const maxKey = 1024

// atColon moves after the colon that turns the quoted scalar started at start into a mapping key.
// It reports false if there is no such colon.
func (p *parser) atColon(start int) bool {
	i := p.i
	for i < len(p.s) && class[p.s[i]]&isBlank != 0 {
		i++
	}
	if i >= len(p.s) || p.s[i] != ':' || !blankAt(p.s, i+1) || p.multi || i-start > maxKey {
		return false
	}
	p.i = i + 1
	return true
}

func (p *parser) plainKey(start, end int) (string, bool) {
	key := p.s[start:end]
	if p.i-start > maxKey {
		return "", p.fail("the key is longer than 1024 characters")
	}
	p.i++
	return key, key != "<<" && (hint[key[0]] == 0 || resolve(key, p.yaml11).typ == String)
}

// seq parses a block list with dashes at column col. A list that is not indented ends at the next
// key of the mapping that contains it.
func (p *parser) seq(col int, indentless bool) (v Value, ok bool) {
	if !p.enter() {
		return v, false
	}
	base := len(p.items)
	for {
		if v, ok = p.item(col); !ok {
			return v, false
		}
		if p.items = append(p.items, v); p.full() {
			return v, p.fail(tooMany)
		}
		if p.col != col {
			break
		}
		if !p.atDash() {
			if indentless {
				break
			}
			return v, p.fail("expected a dash, as in the other items of the list")
		}
	}
	if p.col > col {
		return v, p.fail("found more indentation than the lines above have")
	}
	p.depth--
	return p.closeSeq(base), true
}

func (p *parser) item(col int) (Value, bool) {
	p.i++
	for p.i < len(p.s) && p.s[p.i] == ' ' {
		p.i++
	}
	if !p.atLineEnd() {
		if p.s[p.i] == '\t' {
			return Value{}, p.fail("found a tab where indentation is expected")
		}
		p.col = p.i - p.line
		p.positions.mark(p.i)
		return p.node(col)
	}
	dash := p.i
	if !p.next() {
		return Value{}, false
	}
	if p.col > col {
		p.positions.mark(p.i)
		return p.node(col)
	}
	p.positions.mark(dash)
	return OmittedNull, true
}

func (p *parser) closeSeq(base int) Value {
	v := SeqOf(p.slabs.cutItems(p.items[base:])...)
	p.items = p.items[:base]
	return v
}

// closeMap makes a mapping of the fields on the stack from base on. It fails for a duplicate key.
func (p *parser) closeMap(base int) (Value, bool) {
	open := p.fields[base:]
	if !p.unique(open) {
		return Value{}, false
	}
	v := MapOf(p.slabs.cutFields(open)...)
	p.fields = p.fields[:base]
	return v, true
}

// unique reports whether no two fields have the same key. Sorted keys, few keys and many keys are
// tested in different ways.
func (p *parser) unique(fields []Field) bool {
	sorted := len(fields) > 6
	for i := 1; i < len(fields) && sorted; i++ {
		sorted = fields[i-1].Key < fields[i].Key
	}
	if sorted {
		return true
	}
	if len(fields) <= 12 {
		for i := range fields {
			for j := range i {
				if fields[i].Key == fields[j].Key {
					return false
				}
			}
		}
		return true
	}
	return p.uniqueMany(fields)
}

func (p *parser) uniqueMany(fields []Field) bool {
	if n := len(fields); n > p.sized || n < p.sized/8 {
		p.seen, p.sized = make(map[string]struct{}, n), n
	}
	defer clear(p.seen)
	for i := range fields {
		p.seen[fields[i].Key] = struct{}{}
	}
	return len(p.seen) == len(fields)
}
