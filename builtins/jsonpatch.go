package builtins

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/krm"
)

// A jsonPatch is a list of operations as RFC 6902 defines them, with the deviations of the library that kustomize uses:
// replacing a field that does not exist adds it, copying one that does not exist adds a null, a value that is not given
// is null, and negative indexes count from the end.
type jsonPatch []jsonOp

type jsonOp struct {
	op   string
	path krm.Value // a string, if the patch is right
	from krm.Value
	// value is None if the operation has none.
	value krm.Value
}

// errNoPath says that the place that an operation names does not exist.
var errNoPath = errors.New("there is nothing at this path")

// parseJSONPatch reads a patch in JSON, if text starts with a bracket, or YAML. Mistakes inside of operations show only
// when the patch is applied: a patch that never meets a resource may have them.
func parseJSONPatch(src *krm.Source) (jsonPatch, error) {
	var doc krm.Value
	var err error
	if bytes.HasPrefix(src.Data, []byte("[")) {
		doc, err = parseJSON(src.Data)
	} else {
		doc, err = src.Value()
	}
	if err != nil {
		return nil, err
	}
	if doc.Type() != krm.Seq && !doc.IsNull() {
		return nil, fmt.Errorf("a JSON patch is a list of operations, this is a %s", doc.Type())
	}
	patch := make(jsonPatch, 0, doc.Len())
	var errs []error
	for i, op := range doc.Items() {
		if op.Type() != krm.Map && !op.IsNull() {
			errs = append(errs, fmt.Errorf("operation %d must be a mapping, and is of type %s", i+1, op.Type()))
		}
		kind := op.Get("op")
		if kind.Type() != krm.String {
			kind = krm.Value{}
		}
		patch = append(patch, jsonOp{kind.Text(), op.Get("path"), op.Get("from"), rewritten(op.Get("value"))})
	}
	return patch, errors.Join(errs...)
}

