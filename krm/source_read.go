package krm

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unsafe"
)

// document is one resource of a file.
type document struct {
	value Value
	line  int
	piece int   // which piece of the file it is in
	path  []any // where it is in the piece, if that is a List
}

// piece is a part of a file between document separators. Only its first YAML document counts.
type piece struct {
	text string
	line int // of its start
}

// source text, ready to be parsed: valid line ends, no byte order mark.
func (s *Source) readText() (string, error) {
	s.textOnce.Do(func() { s.text, s.textErr = decodeText(s.File, s.Data) })
	return s.text, s.textErr
}

func decodeText(file string, data []byte) (string, error) {
	if len(data) > MaxFile {
		return "", Errorf(Pos{File: file}, "", "the file has %d bytes; the limit is %d", len(data), MaxFile)
	}
	text := unsafe.String(unsafe.SliceData(data), len(data))
	switch {
	case strings.HasPrefix(text, "\xff\xfe"):
		text = decodeUTF16(data[2:], binary.LittleEndian)
	case strings.HasPrefix(text, "\xfe\xff"):
		text = decodeUTF16(data[2:], binary.BigEndian)
	}
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	return text, nil
}

func decodeUTF16(data []byte, order binary.ByteOrder) string {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return string(utf16.Decode(units))
}

// split cuts text at its separators as kyaml does: lines that start with "---" and hold nothing else but a comment.
func (s *Source) split(text string) ([]piece, error) {
	var pieces []piece
	line := 1
	for rest := text; ; {
		start, end := findSeparator(rest)
		if start < 0 {
			return append(pieces, piece{rest, line}), nil
		}
		here := line + strings.Count(rest[:start+1], "\n")
		if c := strings.TrimSpace(rest[start+4 : end]); c != "" && c[0] != '#' {
			return nil, Errorf(Pos{s.File, here}, "", "found text behind the document separator ---").
				Hint("start the document on the next line")
		}
		pieces = append(pieces, piece{rest[:start+1], line})
		line = here + 1
		rest = rest[end:]
	}
}

// findSeparator returns where the line end before a separator and the line after it are, -1 if there is none.
func findSeparator(s string) (start, end int) {
	start = strings.Index(s, "\n---")
	if start < 0 {
		return -1, -1
	}
	n := strings.IndexByte(s[start+1:], '\n')
	if n < 0 {
		return -1, -1
	}
	return start, start + 1 + n + 1
}

func (s *Source) readDocuments() ([]document, error) {
	text, err := s.readText()
	if err != nil {
		return nil, err
	}
	if text == "" {
		return nil, nil
	}
	pieces, err := s.split(text)
	if err != nil {
		return nil, err
	}
	docs := make([]document, 0, len(pieces))
	p := parser{}
	for i, pc := range pieces {
		v, err := s.parsePiece(&p, pc)
		if err != nil {
			return nil, err
		}
		d := document{value: v, line: pc.line + firstLine(pc.text), piece: i}
		if len(pieces) == 1 && isWrapper(v) {
			docs = unwrap(docs, d)
		} else {
			docs = append(docs, d)
		}
	}
	if docs, err = s.checkDocuments(docs); err != nil {
		return nil, err
	}
	return s.inlineLists(docs)
}

// firstLine returns how many lines of s stand in front of the first that is neither blank, comment nor marker.
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
	if simpleText(pc.text) {
		if v, ok := p.parse(pc.text); ok {
			s.warnNumbers(p, pc)
			return v, nil
		}
	} else {
		p.reason = ""
	}
	return s.parseSlow(p, pc)
}

// warnNumbers reports the numbers of a document that do not leave as they are written.
func (s *Source) warnNumbers(p *parser, pc piece) {
	line, from := pc.line, 0
	for _, at := range p.odd {
		line += strings.Count(pc.text[from:at.offset], "\n")
		from = at.offset
		s.warnNumber(line, at.value)
	}
}

