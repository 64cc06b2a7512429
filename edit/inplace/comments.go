package inplace

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
	yaml3 "go.yaml.in/yaml/v3"
)

// Comments maps places in a document to comments. Each comment includes its number sign but no
// indentation. Only comments above and below a value can have several lines. Blank lines between
// them are omitted.
type Comments map[Place]string

// A Place is the position of a comment relative to a value of a document. Items of a list are
// identified by their names if all have one, otherwise by their indexes. A comment thus follows
// a container to a new position in its list.
//
// Places are found in the text, not in the comments that the parser attaches to nodes. The
// parser attaches a comment to different nodes depending on blank lines and indentation, and
// some comments move when a text is written and parsed again. Such moves would be
// indistinguishable from changes made by a function.
type Place struct {
	path string // see path.String
	side side
}

type side uint8

const (
	beside side = iota // on the last line of the value, or the line of its key
	above              // on the lines above the field or item
	// On the lines below, indented as part of the value; for a document, the lines at its end.
	below
)

// String returns the place for messages, as in "beside spec.replicas".
func (p Place) String() string {
	var b strings.Builder
	for part := range strings.SplitSeq(strings.TrimPrefix(p.path, "\x00"), "\x00") {
		switch {
		case strings.HasPrefix(part, "["), strings.HasPrefix(part, "="):
			b.WriteString("[" + part[1:] + "]")
		case b.Len() > 0:
			b.WriteString(part)
		default:
			b.WriteString(strings.TrimPrefix(part, "."))
		}
	}
	text := diag.OneLine(b.String())
	if text == "" {
		text = "the document"
	}
	return [...]string{"beside ", "above ", "below "}[p.side] + text
}

// A path leads to a value. It is a linked list, so that values without comments, the majority,
// need no path text.
type path struct {
	up   *path
	part string
}

func (p *path) key(key string) *path { return &path{p, "." + key} }

// String returns the path from the document to the value. Each part starts with a zero byte and
// its type: .KEY for a field, [INDEX or =NAME for an item.
func (p *path) String() string {
	var parts []string
	for ; p.up != nil; p = p.up {
		parts = append(parts, p.part, "\x00")
	}
	var b strings.Builder
	for i := len(parts) - 1; i >= 0; i-- {
		b.WriteString(parts[i])
	}
	return b.String()
}

const itemsPath = "\x00.items\x00["

// Items returns the comments for each item of a list of objects, by index.
func (c Comments) Items() map[int]Comments {
	items := map[int]Comments{}
	for p, text := range c {
		rest, ok := strings.CutPrefix(p.path, itemsPath)
		if !ok {
			continue
		}
		number, inner, found := strings.Cut(rest, "\x00")
		i, err := strconv.Atoi(number)
		if err != nil {
			continue
		}
		if found {
			inner = "\x00" + inner
		}
		if items[i] == nil {
			items[i] = Comments{}
		}
		items[i][Place{inner, p.side}] = text
	}
	return items
}

// Missing returns the comments of c that are not in have, with an empty comment at the old place
// of a comment that moved. Comments on their own lines are missing only if they are nowhere in
// have, because these lines can be next to different values than before.
func (c Comments) Missing(have Comments) Comments {
	missing := Comments{}
	lines, moved := map[string]bool{}, map[string]bool{}
	for p, text := range have {
		if p.side != beside {
			for line := range strings.SplitSeq(text, "\n") {
				lines[line] = true
			}
		}
	}
	for p, text := range c {
		switch {
		case have[p] == text:
		case p.side == beside:
			missing[p], moved[text] = text, true
		default:
			for line := range strings.SplitSeq(text, "\n") {
				if !lines[line] {
					missing[p] = text
				}
			}
		}
	}
	for p, text := range have {
		if p.side == beside && c[p] == "" && moved[text] {
			missing[p] = ""
		}
	}
	return missing
}

// Places returns the places in a deterministic order.
func (c Comments) Places() []Place {
	return slices.SortedFunc(maps.Keys(c), Place.compare)
}

