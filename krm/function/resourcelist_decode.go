package function

import (
	"errors"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Reply is what a function answered.
type Reply struct {
	// List is the list after the call: for a generator what it made, in its order. For a transformer, resources keep
	// their place and new ones, renamed ones among them, follow in the order of the answer, as kustomize has it. For a
	// validator it is the list that went in.
	List *krm.List
	// Results are the messages of the function, in its order.
	Results []Result
	// Warnings are about answers that are accepted, but not as they should be.
	Warnings []*diag.Error
	// Removed are the resources that went in and did not come out.
	Removed []krm.ID
}

// DecodeResourceList reads the answer of a function that got in by [EncodeResourceList] with the same options; a
// generator's in is nil. It accepts one ResourceList or List, as YAML or JSON, and with a warning documents that are
// resources themselves. Everything else is an [*Error] that names the item and the field; the Reply then has the results
// that could be read. [diag.IsTooLarge] knows the errors of answers that are too large. The resources share the memory of answer,
// which must not be changed.
//
// Resources that come back with their id keep what the build knows about them, whatever their name is now. Without an id
// they are new. in is not changed.
func DecodeResourceList(answer yaml.Chunks, in *krm.List, o WireOptions) (*Reply, error) {
	d := wireDecoder{WireOptions: o, in: in, reply: &Reply{}, stream: o.stream()}
	if in == nil {
		d.in = krm.NewList()
	}
	d.known = d.in.Clone()
	err := d.decode(answer)
	d.reply.Warnings = append(d.stream.Warnings(), d.reply.Warnings...)
	return d.reply, err
}

type wireDecoder struct {
	WireOptions
	in    *krm.List // which others may look at, too
	known *krm.List // its resources, with an index
	// The items that carry the ids of in's resources, and those that the resources have become.
	carriers, owners []*yaml.Item

	stream yaml.Stream
	prefix string // of the ids
	reply  *Reply
	made   []*krm.Resource // of the items of a call with files
}

func (d *wireDecoder) decode(answer yaml.Chunks) error {
	docs, err := d.stream.Read(answer)
	switch {
	case diag.IsTooLarge(err):
		return err
	case err != nil:
		if stray := d.stray(answer); stray != nil {
			return stray
		}
		return d.start(err)
	}
	none := func(it yaml.Item) bool { return !it.Value.Get("apiVersion").Exists() && !it.Value.Get("kind").Exists() }
	if slices.ContainsFunc(docs, none) {
		if stray := d.stray(answer); stray != nil {
			return stray
		}
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
	if err := d.attach(items); err != nil {
		return err
	}
	if d.Comments != nil && d.Role != ValidatorRole {
		d.Comments.Answered(answer, d.made)
	}
	return nil
}

// What an answer may take in memory, unless the function may write nearly as much.
const maxRoom = 416 << 20

// stream returns what reads the answer.
func (o WireOptions) stream() yaml.Stream {
	return yaml.Stream{Name: "output of " + o.Name, MaxItems: krm.MaxResources, Room: int(max(maxRoom, o.Output/2*3))}
}

func (d *wireDecoder) errorf(field, format string, args ...any) *diag.Error {
	return diag.Errorf(diag.Pos{File: d.stream.Name}, field, format, args...)
}

// start adds to an error how the answer starts: if it is no YAML, that tells most.
func (d *wireDecoder) start(err error) error {
	var e *diag.Error
	if begin := d.stream.Begin(); begin != "" && errors.As(err, &e) {
		return e.Hint("the output starts with %q", begin)
	}
	return err
}

// items returns the items of the list that the documents are, or the documents themselves. It reads the results.
func (d *wireDecoder) items(docs []yaml.Item) (items []yaml.Item, bare bool, err error) {
	for i, doc := range docs {
		v := doc.Value
		kind := v.Get("kind").Text()
		switch {
		case v.Type() != yaml.Map && len(docs) == 1:
			return nil, false, d.start(d.errorf("", "expected a ResourceList, found %s", v.Type().Article()))
		case kind == "ResourceList" && len(docs) > 1:
			return nil, false, d.errorf("", "expected one ResourceList, found %d documents; number %d is a ResourceList", len(docs), i+1)
		case kind == "ResourceList", kind == "List" && len(docs) == 1:
			items, err := d.listItems(v, kind)
			if err == nil && kind == "List" {
				d.warn("", "the function returned a List; it should return a ResourceList")
			}
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

func (d *wireDecoder) listItems(v yaml.Value, kind string) ([]yaml.Item, error) {
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
	case !list.IsNull() && list.Type() != yaml.Seq:
		return nil, d.errorf("items", "must be a list, not %s", list.Type().Article())
	case list.Len() > krm.MaxResources:
		return nil, diag.TooLargef(diag.Pos{File: d.stream.Name}, "items", "there are more than %d", krm.MaxResources)
	}
	items := make([]yaml.Item, 0, list.Len())
	for i, x := range list.Items() {
		items = append(items, yaml.Item{Value: x, Path: []any{"items", i}})
	}
	return items, nil
}

// checkList returns an error for a document that is a list of something else than its kind says: a function that does not know
// what to answer must not empty the list.
func (d *wireDecoder) checkList(v yaml.Value, kind string) error {
	list := v.Get("items")
	if list.Type() != yaml.Seq || list.Len() == 0 {
		return d.errorf("", "expected a ResourceList, found the kind %s without items", kind)
	}
	for i, x := range list.Items() {
		if got := x.Get("kind").Text(); kind != "List" && got+"List" != kind {
			return d.errorf(diag.FieldPath([]any{"items", i}), "expected a ResourceList, found the kind %s with an item of kind %q", kind, got)
		}
	}
	return nil
}

// checkItems returns an error for the first item that is no resource.
func (d *wireDecoder) checkItems(items []yaml.Item, bare bool) error {
	for _, it := range items {
		if field, msg := checkObject(it.Value, d.Files); msg != "" {
			return d.itemError(it, field, msg, bare)
		}
	}
	return nil
}

func (d *wireDecoder) itemError(it yaml.Item, field []any, msg string, bare bool) error {
	path := it.Path
	if bare {
		if len(field) > 0 {
			msg = diag.FieldPath(field) + ": " + msg
		}
		return d.start(d.errorf("", "document %d: %s", it.Path[1].(int)+1, msg))
	}
	if name := objectName(it.Value); name != "" {
		msg += " (" + name + ")"
	}
	return d.errorf(diag.FieldPath(append(path[:len(path):len(path)], field...)), "%s", msg)
}

// objectName returns kind and name of what may be a resource, as far as it has them.
func objectName(v yaml.Value) string {
	return strings.TrimSpace(v.Get("kind").Text() + " " + v.At("metadata", "name").Text())
}

// checkObject returns what is wrong with the parts of an object that everyone relies on, "" if nothing is. A nameless one needs no name.
func checkObject(v yaml.Value, nameless bool) (field []any, msg string) {
	if v.Type() != yaml.Map {
		return nil, "must be a resource, not " + v.Type().Article()
	}
	for _, key := range []string{"apiVersion", "kind"} {
		if x := v.Get(key); x.Text() == "" {
			return []any{key}, missing(x)
		}
	}
	meta := v.Get("metadata")
	if !meta.IsNull() && meta.Type() != yaml.Map {
		return []any{"metadata"}, "must be a mapping, not " + meta.Type().Article()
	}
	if x := meta.Get("name"); x.Text() == "" && !nameless && !strings.HasSuffix(v.Get("kind").Text(), "List") {
		return []any{"metadata", "name"}, missing(x)
	}
	for _, key := range []string{"annotations", "labels"} {
		x := meta.Get(key)
		if !x.IsNull() && x.Type() != yaml.Map {
			return []any{"metadata", key}, "must be a mapping, not " + x.Type().Article()
		}
		for _, f := range x.Fields() {
			if f.Value.Type() >= yaml.Seq {
				return []any{"metadata", key, f.Key}, "must be a string, not " + f.Value.Type().Article()
			}
		}
	}
	return nil, ""
}

func missing(v yaml.Value) string {
	switch v.Type() {
	case yaml.None:
		return "is missing"
	case yaml.String:
		return "is empty"
	}
	return "must be a string, not " + v.Type().Article()
}

// inline replaces each FooList by its items.
func (d *wireDecoder) inline(items []yaml.Item) ([]yaml.Item, error) {
	for _, it := range items {
		if yaml.IsList(it.Value) && yaml.CountNested(it.Value) == 0 {
			d.warn(diag.FieldPath(it.Path), "the %s holds no resource", it.Value.Get("kind").Text())
		}
	}
	items, found, err := d.stream.Inline(items)
	if err != nil || !found {
		return items, err
	}
	return items, d.checkItems(items, false)
}
