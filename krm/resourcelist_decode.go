package krm

import (
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
// that could be read. [IsTooLarge] knows the errors of answers that are too large. The resources share the memory of answer,
// which must not be changed.
//
// Resources that come back with their id keep what the build knows about them, whatever their name is now. Without an id
// they are new. in is not changed.
func DecodeResourceList(answer Chunks, in *List, o WireOptions) (*Reply, error) {
	d := wireDecoder{WireOptions: o, in: in, reply: &Reply{}, stream: o.stream()}
	if in == nil {
		d.in = NewList()
	}
	d.known = d.in.Clone()
	err := d.decode(answer)
	d.reply.Warnings = append(d.stream.Warnings(), d.reply.Warnings...)
	return d.reply, err
}

type wireDecoder struct {
	WireOptions
	in    *List // which others may look at, too
	known *List // its resources, with an index
	// The items that carry the ids of in's resources, and those that the resources have become.
	carriers, owners []*Item

	stream Stream
	prefix string // of the ids
	reply  *Reply
}

func (d *wireDecoder) decode(answer Chunks) error {
	docs, err := d.stream.Read(answer)
	switch {
	case IsTooLarge(err):
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

// What an answer may take in memory, unless the function may write nearly as much.
const maxRoom = 416 << 20

// stream returns what reads the answer.
func (o WireOptions) stream() Stream {
	return Stream{Name: "output of " + o.Name, MaxItems: MaxResources, Room: int(max(maxRoom, o.Output/2*3))}
}

func (d *wireDecoder) errorf(field, format string, args ...any) *Error {
	return Errorf(Pos{File: d.stream.Name}, field, format, args...)
}

// start adds to an error what the answer starts with, which tells most about an answer that is no YAML.
func (d *wireDecoder) start(err error) error {
	var e *Error
	if begin := d.stream.Begin(); begin != "" && errors.As(err, &e) {
		return e.Hint("the output starts with %q", begin)
	}
	return err
}

// items returns the items of the list that the documents are, or the documents themselves. It reads the results.
func (d *wireDecoder) items(docs []Item) (items []Item, bare bool, err error) {
	for i, doc := range docs {
		v := doc.Value
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
	if d.stream.Cut() {
		d.warn("", "the output does not end with a line end: it may be incomplete")
	}
	return docs, true, nil
}

func (d *wireDecoder) warn(field, format string, args ...any) {
	d.reply.Warnings = append(d.reply.Warnings, d.errorf(field, format, args...))
}

func (d *wireDecoder) listItems(v Value, kind string) ([]Item, error) {
	d.reply.Results = readResults(v.Get("results"))
	want := map[string][]string{"ResourceList": {ResourceListV1, ResourceListV1beta1, ResourceListV1alpha1}, "List": {"v1"}}[kind]
	switch version := v.Get("apiVersion"); {
	case version.Exists() && !slices.Contains(want, version.Text()):
		return nil, d.errorf("apiVersion", "%q is no version of the %s; expected %s", version.SourceText(), kind, want[0])
	case !version.Exists() && kind == "ResourceList":
		d.warn("apiVersion", "the ResourceList has none; expected %s", want[0])
	}
	list := v.Get("items")
	switch {
	case d.stream.Cut():
		return nil, d.errorf("", "the output stops in the middle of a line: it is incomplete").
			Hint("a %s ends with a line end", kind)
	case !list.Exists() && d.Role != ValidatorRole:
		return nil, d.errorf("items", "the %s has no items; a function that has none returns an empty list", kind)
	case !list.IsNull() && list.Type() != Seq:
		return nil, d.errorf("items", "must be a list, not %s", list.Type().article())
	case list.Len() > MaxResources:
		return nil, TooLargef(Pos{File: d.stream.Name}, "items", "there are more than %d", MaxResources)
	}
	items := make([]Item, 0, list.Len())
	for i, x := range list.Items() {
		items = append(items, Item{x, []any{"items", i}})
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
			return d.errorf(FieldPath([]any{"items", i}), "expected a ResourceList, found the kind %s with an item of kind %q", kind, got)
		}
	}
	return nil
}

// checkItems returns an error for the first item that is no resource.
func (d *wireDecoder) checkItems(items []Item, bare bool) error {
	for _, it := range items {
		if field, msg := checkObject(it.Value); msg != "" {
			return d.itemError(it, field, msg, bare)
		}
	}
	return nil
}

func (d *wireDecoder) itemError(it Item, field []any, msg string, bare bool) error {
	path := it.Path
	if bare {
		if len(field) > 0 {
			msg = FieldPath(field) + ": " + msg
		}
		return d.start(d.errorf("", "document %d: %s", it.Path[1].(int)+1, msg))
	}
	if name := objectName(it.Value); name != "" {
		msg += " (" + name + ")"
	}
	return d.errorf(FieldPath(append(path[:len(path):len(path)], field...)), "%s", msg)
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

// inline replaces each FooList by its items.
func (d *wireDecoder) inline(items []Item) ([]Item, error) {
	for _, it := range items {
		if IsList(it.Value) && CountNested(it.Value) == 0 {
			d.warn(FieldPath(it.Path), "the %s holds no resource", it.Value.Get("kind").Text())
		}
	}
	items, found, err := d.stream.Inline(items)
	if err != nil || !found {
		return items, err
	}
	return items, d.checkItems(items, false)
}