// InItem returns the comments of an object as comments of item i of a list of objects.
func (c Comments) InItem(i int) Comments {
	in := make(Comments, len(c))
	for p, text := range c {
		in[Place{itemsPath + strconv.Itoa(i) + p.path, p.side}] = text
	}
	return in
}

// maxNodes is the maximum number of lines, fields and items in a text that [ItemComments]
// processes. A node with comments takes about 200 bytes, far more than a value.
const maxNodes = 1 << 20

// ItemComments returns the comments of each object in a text, by the index of the object. Empty
// documents are skipped. The items of a list of objects are moved to the end, in the order in
// which functions and their golden tests read them. The result is nil for a text that cannot be
// edited or exceeds a million lines, fields and items.
func ItemComments(text []byte) map[int]Comments {
	nodes := 0
	for _, c := range "\n,:[{" {
		nodes += bytes.Count(text, []byte{byte(c)})
	}
	if !HasComments(text) || nodes > maxNodes {
		return nil
	}
	type object struct {
		value    yaml.Value
		comments Comments
	}
	var todo []object
	for _, text := range Split(text) {
		d, err := ParseObject("", text)
		if err != nil {
			return nil
		}
		if d.value.Exists() {
			todo = append(todo, object{d.value, d.Comments()})
		}
	}
	found := map[int]Comments{}
	for n := 0; len(todo) > 0; todo = todo[1:] {
		if x := todo[0]; yaml.IsList(x.value) {
			items := x.comments.Items()
			for i, item := range x.value.Get("items").Items() {
				if !item.IsEmpty() {
					todo = append(todo, object{item, items[i]})
				}
			}
		} else {
			if len(x.comments) > 0 {
				found[n] = x.comments
			}
			n++
		}
	}
	return found
}

// ForFunction returns v as YAML with comments for a function, and the comments that the text
// contains. It omits comments without a suitable line in v, and:
//
//   - Comments below values. Programs disagree about whether such a comment belongs to the value
//     above or below, so it does not survive programs that rewrite YAML.
//   - Comments at and within the fields that private returns for an object, such as the values
//     of Secrets. The comments can contain values, which messages of the function would not
//     hide.
func ForFunction(v yaml.Value, comments Comments, private func(yaml.Value) []string) (text []byte, sent Comments) {
	secrets := privatePaths(v, &path{}, private)
	some := make(Comments, len(comments))
	for p, text := range comments {
		hidden := slices.ContainsFunc(secrets, func(s string) bool { return p.path == s || strings.HasPrefix(p.path, s+"\x00") })
		if p.side != below && !hidden {
			some[p] = text
		}
	}
	text = yaml.AppendYAML(nil, v)
	if len(some) == 0 {
		return text, nil
	}
	d, err := ParseObject("", text)
	if err != nil {
		return text, nil
	}
	d, _ = d.WithComments(some)
	return d.Text(), d.Comments()
}

// privatePaths returns the paths of the private fields of a value.
func privatePaths(v yaml.Value, p *path, private func(yaml.Value) []string) (paths []string) {
	switch v.Type() {
	case yaml.Map:
		hidden := private(v)
		for _, f := range v.Fields() {
			switch at := p.key(f.Key); {
			case slices.Contains(hidden, f.Key):
				paths = append(paths, at.String())
			case f.Value.Type() >= yaml.Seq:
				paths = append(paths, privatePaths(f.Value, at, private)...)
			}
		}
	case yaml.Seq:
		names := itemNames(v.Items())
		for i, x := range v.Items() {
			if x.Type() >= yaml.Seq {
				paths = append(paths, privatePaths(x, &path{p, itemPart(names, i)}, private)...)
			}
		}
	}
	return paths
}

// HasComments reports whether a text may contain comments. It is fast, but also returns true for
// some strings with a number sign.
func HasComments(text []byte) bool {
	for at := 0; ; at++ {
		i := bytes.IndexByte(text[at:], '#')
		if i < 0 {
			return false
		}
		if at += i; at == 0 || isSpace(text[at-1]) {
			return true
		}
	}
}

