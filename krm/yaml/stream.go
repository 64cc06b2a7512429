package yaml

import (
	"bytes"
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// A Stream reads the YAML or JSON output of a program: a large text in pieces, with limits on its
// memory. Messages do not show any of the text, because it may contain secrets. A Stream is for
// one text, and must not be used concurrently.
type Stream struct {
	// Name identifies the text in messages.
	Name string
	// MaxItems is the maximum number of documents, and of items in a list.
	MaxItems int
	// Room is the maximum memory in bytes for the text and its values.
	Room int

	source Source
	begin  string
	used   int  // bytes of memory for the text
	cut    bool // the text lacks its final line end
}

// An Item is a document of a [Stream], or an item of a list in it.
type Item struct {
	Value Value
	Path  []any // its path, for messages
}

// itemRoom is the memory for a resource in addition to its value.
const itemRoom = 512

func (s *Stream) errorf(field, format string, args ...any) *diag.Error {
	return diag.Errorf(diag.Pos{File: s.Name}, field, format, args...)
}

func (s *Stream) tooLargef(field, format string, args ...any) *diag.Error {
	return diag.TooLargef(diag.Pos{File: s.Name}, field, format, args...)
}

// Begin returns the start of the text, for messages about a text that is not YAML. It is empty if
// the text was read in pieces. It ends before the word data, because the data of a Secret may
// follow.
func (s *Stream) Begin() string {
	begin, _, _ := strings.Cut(s.begin, "data")
	begin, _, _ = strings.Cut(begin, "Data")
	return begin
}

// Cut reports whether the text may be incomplete: it is YAML, but does not end with a line end.
func (s *Stream) Cut() bool { return s.cut }

// Warnings returns the warnings of [Stream.Read]. They are about input that is accepted but is
// probably a mistake.
func (s *Stream) Warnings() []*diag.Error { return s.source.Warnings() }

// Read returns the documents of a text, without empty ones. Their values share its memory, which
// must not be changed. A list in block style, which is one document with the field items, is
// limited only by Room. Any other text is limited to [MaxFile]. The error is an [*diag.Error] with
// the line. [diag.IsTooLarge] reports whether it is due to a limit.
func (s *Stream) Read(text Chunks) ([]Item, error) {
	s.source.File, s.source.answer = s.Name, true
	doc, ok, err := s.byItem(text)
	switch n := text.Len(); {
	case ok:
		s.cut = !bytes.HasSuffix(text[len(text)-1], []byte("\n"))
		return []Item{doc}, nil
	case diag.IsTooLarge(err) || n > MaxFile && err != nil:
		return nil, err
	case n > MaxFile:
		return nil, s.tooLargef("", "it has %s; more than %s is allowed only if each item of the list starts "+
			"on a separate line with a dash", diag.Size(int64(n)), diag.Size(MaxFile))
	}
	whole, err := plainText(s.Name, text.Join())
	if err != nil {
		return nil, err
	}
	s.begin = whole[:min(len(whole), 40)]
	s.cut = !strings.HasSuffix(whole, "\n") && !strings.HasSuffix(strings.TrimRight(whole, " \t"), "}")
	return s.documents(whole)
}

// documents returns the documents of a text, without empty ones.
func (s *Stream) documents(text string) ([]Item, error) {
	if text == "" {
		return nil, nil
	}
	pieces, err := s.source.split(text)
	if err != nil {
		return nil, err
	}
	var docs []Item
	p := newParser()
	defer p.release()
	// The chunks, and the buffers in which they arrived, are still in memory.
	p.room = s.Room - 3*len(text)
	for i, pc := range pieces {
		if line := secondInPiece(pc.text); line > 0 {
			return nil, diag.Errorf(diag.Pos{File: s.Name, Line: pc.line + line - 1}, "", "found a second document after a document marker")
		}
		v, err := s.source.parsePiece(p, pc)
		if err != nil {
			return nil, err
		}
		if !v.IsEmpty() {
			docs = append(docs, Item{v, []any{"document", i}})
		}
		if len(docs) > s.MaxItems {
			return nil, diag.TooLargef(diag.Pos{File: s.Name, Line: pc.line}, "", "there are more than %d documents", s.MaxItems)
		}
	}
	s.used = len(text) + p.cut
	return docs, nil
}

// secondInPiece returns the line of the first text after a document marker that is itself after
// other text, 0 if there is none. A parser would ignore that text.
func secondInPiece(text string) int {
	for _, marker := range []string{"\n---", "\n..."} {
		for at := 0; ; {
			n := strings.Index(text[at:], marker)
			if n < 0 {
				break
			}
			if at += n + 1; !isMarker(text, at) {
				continue
			}
			if line := textLine(text[at+3:]); line >= 0 {
				return 1 + strings.Count(text[:at], "\n") + line
			}
			break
		}
	}
	return 0
}

// textLine returns the index of the first line of text that is not blank, a comment or a marker,
// -1 if there is none.
func textLine(text string) int {
	n := 0
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" && l[0] != '#' && l != "---" && l != "..." {
			return n
		}
		n++
	}
	return -1
}

// Inline replaces each FooList among items with its items, which are appended, and reports whether
// there was one. The caller must have checked that items are objects, and must check the new ones.
func (s *Stream) Inline(items []Item) (inlined []Item, found bool, err error) {
	n, size := 0, 0
	for _, it := range items {
		if IsList(it.Value) {
			n, size, found = n+CountNested(it.Value), size+memory(it.Value), true
		}
	}
	if !found {
		return items, false, nil
	}
	switch n += len(items); {
	case n > s.MaxItems:
		return nil, true, s.tooLargef("", "the lists have more than %d resources", s.MaxItems)
	case s.used+size+n*itemRoom > s.Room:
		return nil, true, s.tooLargef("", "%s", tooMany)
	}
	docs := make([]Document, len(items))
	for i, it := range items {
		docs[i] = Document{Value: it.Value, path: it.Path}
	}
	docs, err = s.source.inlineLists(docs)
	if err != nil {
		return nil, true, err
	}
	items = items[:0]
	for _, doc := range docs {
		items = append(items, Item{doc.Value, doc.path})
	}
	return items, true, nil
}

// IsList reports whether an object is a FooList with items.
func IsList(v Value) bool {
	return strings.HasSuffix(v.Get("kind").Text(), "List") && v.Get("items").Exists()
}

// CountNested returns the number of resources in a FooList, including those in nested lists.
func CountNested(list Value) int {
	n := 0
	for _, x := range list.Get("items").Items() {
		if IsList(x) {
			n += CountNested(x)
		} else {
			n++
		}
	}
	return n
}

// memory returns the number of bytes of the lists and mappings in v.
func memory(v Value) int {
	n := len(v.Fields())*fieldSize + len(v.Items())*itemSize
	for _, f := range v.Fields() {
		n += memory(f.Value)
	}
	for _, x := range v.Items() {
		n += memory(x)
	}
	return n
}
