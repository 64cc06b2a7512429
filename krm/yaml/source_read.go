package yaml

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/secret/words"
)

// A piece is the part of a file between two document separators. Only its first YAML document is
// used.
type piece struct {
	text  string
	line  int  // of its start
	plain bool // text is known to be printable ASCII: see simpleText
}

// readText returns the text of the file, ready for parsing: UTF-8, with line feeds as line ends
// and without a byte order mark.
func (s *Source) readText() (string, error) {
	s.textOnce.Do(func() { s.text, s.textErr = decodeText(s.File, s.Data) })
	return s.text, s.textErr
}

func decodeText(file string, data []byte) (string, error) {
	if len(data) > MaxFile {
		return "", diag.TooLargef(diag.Pos{File: file}, "", "the file has %s; the limit is %s", diag.Size(int64(len(data))),
			diag.Size(MaxFile))
	}
	return plainText(file, data)
}

// plainText returns data as UTF-8 with line feeds as line ends and without a byte order mark.
func plainText(file string, data []byte) (string, error) {
	text := unsafe.String(unsafe.SliceData(data), len(data))
	var err error
	switch {
	case strings.HasPrefix(text, "\xff\xfe"):
		text, err = decodeUTF16(file, data[2:], binary.LittleEndian)
	case strings.HasPrefix(text, "\xfe\xff"):
		text, err = decodeUTF16(file, data[2:], binary.BigEndian)
	}
	if err != nil {
		return "", err
	}
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	return text, nil
}

func decodeUTF16(file string, data []byte, order binary.ByteOrder) (string, error) {
	text := make([]byte, 0, len(data))
	line := 1
	for i := 0; i < len(data); i += 2 {
		if i+1 == len(data) {
			return "", diag.Errorf(diag.Pos{File: file, Line: line}, "",
				"the UTF-16 text ends in the middle of a character").With(diag.BadEncoding)
		}
		r := rune(order.Uint16(data[i:]))
		if utf16.IsSurrogate(r) {
			low := rune(0)
			if i += 2; i+1 < len(data) {
				low = rune(order.Uint16(data[i:]))
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return "", diag.Errorf(diag.Pos{File: file, Line: line}, "", "found half of a UTF-16 surrogate pair").With(diag.BadEncoding)
			}
		}
		if r == '\n' {
			line++
		}
		text = utf8.AppendRune(text, r)
	}
	return string(text), nil
}

// split cuts text at its separators as kyaml does: at lines that start with "---" and contain
// nothing else except a comment.
func (s *Source) split(text string) ([]piece, error) {
	var pieces []piece
	line := 1
	for rest := text; ; {
		start, end, plain := findSeparator(rest)
		if start < 0 {
			return append(pieces, piece{rest, line, plain}), nil
		}
		here := line + strings.Count(rest[:start+1], "\n")
		if c := strings.TrimSpace(rest[start+4 : end]); c != "" && c[0] != '#' {
			return nil, diag.Errorf(diag.Pos{File: s.File, Line: here}, "",
				"found text after the document separator ---").With(diag.IgnoredText).
				Hint("start the document on the next line")
		}
		pieces = append(pieces, piece{rest[:start+1], line, plain})
		line = here + 1
		rest = rest[end:]
	}
}

// pieces returns the texts of the documents. It keeps them, because a caller that needs one
// usually needs others.
func (s *Source) pieces() ([]piece, error) {
	s.piecesOnce.Do(func() {
		var text string
		if text, s.cutErr = s.readText(); s.cutErr == nil {
			s.cut, s.cutErr = s.split(text)
		}
	})
	return s.cut, s.cutErr
}