// parseJSON reads one JSON document; numbers keep their digits.
func parseJSON(data []byte) (krm.Value, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var x any
	if err := d.Decode(&x); err != nil {
		return krm.Value{}, fmt.Errorf("not JSON, although it starts with a bracket: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return krm.Value{}, errors.New("found more text behind the JSON patch")
	}
	return fromJSON(x), nil
}

func fromJSON(x any) krm.Value {
	switch x := x.(type) {
	case map[string]any:
		fields := make([]krm.Field, 0, len(x))
		for k, v := range x {
			fields = append(fields, krm.Field{Key: k, Value: fromJSON(v)})
		}
		slices.SortFunc(fields, func(a, b krm.Field) int { return strings.Compare(a.Key, b.Key) })
		return krm.MapOf(fields...)
	case []any:
		items := make([]krm.Value, len(x))
		for i, v := range x {
			items[i] = fromJSON(v)
		}
		return krm.SeqOf(items...)
	case json.Number:
		if strings.ContainsAny(x.String(), ".eE") {
			return krm.Number(krm.Float, x.String())
		}
		return krm.Number(krm.Int, x.String())
	case string:
		return krm.QuotedStr(x)
	case bool:
		return krm.BoolValue(x)
	}
	return krm.NullValue
}

// apply returns doc changed by all operations. The error names the operation that failed; then nothing is changed.
func (p jsonPatch) apply(doc krm.Value) (krm.Value, error) {
	for i, op := range p {
		var err error
		if doc, err = op.apply(doc); err != nil {
			return krm.Value{}, fmt.Errorf("operation %d (%s): %w", i+1, op.describe(), err)
		}
	}
	return doc, nil
}

func (o *jsonOp) describe() string {
	if o.path.Type() == krm.String {
		return strings.TrimSpace(o.op + " " + o.path.Text())
	}
	return o.op
}

func (o *jsonOp) apply(doc krm.Value) (krm.Value, error) {
	path, err := pointer("path", o.path)
	if err != nil {
		return doc, err
	}
	value := o.value
	if !value.Exists() {
		value = krm.NullValue
	}
	switch o.op {
	case "add":
		return edit(doc, path, func(in krm.Value, key string) (krm.Value, error) { return addAt(in, key, value) })
	case "remove":
		return edit(doc, path, removeAt)
	case "replace":
		if o.path.Text() == "" {
			return replaceDocument(value)
		}
		return edit(doc, path, func(in krm.Value, key string) (krm.Value, error) { return replaceAt(in, key, value) })
	case "test":
		return doc, o.test(doc, path, value)
	case "move", "copy":
		return o.transfer(doc, path)
	}
	return doc, errors.New("op must be add, remove, replace, move, copy or test")
}

func replaceDocument(value krm.Value) (krm.Value, error) {
	if value.Type() != krm.Map {
		return value, errors.New("the whole object can only be replaced by a mapping")
	}
	return value, nil
}

// transfer moves or copies a value.
func (o *jsonOp) transfer(doc krm.Value, path []string) (krm.Value, error) {
	from, err := pointer("from", o.from)
	if err != nil {
		return doc, err
	}
	var value krm.Value
	take := func(in krm.Value, key string) (krm.Value, error) {
		if value, err = getAt(in, key); err != nil || o.op == "copy" {
			return in, err
		}
		return removeAt(in, key)
	}
	if doc, err = edit(doc, from, take); err != nil {
		return doc, fmt.Errorf("from %s: %w", o.from.Text(), err)
	}
	if !value.Exists() {
		value = krm.NullValue
	}
	return edit(doc, path, func(in krm.Value, key string) (krm.Value, error) { return addAt(in, key, value) })
}

func (o *jsonOp) test(doc krm.Value, path []string, want krm.Value) error {
	got := doc
	if o.path.Text() != "" {
		_, err := edit(doc, path, func(in krm.Value, key string) (_ krm.Value, err error) {
			got, err = getAt(in, key)
			return in, err
		})
		if err != nil {
			return err
		}
	}
	if !bytes.Equal(krm.AppendJSON(nil, got), krm.AppendJSON(nil, want)) {
		return errors.New("the value is another one")
	}
	return nil
}

// pointer splits a JSON pointer. What stands in front of the first slash does not count.
func pointer(field string, v krm.Value) ([]string, error) {
	if v.Type() != krm.String {
		return nil, fmt.Errorf("%s must be a string", field)
	}
	tokens := strings.Split(v.Text(), "/")[1:]
	for i, t := range tokens {
		if strings.Contains(t, "~") {
			tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(t)
		}
	}
	return tokens, nil
}

// edit returns doc with the mapping or list that holds the last token of path replaced by what change returns for it.
func edit(doc krm.Value, path []string, change func(in krm.Value, key string) (krm.Value, error)) (krm.Value, error) {
	switch {
	case len(path) == 0 || doc.Type() != krm.Map && doc.Type() != krm.Seq:
		return doc, errNoPath
	case len(path) == 1:
		return change(doc, path[0])
	}
	old, err := getAt(doc, path[0])
	if err != nil {
		return doc, errNoPath
	}
	x, err := edit(old, path[1:], change)
	if err != nil || x.Same(old) {
		return doc, err
	}
	return replaceAt(doc, path[0], x)
}

// index returns the position that token means in a list of n places.
func index(token string, n int) (int, error) {
	i, err := strconv.Atoi(token)
	if err != nil {
		return 0, fmt.Errorf("%q is no index of a list", token)
	}
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return 0, fmt.Errorf("index %s is out of range", token)
	}
	return i, nil
}

func getAt(in krm.Value, key string) (krm.Value, error) {
	if in.Type() == krm.Map {
		return in.Get(key), nil
	}
	i, err := index(key, in.Len())
	if err != nil {
		return krm.Value{}, err
	}
	return in.Items()[i], nil
}

func addAt(in krm.Value, key string, x krm.Value) (krm.Value, error) {
	if in.Type() == krm.Map {
		return setField(in, key, x), nil
	}
	i := in.Len()
	if key != "-" {
		var err error
		if i, err = index(key, in.Len()+1); err != nil {
			return in, err
		}
	}
	return krm.SeqOf(slices.Insert(slices.Clone(in.Items()), i, x)...), nil
}

func replaceAt(in krm.Value, key string, x krm.Value) (krm.Value, error) {
	if in.Type() == krm.Map {
		return setField(in, key, x), nil
	}
	i, err := index(key, in.Len())
	if err != nil {
		return in, err
	}
	if in.Items()[i].Equal(x) {
		return in, nil
	}
	return in.WithItem(i, x), nil
}

// setField returns in itself if the field has the value already.
func setField(in krm.Value, key string, x krm.Value) krm.Value {
	if old := in.Get(key); old.Exists() && old.Equal(x) {
		return in
	}
	return in.With(key, x)
}

func removeAt(in krm.Value, key string) (krm.Value, error) {
	if in.Type() == krm.Map {
		if !in.Get(key).Exists() {
			return in, errNoPath
		}
		return in.Without(key), nil
	}
	i, err := index(key, in.Len())
	if err != nil {
		return in, err
	}
	return krm.SeqOf(slices.Delete(slices.Clone(in.Items()), i, i+1)...), nil
}
