package krm

import (
	"bytes"
	"errors"
	"slices"
	"strings"
)

// A Reply is what a function answered.
type Reply struct {
	// List is the list after the call: for a generator what it made, in its order. For a transformer, resources keep
	// their place and new ones, renamed ones among them, follow in the order of the answer, as kustomize has it. For a
	// validator it is the list that went in.
	List *List
	// Results are the messages of the function, in its order.
	Results []Result
	// Warnings are about answers that are accepted, but not as they should be.
	Warnings []*Error
	// Removed are the resources that went in and did not come out.
	Removed []ID
}

// DecodeResourceList reads the answer of a function that got in by [EncodeResourceList] with the same options; a
// generator's in is nil. It accepts one ResourceList or List, as YAML or JSON, and with a warning documents that are
// resources themselves. Everything else is an [*Error] that names the item and the field; the Reply then has the results
// that could be read. [IsLimit] knows the errors of answers that are too large. The resources share the memory of answer,
// which must not be changed.
//
// Resources that come back with their id keep what the build knows about them, whatever their name is now. Without an id
// they are new. in is not changed.
func DecodeResourceList(answer Chunks, in *List, o WireOptions) (*Reply, error) {
	d := wireDecoder{WireOptions: o, in: in, reply: &Reply{}, source: Source{File: "output of " + o.Name, answer: true}}
	if in == nil {
		d.in = NewList()
	}
	d.known = d.in.Clone()
	err := d.decode(answer)
	d.reply.Warnings = append(d.source.Warnings(), d.reply.Warnings...)
	return d.reply, err
}

type wireDecoder struct {
	WireOptions
	in    *List // which others may look at, too
	known *List // its resources, with an index
	// The items that carry the ids of in's resources, and those that the resources have become.
	carriers, owners []*wireItem

	source Source
	begin  string // of the answer
	used   int    // bytes that the answer takes in memory
	prefix string // of the ids
	cut    bool   // the text does not end with a line end, although YAML should
	reply  *Reply
}

func (d *wireDecoder) decode(answer Chunks) error {
	docs, err := d.read(answer)
	switch {
	case IsLimit(err):
		return err
	case err != nil:
		return d.start(err)
	}
	if len(docs) == 0 {
		if d.Role == ValidatorRole {
			d.reply.List = d.in
			return nil
		}
		return d.errorf("", "the function returned no ResourceList: its output is empty")
	}
	items, bare, err := d.items(docs)
	if err != nil {
		return err
	}
	if d.Role == ValidatorRole && len(items) == 0 {
		d.reply.List = d.in
		return nil
	}
	if err := d.checkItems(items, bare); err != nil {
		return err
	}
	if items, err = d.inline(items); err != nil {
		return err
	}
	return d.attach(items)
}

// An item is a resource in the answer; path is its place, for messages.
type wireItem struct {
	value Value
	path  []any
}

func (d *wireDecoder) errorf(field, format string, args ...any) *Error {
	return Errorf(Pos{File: d.source.File}, field, format, args...)
}

// start adds to an error what the answer starts with, which tells most about an answer that is no YAML. If it is some, the data
// of a Secret may follow.
func (d *wireDecoder) start(err error) error {
	var e *Error
	if errors.As(err, &e) && d.begin != "" {
		begin, _, _ := strings.Cut(d.begin, "data")
		begin, _, _ = strings.Cut(begin, "Data")
		return e.Hint("the output starts with %q", begin)
	}
	return err
}

// read returns the documents of an answer that are not empty.
func (d *wireDecoder) read(answer Chunks) ([]wireItem, error) {
	doc, ok, err := d.byItem(answer)
	switch n := answer.Len(); {
	case ok:
		d.cut = !bytes.HasSuffix(answer[len(answer)-1], []byte("\n"))
		return []wireItem{doc}, nil
	case IsLimit(err) || n > MaxFile && err != nil:
		return nil, err
	case n > MaxFile:
		return nil, limitf(Pos{File: d.source.File}, "", "it has %d bytes; it may have more than %d only if the items of the list stand below each other, "+
			"each behind a dash on a line of its own", n, MaxFile)
	}
	text, err := plainText(d.source.File, answer.Join())
	if err != nil {
		return nil, err
	}
	d.begin = text[:min(len(text), 40)]
	d.cut = !strings.HasSuffix(text, "\n") && !strings.HasSuffix(strings.TrimRight(text, " \t"), "}")
	return d.documents(text)
}

