// Follows api/filters/patchjson6902/patchjson6902.go and gopkg.in/evanphx/json-patch.v4.

package builtins

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A jsonPatch is a list of operations from RFC 6902, with the deviations of kustomize's library:
// replace adds a missing field, copy of a missing value copies null, a missing value is null, and
// negative indexes count from the end.
type jsonPatch struct {
	ops  []jsonOp
	text patchText
}

type jsonOp struct {
	op         string
	path, from jsonPointer
	// value is None if the operation has none. size is the number of bytes that value adds.
	value yaml.Value
	size  int
}

// A jsonPointer is a path in an object, both as text and split into names.
type jsonPointer struct {
	text   string
	tokens []string
	err    error // the pointer is invalid; reported when the patch is applied
}

// errNoPath reports an operation on a path that does not exist.
var errNoPath = diag.JSONPatchPath.Errorf("the path does not exist")

// parseJSONPatch parses a patch, as JSON if the text starts with a bracket, otherwise as YAML.
// Mistakes within operations are reported only when the patch is applied, so they are harmless in
// a patch that matches no resource.
func parseJSONPatch(env Env, text patchText) (p jsonPatch, err error) {
	var doc yaml.Value
	src := text.src
	if bytes.HasPrefix(src.Data, []byte("[")) {
		doc, err = parseJSON(src.Data)
	} else {
		doc, err = src.Value()
	}
	if err != nil {
		return p, err
	}
	if doc.Type() != yaml.Seq && !doc.IsNull() {
		return p, diag.Errorf(diag.Pos{}, "", "a JSON patch is a list of operations, this is a %s",
			doc.Type()).With(diag.JSONPatchOperation).
			Hint("put a dash before each operation, for example - {op: add, path: /spec/x, value: 1}")
	}
	p = jsonPatch{make([]jsonOp, 0, doc.Len()), text}
	var errs []error
	for i, op := range doc.Items() {
		if op.Type() != yaml.Map && !op.IsNull() {
			err := diag.Errorf(diag.Pos{}, "", "operation %d must be a mapping, and is of type %s",
				i+1, op.Type()).With(diag.JSONPatchOperation).
				Hint("write it as {op: add, path: /spec/x, value: 1}")
			errs = append(errs, text.at(err, 0, i))
		}
		kind := op.Get("op")
		if kind.Type() != yaml.String {
			kind = yaml.Value{}
		}
		value := rewritten(op.Get("value"))
		p.ops = append(p.ops, jsonOp{kind.Text(), pointer(op, "path"), pointer(op, "from"), value, value.Size(yaml.MaxResource + 1)})
	}
	if env.Warn != nil && errs == nil {
		for _, w := range p.doubts(doc) {
			env.Warn(w)
		}
	}
	return p, errors.Join(errs...)
}