// findSeparator returns the position of the line end before a separator, the position after its
// line end, and whether the text before it is known to be printable ASCII. Both positions are -1
// if there is no separator. Lines are too short for [strings.Index] to be fast.
func findSeparator(s string) (start, end int, plain bool) {
	plain = true
	i := 0
	for ; i+8 <= len(s); i += 8 {
		x := load64(s[i:])
		odd := oddBytes(x)
		if odd == 0 {
			continue
		}
		ends := equal(x, '\n')
		plain = plain && odd == ends
		for ; ends != 0; ends &= ends - 1 {
			if at := i + bits.TrailingZeros64(ends)/8; strings.HasPrefix(s[at+1:], "---") {
				return separatorAt(s, at, plain)
			}
		}
	}
	plain = plain && simpleText(s[i:])
	if n := strings.Index(s[i:], "\n---"); n >= 0 {
		return separatorAt(s, i+n, plain)
	}
	return -1, -1, plain
}

// separatorAt returns the results of findSeparator if three dashes follow the line end at start.
// The last line of a text is not a separator.
func separatorAt(s string, start int, plain bool) (int, int, bool) {
	n := strings.IndexByte(s[start+1:], '\n')
	if n < 0 {
		return -1, -1, false
	}
	return start, start + 1 + n + 1, plain
}

// readDocuments reads the documents. If anyKeys is true, keys may be scalars of any type.
func (s *Source) readDocuments(anyKeys bool) ([]Document, error) {
	text, err := s.readText()
	if err != nil {
		return nil, err
	}
	if text == "" {
		s.warnEmpty()
		return nil, nil
	}
	pieces, err := s.split(text)
	if err != nil {
		return nil, err
	}
	docs := make([]Document, 0, len(pieces))
	p := newParser()
	defer p.release()
	p.anyKeys = anyKeys
	for i, pc := range pieces {
		v, err := s.parsePiece(p, pc)
		if err != nil {
			return nil, err
		}
		d := Document{Value: v, Line: pc.line + firstLine(pc.text), Size: p.size, piece: i}
		if len(pieces) == 1 && isWrapper(v) {
			docs = unwrap(docs, d)
		} else {
			docs = append(docs, d)
		}
	}
	if docs, err = s.checkDocuments(docs); err != nil {
		return nil, err
	}
	if docs, err = s.inlineLists(docs); err == nil && len(docs) == 0 {
		s.warnEmpty()
	}
	return docs, err
}

func (s *Source) warnEmpty() { s.warn(diag.NoResource, 0, "", "the %s contains no resource", s.what()) }

// what returns the word for s in messages. The text of a field is not a file.
func (s *Source) what() string {
	if s.File == "" {
		return "text"
	}
	return "file"
}

// firstLine returns the number of lines of s before the first line that is not blank, a comment or
// a marker.
func firstLine(s string) int {
	for n := 0; ; n++ {
		end := lineEnd(s, 0)
		line := strings.TrimLeft(s[:end], " ")
		if line != "" && line[0] != '#' && !isMarker(s, 0) {
			return n
		}
		if end == len(s) {
			return 0
		}
		s = s[end+1:]
	}
}

// parsePiece returns the first document of a piece.
func (s *Source) parsePiece(p *parser, pc piece) (Value, error) {
	if pc.plain || simpleText(pc.text) {
		if v, ok := p.parse(pc.text); ok {
			p.size = len(pc.text)
			s.warnOdd(p, pc, v)
			return v, nil
		}
	} else {
		p.reason = ""
	}
	return s.parseSlow(p, pc)
}

// warnOdd warns about the values of the document v whose form changes in the output, or which are
// ambiguous.
func (s *Source) warnOdd(p *parser, pc piece, v Value) {
	if len(p.odd) == 0 {
		return
	}
	secret := s.answer || words.Document(v.Get("kind").Text(), pc.text)
	line, from := pc.line, 0
	for _, at := range p.odd {
		line += strings.Count(pc.text[from:at.offset], "\n")
		from = at.offset
		if at.value.typ == Int && isFileMode(pc.text[:at.offset]) {
			continue
		}
		s.warnValue(line, at.value, secret)
	}
}

