package function

import (
	"errors"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Reply is the decoded answer of a function.
type Reply struct {
	// List is the list after the call. For a generator, it contains the generated resources in the
	// function's order. For a transformer, resources keep their positions, and new or renamed ones
	// follow in the order of the answer, as in kustomize. For a validator, it is the input list.
	List *krm.List
	// Results are the messages of the function, in its order.
	Results []Result
	// Warnings are about answers that were accepted despite deviations.
	Warnings []*diag.Error
	// Removed are the input resources that are missing from the answer.
	Removed []krm.ID
}

// DecodeResourceList decodes the answer of a function that received in, encoded by
// [EncodeResourceList] with the same options. For a generator, in is nil.
//
// It accepts one ResourceList or List, as YAML or JSON, and, with a warning, bare resource
// documents. Any other answer is a [*diag.Error] that names the item and the field. The Reply then
// contains the results that could be read. [diag.IsTooLarge] reports whether the error is that the
// answer is too large.
//
// A resource that is returned with its id keeps its build state, even if it was renamed. A
// resource without an id is new. in is not changed. The resources share the memory of answer,
// which must not be changed afterwards.
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
	in    *krm.List // input, possibly shared with other readers
	known *krm.List // copy of in, with an index
	// For each resource of in, the item that has its id, and the item that continues it.
	carriers, owners []*yaml.Item

	stream yaml.Stream
	prefix string // prefix of the ids
	reply  *Reply
	made   []*krm.Resource // resources for the items of a call with files
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

// maxRoom is the memory limit for an answer, unless the function's output limit requires more.
const maxRoom = 416 << 20

// stream returns the reader for an answer.
func (o WireOptions) stream() yaml.Stream {
	return yaml.Stream{Name: "output of " + o.Name, MaxItems: krm.MaxResources, Room: int(max(maxRoom, o.Output/2*3))}
}

func (d *wireDecoder) errorf(field, format string, args ...any) *diag.Error {
	return diag.Errorf(diag.Pos{File: d.stream.Name}, field, format, args...)
}

// start adds a hint with the start of the answer to err. If the answer is not YAML, that is the
// most helpful information.
func (d *wireDecoder) start(err error) error {
	var e *diag.Error
	if begin := d.stream.Begin(); begin != "" && errors.As(err, &e) {
		return e.Hint("the output starts with %q", begin)
	}
	return err
}

// items returns the items of the list in docs, or docs themselves if they are bare resources. It
// also reads the results.
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
		d.warn("", "the output does not end with a newline: it may be incomplete")
	}
	return docs, true, nil
}

func (d *wireDecoder) warn(field, format string, args ...any) {
	d.reply.Warnings = append(d.reply.Warnings, d.errorf(field, format, args...))
}

func (d *wireDecoder) listItems(v yaml.Value, kind string) ([]yaml.Item, error) {
	var unknown string
	if d.reply.Results, unknown = readResults(v.Get("results"), SeverityInfo); unknown != "" {
		d.warn("", "results %s are treated as information", unknown)
	}
	want := map[string][]string{"ResourceList": {ResourceListV1, ResourceListV1beta1, ResourceListV1alpha1}, "List": {"v1"}}[kind]
	switch version := v.Get("apiVersion"); {
	case version.Exists() && !slices.Contains(want, version.Text()):
		return nil, d.errorf("apiVersion", "unknown version %q of the %s; expected %s", version.SourceText(), kind, want[0])
	case !version.Exists() && kind == "ResourceList":
		d.warn("apiVersion", "is missing from the ResourceList; expected %s", want[0])
	}
	list := v.Get("items")
	switch {
	case d.stream.Cut():
		return nil, d.errorf("", "the output stops in the middle of a line: it is incomplete").
			Hint("a %s must end with a newline", kind)
	case !list.Exists() && d.Role != ValidatorRole:
		return nil, d.errorf("items", "the %s has no items; a function without resources must return an empty list", kind)
	case !list.IsNull() && list.Type() != yaml.Seq:
		return nil, d.errorf("items", "must be a list, not %s", list.Type().Article())
	case list.Len() > krm.MaxResources:
		return nil, diag.TooLargef(diag.Pos{File: d.stream.Name}, "items", "has more than %d items", krm.MaxResources)
	}
	items := make([]yaml.Item, 0, list.Len())
	for i, x := range list.Items() {
		items = append(items, yaml.Item{Value: x, Path: []any{"items", i}})
	}
	return items, nil
}

// checkList returns an error for a document of a list kind with items of a different kind, or
// without items. A function that returns such a list by mistake must not empty the build's list.
func (d *wireDecoder) checkList(v yaml.Value, kind string) error {
	list := v.Get("items")
	if list.Type() != yaml.Seq || list.Len() == 0 {
		return d.errorf("", "expected a ResourceList, found the kind %s without items", kind)
	}
	for i, x := range list.Items() {
		if got := x.Get("kind").Text(); kind != "List" && got+"List" != kind {
			return d.errorf(diag.FieldPath([]any{"items", i}), "expected a ResourceList, found the kind %s with an item of kind %q",
				kind, got)
		}
	}
	return nil
}

// checkItems returns an error for the first item that is not a resource.
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

// objectName returns the kind and name of v, as far as they exist.
func objectName(v yaml.Value) string {
	return strings.TrimSpace(v.Get("kind").Text() + " " + v.At("metadata", "name").Text())
}

// checkObject returns the first problem in the parts of an object that all code relies on, "" if
// there is none. If nameless is true, the object needs no name.
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

// inline replaces each FooList with its items.
func (d *wireDecoder) inline(items []yaml.Item) ([]yaml.Item, error) {
	for _, it := range items {
		if yaml.IsList(it.Value) && yaml.CountNested(it.Value) == 0 {
			d.warn(diag.FieldPath(it.Path), "the %s contains no resource", it.Value.Get("kind").Text())
		}
	}
	items, found, err := d.stream.Inline(items)
	if err != nil || !found {
		return items, err
	}
	return items, d.checkItems(items, false)
}