// A comment is a comment in a text.
type comment struct {
	texts []string // one for each line
	lines [][2]int // from the number sign to the end of the line
}

func (c *comment) text() string { return strings.Join(c.texts, "\n") }

// A spot holds the offsets at which comments of a value can be added. -1 means that this is
// impossible.
type spot struct {
	above, beside, below int
	column               int // column of the field or item
}

// A survey finds the comments of a text and the spots for new ones.
type survey struct {
	*text
	found map[Place]*comment
	spots map[string]*spot // by path; only these are searched for

	at    int   // offset up to which the text was searched
	last  *path // the key or value before at, nil at the start
	wrong bool  // the text has a form in which values cannot be located
}

func surveyOf(t *text, root *yaml3.Node, spots map[string]*spot) *survey {
	tracked := *t
	tracked.last = &cursor{}
	s := &survey{text: &tracked, found: map[Place]*comment{}, spots: spots, at: t.lines[0]}
	top := &path{}
	if root != nil {
		s.node(root, top, true)
	}
	s.reach(len(s.data), top, top, -1)
	if x := s.spots[""]; x != nil {
		x.below = len(s.data)
	}
	return s
}

// Comments returns the comments of the document. It returns nil if there are none or they cannot
// be located.
func (d *Document) Comments() Comments {
	if !HasComments(d.text.data) {
		return nil
	}
	return surveyOf(d.text, d.root, nil).comments()
}

func (s *survey) comments() Comments {
	if s.wrong || len(s.found) == 0 {
		return nil
	}
	c := make(Comments, len(s.found))
	for p, x := range s.found {
		c[p] = x.text()
	}
	return c
}

// reach records the comments before the value at an offset. Comments on their own lines are
// above next, or below prev if they are indented more than column.
func (s *survey) reach(at int, next, prev *path, column int) {
	for s.at < at {
		i := bytes.IndexByte(s.data[s.at:at], '#')
		if i < 0 {
			break
		}
		start := s.at + i
		s.at = start + 1
		line := s.lineStart(start)
		if start > line && !isSpace(s.data[start-1]) {
			continue
		}
		end := line + len(s.line(s.lineOf(start)))
		s.at = end
		switch indent := start - line; {
		case len(bytes.TrimSpace(s.data[line:start])) > 0:
			s.add(s.last, beside, start, end)
		case prev != nil && indent > column:
			s.add(prev, below, start, end)
		default:
			s.add(next, above, start, end)
		}
	}
	s.at = max(s.at, at)
}

func (s *survey) add(p *path, side side, start, end int) {
	if p == nil {
		return
	}
	end = start + len(bytes.TrimRight(s.data[start:end], " \t\r\n"))
	place := Place{p.String(), side}
	text := string(s.data[start:end])
	if x := s.found[place]; x != nil && side != beside {
		x.texts, x.lines = append(x.texts, text), append(x.lines, [2]int{start, end})
		return
	}
	s.found[place] = &comment{[]string{text}, [][2]int{{start, end}}}
}

// entry visits the start of a field or item. owner is the path that comments above it belong to.
func (s *survey) entry(p, owner, prev *path, at int) {
	line := s.lineStart(at)
	column := at - line
	s.reach(at, owner, prev, column)
	x := s.spot(owner)
	if x == nil {
		return
	}
	if len(bytes.TrimSpace(s.data[line:at])) == 0 {
		x.above, x.column = line, column
	}
}

func (s *survey) spot(p *path) *spot {
	if s.spots == nil {
		return nil
	}
	return s.spots[p.String()]
}

// passed visits the end of a key or value, where a comment can follow.
func (s *survey) passed(p *path, end int) {
	s.at, s.last = max(s.at, end), p
	if x := s.spot(p); x != nil {
		x.beside, x.below = end, s.lineEnd(end)
	}
}