func (s *Source) warnNumber(line int, v Value) {
	out := string(AppendYAML(nil, v))
	s.warn(line, "", "%s is %s and leaves as %s", v.Text(), v.typ.article(), strings.TrimSuffix(out, "\n"))
}

// isWrapper reports whether a document that is alone in its file is replaced by its items.
func isWrapper(v Value) bool {
	switch v.Get("kind").Text() {
	case "List", "ResourceList":
		return v.Get("items").Exists() || v.Get("functionConfig").Exists()
	}
	return false
}

func unwrap(docs []document, d document) []document {
	items := d.value.Get("items")
	if items.typ == Map {
		d.value = items // no object: the check of the documents says so
		return append(docs, d)
	}
	for i, item := range items.Items() {
		docs = append(docs, document{item, d.line, d.piece, append(d.path[:len(d.path):len(d.path)], "items", i)})
	}
	return docs
}

// checkDocuments drops empty documents and makes sure that the others have what an object needs.
func (s *Source) checkDocuments(docs []document) ([]document, error) {
	kept := docs[:0]
	for _, d := range docs {
		if d.value.IsEmpty() {
			continue
		}
		if err := s.checkDocument(d); err != nil {
			return nil, err
		}
		kept = append(kept, d)
	}
	return kept, nil
}

func (s *Source) checkDocument(d document) error {
	pos := Pos{s.File, d.line}
	kind := d.value.Get("kind").Text()
	switch {
	case d.value.typ != Map:
		return Errorf(pos, "", "the document is %s, not a Kubernetes object", d.value.typ.article())
	case kind == "":
		return Errorf(pos, "", "the object has no kind")
	case strings.HasSuffix(kind, "List"):
	case d.value.At("metadata", "name").Text() == "":
		return Errorf(pos, "", "the %s has no metadata.name", kind)
	}
	return nil
}

// inlineLists replaces each FooList by its items, which go to the end.
func (s *Source) inlineLists(docs []document) ([]document, error) {
	lists := false
	for _, d := range docs {
		lists = lists || strings.HasSuffix(d.value.Get("kind").Text(), "List")
	}
	if !lists {
		return docs, nil
	}
	var done []document
	for len(docs) > 0 {
		d := docs[0]
		docs = docs[1:]
		kind, items := d.value.Get("kind").Text(), d.value.Get("items")
		if !strings.HasSuffix(kind, "List") || !items.Exists() {
			done = append(done, d)
			continue
		}
		if items.typ != Seq {
			if items.IsNull() {
				continue
			}
			return nil, Errorf(Pos{s.File, d.line}, "items", "expected a list in the %s, found %s", kind, items.typ.article())
		}
		d.value = MapOf(Field{"items", normalized(items)})
		var inner []document
		for _, item := range unwrap(nil, d) {
			if isWrapper(item.value) {
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

// normalized returns v with every scalar in the form that it has after a way through JSON.
func normalized(v Value) Value {
	switch v.typ {
	case Int, Float:
		return Number(v.typ, string(appendLiteral(nil, v, true)))
	case Time:
		return QuotedStr(timeText(v.Text()))
	case String:
		return QuotedStr(v.Text()) // neither warped nor linked
	case Null:
		return NullValue
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
	pc := piece{text, 1}
	p := parser{yaml11: true, first: true}
	if simpleText(text) {
		if v, ok := p.parse(text); ok {
			s.warnNumbers(&p, pc)
			s.warnSecond(text, p.i)
			return v, nil
		}
	} else {
		p.reason = ""
	}
	return s.parseSlow(&p, pc)
}

// warnSecond warns if text has another document from i on.
func (s *Source) warnSecond(text string, i int) {
	line := 1 + strings.Count(text[:i], "\n")
	for n, l := range strings.Split(text[i:], "\n") {
		l = strings.TrimSpace(l)
		if l != "" && l[0] != '#' && l != "---" && l != "..." {
			s.warn(line+n, "", "the file has a second document, which is ignored")
			return
		}
	}
}