// documents returns the documents of a text that are not empty.
func (d *wireDecoder) documents(text string) ([]wireItem, error) {
	if text == "" {
		return nil, nil
	}
	pieces, err := d.source.split(text)
	if err != nil {
		return nil, err
	}
	var docs []wireItem
	p := newParser()
	defer p.release()
	p.room = d.room() - 3*len(text) // the chunks are still there, and what they came in
	for i, pc := range pieces {
		if line := secondInPiece(pc.text); line > 0 {
			return nil, Errorf(Pos{d.source.File, pc.line + line - 1}, "", "found another document behind a document marker")
		}
		v, err := d.source.parsePiece(p, pc)
		if err != nil {
			return nil, err
		}
		if !v.IsEmpty() {
			docs = append(docs, wireItem{v, []any{"document", i}})
		}
		if len(docs) > MaxResources {
			return nil, limitf(Pos{d.source.File, pc.line}, "", "there are more than %d documents", MaxResources)
		}
	}
	d.used = len(text) + p.cut
	return docs, nil
}

// secondInPiece returns the line of the first text that follows a document marker behind other text, 0 if there is none:
// a parser would stop there.
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

// textLine returns the number of the first line of text that says something, -1 if there is none.
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

// items returns the items of the list that the documents are, or the documents themselves. It reads the results.
func (d *wireDecoder) items(docs []wireItem) (items []wireItem, bare bool, err error) {
	for i, doc := range docs {
		v := doc.value
		kind := v.Get("kind").Text()
		switch {
		case v.Type() != Map && len(docs) == 1:
			return nil, false, d.start(d.errorf("", "expected a ResourceList, found %s", v.Type().article()))
		case kind == "ResourceList" && len(docs) > 1:
			return nil, false, d.errorf("", "expected one ResourceList, found %d documents; number %d is a ResourceList", len(docs), i+1)
		case kind == "ResourceList", kind == "List" && len(docs) == 1:
			items, err := d.listItems(v, kind)
			return items, false, err
		case strings.HasSuffix(kind, "List"):
			if err := d.checkList(v, kind); err != nil {
				return nil, false, err
			}
		}
	}
	d.warn("", "the function returned bare documents; it should return a ResourceList")
	if d.cut {
		d.warn("", "the output does not end with a line end: it may be incomplete")
	}
	return docs, true, nil
}

func (d *wireDecoder) warn(field, format string, args ...any) {
	d.reply.Warnings = append(d.reply.Warnings, d.errorf(field, format, args...))
}

func (d *wireDecoder) listItems(v Value, kind string) ([]wireItem, error) {
	d.reply.Results = d.results(v.Get("results"))
	want := map[string][]string{"ResourceList": {ResourceListV1, ResourceListV1beta1, ResourceListV1alpha1}, "List": {"v1"}}[kind]
	switch version := v.Get("apiVersion"); {
	case version.Exists() && !slices.Contains(want, version.Text()):
		return nil, d.errorf("apiVersion", "%q is no version of the %s; expected %s", version.SourceText(), kind, want[0])
	case !version.Exists() && kind == "ResourceList":
		d.warn("apiVersion", "the ResourceList has none; expected %s", want[0])
	}
	list := v.Get("items")
	switch {
	case d.cut:
		return nil, d.errorf("", "the output stops in the middle of a line: it is incomplete").
			Hint("a %s ends with a line end", kind)
	case !list.Exists() && d.Role != ValidatorRole:
		return nil, d.errorf("items", "the %s has no items; a function that has none returns an empty list", kind)
	case !list.IsNull() && list.Type() != Seq:
		return nil, d.errorf("items", "must be a list, not %s", list.Type().article())
	case list.Len() > MaxResources:
		return nil, limitf(Pos{File: d.source.File}, "items", "there are more than %d", MaxResources)
	}
	items := make([]wireItem, 0, list.Len())
	for i, x := range list.Items() {
		items = append(items, wireItem{x, []any{"items", i}})
	}
	return items, nil
}

// checkList returns an error for a document that is a list of something else than its kind says: a function that does not know
// what to answer must not empty the list.
func (d *wireDecoder) checkList(v Value, kind string) error {
	list := v.Get("items")
	if list.Type() != Seq || list.Len() == 0 {
		return d.errorf("", "expected a ResourceList, found the kind %s without items", kind)
	}
	for i, x := range list.Items() {
		if got := x.Get("kind").Text(); kind != "List" && got+"List" != kind {
			return d.errorf(printPath([]any{"items", i}), "expected a ResourceList, found the kind %s with an item of kind %q", kind, got)
		}
	}
	return nil
}