// node visits a value. leads reports whether comments above its first field belong to the value
// itself.
func (s *survey) node(n *yaml3.Node, p *path, leads bool) {
	switch {
	case s.wrong:
	case n.Kind == yaml3.MappingNode:
		s.mapping(n, p, leads)
	case n.Kind == yaml3.SequenceNode:
		s.list(n, p)
	case n.Kind == yaml3.ScalarNode && n.Value == "" && n.Style&^yaml3.TaggedStyle == 0:
		// The value has no text.
	case n.Style&(yaml3.LiteralStyle|yaml3.FoldedStyle) != 0:
		at := s.content(n)
		s.reach(at, p, nil, 0)
		head := s.lineStart(at) + len(s.line(s.lineOf(at)))
		s.passed(p, at)
		s.reach(head, p, nil, 0)
		s.passed(p, s.scalarEnd(n, at))
		if x := s.spot(p); x != nil {
			x.beside = head
		}
	default:
		s.reach(s.start(n), p, nil, 0)
		s.passed(p, s.end(n))
	}
	if x := s.spot(p); x != nil {
		x.below = s.lineEnd(s.at)
	}
}

func (s *survey) mapping(n *yaml3.Node, p *path, leads bool) {
	var prev *path
	for i := 0; i+1 < len(n.Content) && !s.wrong; i += 2 {
		k := n.Content[i]
		field := p.key(k.Value)
		owner := field
		if leads && i == 0 {
			owner = p
		}
		s.entry(field, owner, prev, s.start(k))
		colon, err := s.colon(entry{key: k})
		if err != nil || k.Kind != yaml3.ScalarNode {
			s.wrong = true
			return
		}
		s.passed(field, colon)
		if x := s.spot(field); x != nil { // for a list or mapping below the key
			line := s.lineStart(colon)
			x.beside = line + len(bytes.TrimRight(s.line(s.lineOf(colon)), " \t"))
		}
		s.node(n.Content[i+1], field, false)
		prev = field
	}
	s.closed(n, p, prev, '}')
}

func (s *survey) list(n *yaml3.Node, p *path) {
	var prev *path
	names := namesOf(n)
	for i, v := range n.Content {
		item := &path{p, itemPart(names, i)}
		if n.Style&yaml3.FlowStyle != 0 {
			s.entry(item, item, prev, s.start(v))
		} else {
			dash := s.skip(s.at)
			if i == 0 {
				dash = s.content(n)
			}
			if dash >= len(s.data) || s.data[dash] != '-' {
				s.wrong = true
				return
			}
			s.entry(item, item, prev, dash)
			s.at, s.last = dash+1, item
		}
		if s.node(v, item, true); s.wrong {
			return
		}
		prev = item
	}
	s.closed(n, p, prev, ']')
}

// closed visits the closing bracket of a list or mapping in flow style.
func (s *survey) closed(n *yaml3.Node, p, last *path, bracket byte) {
	if n.Style&yaml3.FlowStyle == 0 {
		return
	}
	at := s.at
	if last == nil {
		at = s.content(n)
	}
	for at < len(s.data) && s.data[at] != bracket {
		at = s.skip(at + 1)
	}
	s.reach(at, p, last, -1)
	s.passed(p, min(at+1, len(s.data)))
}

// namesOf returns the names of list items if all of them have distinct ones, else nil. Objects,
// which have a kind, are identified by their indexes, because lists of objects are processed by
// index.
func namesOf(n *yaml3.Node) []string {
	names := make([]string, len(n.Content))
	seen := make(map[string]bool, len(n.Content))
	for i, item := range n.Content {
		if item.Kind != yaml3.MappingNode {
			return nil
		}
		for j := 0; j+1 < len(item.Content); j += 2 {
			switch k, v := item.Content[j], item.Content[j+1]; {
			case k.Value == "kind":
				return nil
			case k.Value == "name" && v.Kind == yaml3.ScalarNode:
				names[i] = v.Value
			}
		}
		if names[i] == "" || seen[names[i]] {
			return nil
		}
		seen[names[i]] = true
	}
	return names
}