// parseJSON parses exactly one JSON document. Numbers keep their digits.
func parseJSON(data []byte) (yaml.Value, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var x any
	if err := d.Decode(&x); err != nil {
		return yaml.Value{}, diag.JSONPatchOperation.Errorf("not JSON, although it starts with a bracket: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return yaml.Value{}, diag.JSONPatchOperation.Errorf("found more text after the JSON patch")
	}
	return fromJSON(x), nil
}

func fromJSON(x any) yaml.Value {
	switch x := x.(type) {
	case map[string]any:
		fields := make([]yaml.Field, 0, len(x))
		for k, v := range x {
			fields = append(fields, yaml.Field{Key: k, Value: fromJSON(v)})
		}
		slices.SortFunc(fields, func(a, b yaml.Field) int { return strings.Compare(a.Key, b.Key) })
		return yaml.MapOf(fields...)
	case []any:
		items := make([]yaml.Value, len(x))
		for i, v := range x {
			items[i] = fromJSON(v)
		}
		return yaml.SeqOf(items...)
	case json.Number:
		if strings.ContainsAny(x.String(), ".eE") {
			return yaml.Number(yaml.Float, x.String())
		}
		return yaml.Number(yaml.Int, x.String())
	case string:
		return yaml.QuotedStr(x)
	case bool:
		return yaml.BoolValue(x)
	}
	return yaml.NullValue
}

// apply returns doc with all operations applied, or doc itself if nothing changes. The error
// names the failed operation. It wraps [diag.ErrLimit] if the operations add more than room
// bytes. apply adds the containers that an operation add has replaced to over unless it is nil.
func (p jsonPatch) apply(doc yaml.Value, room int, warn Warn, over *overwrites) (yaml.Value, error) {
	d := newDraft(doc)
	current := 0
	warnAt := func(code diag.Code, format string, args ...any) {
		warn(code, "%w", p.text.at(diag.Errorf(diag.Pos{}, "", format, args...), 0, current))
	}
	for i := range p.ops {
		op := &p.ops[i]
		current = i
		added, err := op.apply(d, warnAt, over.in(i))
		if room -= added; room < 0 && err == nil {
			err = errTooLarge()
		}
		if err != nil {
			e := diag.Errorf(diag.Pos{}, "", "operation %d (%s): %w", i+1, op.describe(), err)
			e.Hints = append(e.Hints, op.advice(d.value(), err)...)
			return yaml.Value{}, &opError{e, i}
		}
	}
	return d.finish(), nil
}

// An opError is the failure of an operation.
type opError struct {
	error
	op int
}

func (e *opError) Unwrap() error { return e.error }

// at returns an error of apply with the position of the failed operation.
func (p jsonPatch) at(err error) error {
	var failed *opError
	if errors.As(err, &failed) {
		return p.text.at(err, 0, failed.op)
	}
	return err
}

func (o *jsonOp) describe() string {
	if o.path.err == nil {
		return strings.TrimSpace(o.op + " " + o.path.text)
	}
	return o.op
}

// apply changes doc and returns the size of the added value. It calls replaces with the container
// that an add replaces.
func (o *jsonOp) apply(doc *draft, warn Warn, replaces func(yaml.Value)) (added int, err error) {
	if o.path.err != nil {
		return 0, o.path.err
	}
	path, value := o.path.tokens, o.value
	if !value.Exists() {
		value = yaml.NullValue
	}
	switch o.op {
	case "add":
		return o.size, doc.edit(path, func(in *draft, key string) error {
			if in.from.Type() == yaml.Map && replaces != nil {
				if old, err := in.get(key); err == nil && old.Len() > 0 {
					replaces(old)
				}
			}
			return in.add(key, value)
		})
	case "remove":
		return 0, doc.edit(path, (*draft).remove)
	case "replace":
		if o.path.text == "" {
			return o.size, replaceDocument(doc, value)
		}
		return o.size, doc.edit(path, func(in *draft, key string) error {
			in.open()
			n := len(in.parts)
			err := in.replace(key, value)
			if err == nil && len(in.parts) > n {
				o.missed(in, key, warn)
			}
			return err
		})
	case "test":
		return 0, o.test(doc, path, value)
	case "move", "copy":
		return o.transfer(doc, path)
	}
	return 0, diag.JSONPatchOperation.Errorf("op must be add, remove, replace, move, copy or test")
}

func replaceDocument(doc *draft, value yaml.Value) error {
	if value.Type() != yaml.Map {
		return diag.JSONPatchOperation.Errorf("the whole object can only be replaced by a mapping")
	}
	*doc = draft{from: value}
	return nil
}

// transfer moves or copies a value.
func (o *jsonOp) transfer(doc *draft, path []string) (added int, err error) {
	if o.from.err != nil {
		return 0, o.from.err
	}
	var value yaml.Value
	take := func(in *draft, key string) error {
		if value, err = in.get(key); err != nil || o.op == "copy" {
			return err
		}
		return in.remove(key)
	}
	if err := doc.edit(o.from.tokens, take); err != nil {
		return 0, fmt.Errorf("from %s: %w", o.from.text, err)
	}
	if !value.Exists() {
		value = yaml.NullValue
	}
	if o.op == "copy" {
		added = value.Size(yaml.MaxResource + 1)
	}
	return added, doc.edit(path, func(in *draft, key string) error { return in.add(key, value) })
}

func (o *jsonOp) test(doc *draft, path []string, want yaml.Value) error {
	var got yaml.Value
	if o.path.text == "" {
		got = doc.value()
	} else if err := doc.edit(path, func(in *draft, key string) (err error) {
		got, err = in.get(key)
		return err
	}); err != nil {
		return err
	}
	if !bytes.Equal(yaml.AppendJSON(nil, got), yaml.AppendJSON(nil, want)) {
		return diag.JSONPatchTest.Errorf("the value is different")
	}
	return nil
}

var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")

// pointer parses the JSON pointer in a field of op. It ignores any text before the first slash.
func pointer(op yaml.Value, field string) jsonPointer {
	v := op.Get(field)
	if v.Type() != yaml.String {
		return jsonPointer{err: diag.JSONPatchOperation.Errorf("%s must be a string", field)}
	}
	p := jsonPointer{text: v.Text(), tokens: strings.Split(v.Text(), "/")[1:]}
	for i, t := range p.tokens {
		if strings.Contains(t, "~") {
			p.tokens[i] = unescapePointer.Replace(t)
		}
	}
	return p
}