// isFileMode reports whether text ends with the key of a file mode, whose value is usually octal.
func isFileMode(text string) bool {
	key, ok := strings.CutSuffix(strings.TrimRight(text, " "), ":")
	key = strings.TrimRight(key, `"'`)
	return ok && isModeKey(key[1+strings.LastIndexAny(key, " {,\"'\n"):])
}

func isModeKey(key string) bool { return key == "mode" || key == "defaultMode" }

func (s *Source) warnValue(line int, v Value, secret bool) {
	if v.typ == Time && string(AppendJSON(nil, v)) == `"`+v.Text()+`"` {
		return // it only gets quotes
	}
	switch {
	case secret && v.typ == String:
		s.warnForm(line, "a string is written without quotes, and some YAML parsers read it as a different type")
		return
	case secret:
		s.warnForm(line, "the value is %s and is rewritten in a different form", v.typ.Article())
		return
	case v.typ == String:
		s.warnForm(line, "the string %s is written without quotes, and some YAML parsers read it as a different type", v.Text())
		return
	}
	out := string(AppendYAML(nil, v))
	s.warnForm(line, "%s is %s and is rewritten as %s", v.Text(), v.typ.Article(), strings.TrimSuffix(out, "\n"))
}

// isWrapper reports whether a document that is alone in its file is replaced by its items.
func isWrapper(v Value) bool {
	switch v.Get("kind").Text() {
	case "List", "ResourceList":
		return v.Get("items").Exists() || v.Get("functionConfig").Exists()
	}
	return false
}

func unwrap(docs []Document, d Document) []Document {
	items := d.Value.Get("items")
	if items.typ == Map {
		d.Value = items // not an object: checkDocuments reports it
		return append(docs, d)
	}
	for i, item := range items.Items() {
		docs = append(docs, Document{item, d.Line, d.Size / items.Len(), d.piece, append(d.path[:len(d.path):len(d.path)], "items", i)})
	}
	return docs
}

// checkDocuments drops empty documents and checks the required fields of the others.
func (s *Source) checkDocuments(docs []Document) ([]Document, error) {
	kept := docs[:0]
	for _, d := range docs {
		if d.Value.IsEmpty() {
			continue
		}
		if err := s.checkDocument(d); err != nil {
			return nil, err
		}
		kept = append(kept, d)
	}
	return kept, nil
}

func (s *Source) checkDocument(d Document) error {
	kind := d.Value.Get("kind").Text()
	switch {
	case d.Value.typ != Map:
		return s.errorIn(d, "the document is %s, not a Kubernetes object", d.Value.typ.Article()).With(diag.Nameless)
	case kind == "":
		return s.errorIn(d, "the object has no kind").With(diag.Nameless)
	case strings.HasSuffix(kind, "List"):
	case d.Value.At("metadata", "name").Text() == "":
		if s.unnamed == nil {
			s.unnamed = s.errorIn(d, s.nameless(d), kind).With(diag.Nameless)
		}
	}
	if v := d.Value.Get("apiVersion"); !v.Exists() {
		s.warn(diag.Nameless, d.Line, d.place(), "the %s has no apiVersion", kind)
	} else if v.typ != String {
		s.warn(diag.OddValue, d.Line, d.place(), "the apiVersion of the %s is %s, not a string", kind, v.typ.Article())
	}
	return nil
}

// nameless returns the format of the message for an object without a name.
func (s *Source) nameless(d Document) string {
	if d.Value.At("metadata", "generateName").Exists() {
		return "the %s has metadata.generateName, which is not supported, and no metadata.name"
	}
	return "the %s has no metadata.name"
}

// errorIn returns an error about d. For an item of a List, it parses the text again to find the
// line.
func (s *Source) errorIn(d Document, format string, args ...any) *diag.Error {
	pos := diag.Pos{File: s.File, Line: d.Line}
	if pieces, err := s.pieces(); err == nil && len(d.path) > 0 {
		pos.Line = s.lineOf(d.piece, pieces[d.piece], d.path)
	}
	err := diag.Errorf(pos, d.place(), format, args...)
	if hint := adviceFor(err.Msg); hint != "" && !s.answer {
		err.Hint("%s", hint)
	}
	return err
}