// WithComments returns a Document with the given comments. An empty comment removes the comment
// at its place. Everything else is unchanged. left holds the places whose comments could not be
// written, because d has no such value, its text has no suitable line, or the text is not a
// valid comment.
func (d *Document) WithComments(want Comments) (next *Document, left []Place) {
	if len(want) == 0 {
		return d, nil
	}
	places := want.Places()
	spots := map[string]*spot{}
	for _, p := range places {
		spots[p.path] = &spot{above: -1, beside: -1, below: -1}
	}
	s := surveyOf(d.text, d.root, spots)
	c := d.change()
	if s.wrong {
		return d, places
	}
	for _, p := range places {
		if !c.comment(s.found[p], spots[p.path], p, want[p]) {
			left = append(left, p)
		}
	}
	if len(c.splices) == 0 {
		return d, left
	}
	next, err := d.parse(c.apply())
	if err != nil || !next.value.Equal(d.value) {
		return d, places
	}
	got := next.Comments()
	for _, p := range places {
		if got[p] != want[p] && !slices.Contains(left, p) {
			left = append(left, p)
		}
	}
	return next, left
}

func (p Place) compare(q Place) int {
	return cmp.Or(strings.Compare(p.path, q.path), cmp.Compare(p.side, q.side))
}

// comment replaces the comment old at a place with text. old is nil if there is none. It reports
// whether the text has a suitable line.
func (c *change) comment(old *comment, at *spot, p Place, text string) bool {
	if old == nil {
		old = &comment{}
	}
	switch was := old.text(); {
	case was == text:
	case !isComment(text):
		return false
	case p.side != beside:
		return c.commentLines(old, at, p, strings.Split(text, "\n"))
	case strings.Contains(text, "\n"):
		return false
	case text == "":
		start := old.lines[0][0]
		for start > 0 && (c.data[start-1] == ' ' || c.data[start-1] == '\t') {
			start--
		}
		c.splice(start, old.lines[0][1], "")
	case was != "":
		c.splice(old.lines[0][0], old.lines[0][1], text)
	case at.beside < 0 || !c.isRest(at.beside):
		return false
	default:
		c.splice(at.beside, at.beside, " "+text)
	}
	return true
}

// isComment reports whether text can be written as a comment: its only line breaks are \n, and
// all characters are valid in YAML.
func isComment(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		switch r {
		case '\n', '\t':
			return false
		case '\u2028', '\u2029', '\ufeff', '\ufffe', '\uffff':
			return true
		}
		return r < ' ' || r >= 0x7f && r < 0xa0
	})
}

// commentLines replaces the comment above or below a value with lines. Unchanged lines at the
// start and end keep their text.
func (c *change) commentLines(old *comment, at *spot, p Place, lines []string) bool {
	if lines[0] == "" {
		lines = nil
	}
	head, tail := 0, 0
	same := func(i, j int) bool { return string(c.data[old.lines[i][0]:old.lines[i][1]]) == lines[j] }
	for head < len(lines) && head < len(old.lines) && same(head, head) {
		head++
	}
	for tail < len(lines)-head && tail < len(old.lines)-head && same(len(old.lines)-1-tail, len(lines)-1-tail) {
		tail++
	}
	start, column := at.above, at.column
	switch {
	case head > 0:
		l := old.lines[head-1]
		start, column = c.lineEnd(l[1]), l[0]-c.lineStart(l[0])
	case len(old.lines) > 0:
		l := old.lines[0]
		start, column = c.lineStart(l[0]), l[0]-c.lineStart(l[0])
	case p.side == below:
		start = at.below
		if p.path != "" {
			column += c.style.indent
		}
	}
	if added := lines[head : len(lines)-tail]; len(added) > 0 {
		if start < 0 {
			return false
		}
		if start == len(c.data) && start > 0 && c.data[start-1] != '\n' {
			c.splice(start, start, c.eol)
		}
		c.lines(start, added, column)
	}
	for _, l := range old.lines[head : len(old.lines)-tail] {
		c.splice(c.lineStart(l[0]), c.lineEnd(l[1]), "")
	}
	return true
}