// checkItems returns an error for the first item that is no resource.
func (d *wireDecoder) checkItems(items []wireItem, bare bool) error {
	for _, it := range items {
		if field, msg := checkObject(it.value); msg != "" {
			return d.itemError(it, field, msg, bare)
		}
	}
	return nil
}

func (d *wireDecoder) itemError(it wireItem, field []any, msg string, bare bool) error {
	path := it.path
	if bare {
		if len(field) > 0 {
			msg = printPath(field) + ": " + msg
		}
		return d.start(d.errorf("", "document %d: %s", it.path[1].(int)+1, msg))
	}
	if name := objectName(it.value); name != "" {
		msg += " (" + name + ")"
	}
	return d.errorf(printPath(append(path[:len(path):len(path)], field...)), "%s", msg)
}

// objectName returns kind and name of what may be a resource, as far as it has them.
func objectName(v Value) string {
	return strings.TrimSpace(v.Get("kind").Text() + " " + v.At("metadata", "name").Text())
}

// checkObject returns what is wrong with the parts of an object that everyone relies on, "" if nothing is.
func checkObject(v Value) (field []any, msg string) {
	if v.Type() != Map {
		return nil, "must be a resource, not " + v.Type().article()
	}
	for _, key := range []string{"apiVersion", "kind"} {
		if x := v.Get(key); x.Text() == "" {
			return []any{key}, missing(x)
		}
	}
	meta := v.Get("metadata")
	if !meta.IsNull() && meta.Type() != Map {
		return []any{"metadata"}, "must be a mapping, not " + meta.Type().article()
	}
	if x := meta.Get("name"); x.Text() == "" && !strings.HasSuffix(v.Get("kind").Text(), "List") {
		return []any{"metadata", "name"}, missing(x)
	}
	for _, key := range []string{"annotations", "labels"} {
		x := meta.Get(key)
		if !x.IsNull() && x.Type() != Map {
			return []any{"metadata", key}, "must be a mapping, not " + x.Type().article()
		}
		for _, f := range x.Fields() {
			if f.Value.Type() >= Seq {
				return []any{"metadata", key, f.Key}, "must be a string, not " + f.Value.Type().article()
			}
		}
	}
	return nil, ""
}

func missing(v Value) string {
	switch v.Type() {
	case None:
		return "is missing"
	case String:
		return "is empty"
	}
	return "must be a string, not " + v.Type().article()
}

// inline replaces each FooList by its items, which go to the end.
func (d *wireDecoder) inline(items []wireItem) ([]wireItem, error) {
	n, size := 0, 0
	for _, it := range items {
		if strings.HasSuffix(it.value.Get("kind").Text(), "List") && it.value.Get("items").Exists() {
			k := nested(it.value)
			if k == 0 {
				d.warn(printPath(it.path), "the %s holds no resource", it.value.Get("kind").Text())
			}
			n, size = n+k, size+memory(it.value)
		}
	}
	if n == 0 && size == 0 {
		return items, nil
	}
	switch n += len(items); {
	case n > MaxResources:
		return nil, limitf(Pos{File: d.source.File}, "", "the lists have more than %d resources", MaxResources)
	case d.used+size+n*itemRoom > d.room():
		return nil, limitf(Pos{File: d.source.File}, "", "%s", tooMany)
	}
	docs := make([]document, len(items))
	for i, it := range items {
		docs[i] = document{value: it.value, path: it.path}
	}
	docs, err := d.source.inlineLists(docs)
	if err != nil {
		return nil, err
	}
	items = items[:0]
	for _, doc := range docs {
		items = append(items, wireItem{doc.value, doc.path})
	}
	return items, d.checkItems(items, false)
}

// nested returns how many resources are in a FooList, those in lists of lists included.
func nested(list Value) int {
	n := 0
	for _, x := range list.Get("items").Items() {
		if strings.HasSuffix(x.Get("kind").Text(), "List") && x.Get("items").Exists() {
			n += nested(x)
		} else {
			n++
		}
	}
	return n
}

// memory returns how many bytes the lists and mappings of v take.
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