// place returns the term for d in messages, "" for the first document of a file.
func (d Document) place() string {
	switch {
	case len(d.path) > 0:
		return diag.FieldPath(d.path)
	case d.piece > 0:
		return fmt.Sprintf("document %d", d.piece+1)
	}
	return ""
}

// inlineLists replaces each FooList with its items, which are appended.
func (s *Source) inlineLists(docs []Document) ([]Document, error) {
	lists := false
	for _, d := range docs {
		lists = lists || strings.HasSuffix(d.Value.Get("kind").Text(), "List")
	}
	if !lists {
		return docs, nil
	}
	var done []Document
	for len(docs) > 0 {
		d := docs[0]
		docs = docs[1:]
		kind, items := d.Value.Get("kind").Text(), d.Value.Get("items")
		if !strings.HasSuffix(kind, "List") || !items.Exists() {
			done = append(done, d)
			continue
		}
		if items.typ != Seq {
			if items.IsNull() {
				continue
			}
			return nil, diag.Errorf(diag.Pos{File: s.File, Line: d.Line}, "items", "expected a list in the %s, found %s",
				kind, items.typ.Article()).With(diag.BadList)
		}
		d.Value = MapOf(Field{"items", normalized(items)})
		var inner []Document
		for _, item := range unwrap(nil, d) {
			if isWrapper(item.Value) {
				inner = unwrap(inner, item)
			} else {
				inner = append(inner, item)
			}
		}
		inner, err := s.checkDocuments(inner)
		if err != nil {
			return nil, err
		}
		docs = append(docs, inner...)
	}
	return done, nil
}

// normalized returns v with every scalar in its form after a round trip through JSON.
func normalized(v Value) Value {
	switch v.typ {
	case Int, Float:
		return Number(v.typ, string(appendLiteral(nil, v, true)))
	case Time:
		return QuotedStr(timeText(v.Text()))
	case String:
		return QuotedStr(v.Text()) // neither folded nor linked
	case Null:
		return NullValue
	case Bool:
		return BoolValue(v.isTrue())
	case Seq:
		items := make([]Value, v.n)
		for i, x := range v.Items() {
			items[i] = normalized(x)
		}
		return SeqOf(items...)
	case Map:
		fields := make([]Field, v.n)
		for i, f := range v.Fields() {
			fields[i] = Field{f.Key, normalized(f.Value)}
		}
		return MapOf(fields...)
	}
	return v
}

func (s *Source) readValue() (Value, error) {
	text, err := s.readText()
	if err != nil {
		return Value{}, err
	}
	pc := piece{text: text, line: 1}
	p := newParser()
	defer p.release()
	p.yaml11, p.first = true, true
	if simpleText(text) {
		if v, ok := p.parse(text); ok {
			s.warnOdd(p, pc, v)
			s.warnSecond(text, p.i)
			return v, nil
		}
	} else {
		p.reason = ""
	}
	return s.parseSlow(p, pc)
}

// Content returns the file as one value, as kustomize reads data for merges: mapping keys are
// strings, including y, and only the first document is used. Each call parses the file. The error
// is an [*diag.Error] with the line.
func (s *Source) Content() (Value, error) {
	text, err := s.readText()
	if err != nil || text == "" {
		return Value{}, err
	}
	p := newParser()
	defer p.release()
	p.first, p.anyKeys = true, true
	return s.parsePiece(p, piece{text: text, line: 1})
}

// warnSecond warns if text has a further document from i on.
func (s *Source) warnSecond(text string, i int) {
	line := 1 + strings.Count(text[:i], "\n")
	for n, l := range strings.Split(text[i:], "\n") {
		l = strings.TrimSpace(l)
		if l != "" && l[0] != '#' && l != "---" && l != "..." {
			s.warn(diag.IgnoredText, line+n, "", "the %s has a second document, which is ignored", s.what())
			return
		}
	}
}
