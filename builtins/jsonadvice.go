package builtins

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// doubts returns warnings about operations in src that are accepted but probably not intended:
// kustomize treats a missing value as null and ignores unknown fields. If src is a file, the
// warnings have the line of the operation.
func (p jsonPatch) doubts(src *yaml.Source, doc yaml.Value) []*diag.Error {
	var all []*diag.Error
	doubt := func(i int, field string, format string, args ...any) *diag.Error {
		w := diag.Errorf(diag.Pos{}, "", "operation %d (%s): %w", i+1, p[i].describe(), fmt.Errorf(format, args...))
		if src.File != "" {
			w.Pos = src.Locate(0, i, field)
		}
		all = append(all, w)
		return w
	}
	for i, op := range doc.Items() {
		o := &p[i]
		for _, f := range op.Fields() {
			if known := []string{"op", "path", "from", "value"}; !slices.Contains(known, f.Key) {
				w := doubt(i, f.Key, "unknown field %q is ignored", f.Key).With(diag.UnknownField)
				if w.Hints = diag.DidYouMean(f.Key, known); w.Hints == nil {
					w.Hint("the fields are: %s", strings.Join(known, ", "))
				}
			}
		}
		if (o.op == "add" || o.op == "replace" || o.op == "test") && !o.value.Exists() {
			doubt(i, "path", "has no value, so null is used").With(diag.JSONPatchOperation).Hint("add a value, or use op: remove")
		}
		if o.path.err == nil && o.path.text != "" && o.path.text[0] != '/' {
			doubt(i, "path", "the path does not begin with a slash: the text before the first slash is ignored").With(diag.JSONPatchOperation).Hint("write path: /%s", o.path.text)
		}
	}
	return all
}

// advice returns hints for an operation that has failed with err. doc is the object before the
// operation.
func (o *jsonOp) advice(doc yaml.Value, err error) []string {
	switch {
	case (o.op == "move" || o.op == "copy") && o.from.err != nil:
		return []string{"set from to the path of the value to move or copy"}
	case o.path.err != nil:
		return []string{"write path with a slash before each name, for example /spec/replicas"}
	case !slices.Contains(jsonOps, o.op):
		if near := diag.DidYouMean(o.op, jsonOps); near != nil {
			return near
		}
		return []string{"use add, which sets a field whether it exists or not, or replace"}
	case o.op == "test":
		if v, failed := follow(doc, o.path.tokens); failed < 0 {
			return []string{fmt.Sprintf("found %s at %s: change it, or the value of the operation", v.Type().Article(), o.path.text)}
		}
	}
	path := o.path
	if v, failed := follow(doc, o.from.tokens); (o.op == "move" || o.op == "copy") && (failed >= 0 || !v.Exists()) {
		path = o.from
	}
	return path.advice(doc, o.op)
}

var jsonOps = []string{"add", "remove", "replace", "move", "copy", "test"}

// follow walks from doc along tokens. It returns the last existing value and the index of the
// first token that leads nowhere, -1 if all tokens lead to a value.
func follow(doc yaml.Value, tokens []string) (yaml.Value, int) {
	for i, token := range tokens {
		var next yaml.Value
		switch doc.Type() {
		case yaml.Map:
			next = doc.Get(token)
		case yaml.Seq:
			if n, err := index(token, doc.Len()); err == nil {
				next = doc.Items()[n]
			}
		}
		if !next.Exists() {
			return doc, i
		}
		doc = next
	}
	return doc, -1
}

// advice returns hints for a path that leads nowhere in doc.
func (p jsonPointer) advice(doc yaml.Value, op string) []string {
	at, i := follow(doc, p.tokens)
	if i < 0 {
		return nil
	}
	parent, token, rest := pointerText(p.tokens[:i]), p.tokens[i], p.tokens[i+1:]
	switch at.Type() {
	case yaml.Seq:
		return []string{fmt.Sprintf("%s is a list of %s, counted from 0; to append an item, use %s/- with op: add", parent, diag.Count(at.Len(), "item"), parent)}
	case yaml.Map:
	default:
		return []string{fmt.Sprintf("%s is %s and has no fields", orRoot(parent), at.Type().Article())}
	}
	keys := make([]string, 0, at.Len())
	for _, f := range at.Fields() {
		keys = append(keys, f.Key)
	}
	if whole := strings.Join(p.tokens[i:], "/"); len(rest) > 0 && (at.Get(whole).Exists() || strings.HasSuffix(parent, "/annotations") || strings.HasSuffix(parent, "/labels")) {
		return []string{fmt.Sprintf("write a slash in a name as ~1: %s/%s", parent, strings.ReplaceAll(whole, "/", "~1"))}
	}
	if near := nearField(token, keys); near != nil {
		return []string{fmt.Sprintf("did you mean %q?", pointerText(slices.Concat(p.tokens[:i], near, rest)))}
	}
	if op == "add" && len(rest) > 0 {
		value := "{}"
		if _, err := strconv.Atoi(rest[0]); err == nil || rest[0] == "-" {
			value = "[]"
		}
		return []string{fmt.Sprintf("add the missing parent first: op: add, path: %s/%s, value: %s", parent, pointerToken(token), value)}
	}
	return []string{fmt.Sprintf("%s has: %s", orRoot(parent), diag.Some(keys))}
}

// nearField returns the path to the field that name probably means, nil if there is none. Dots in
// name may separate nested fields if the first of them exists.
func nearField(name string, fields []string) []string {
	if first, _, dots := strings.Cut(name, "."); dots && slices.Contains(fields, first) {
		return strings.Split(name, ".")
	}
	if near := diag.Nearest(name, fields); near != "" {
		return []string{near}
	}
	return nil
}

func orRoot(path string) string {
	if path == "" {
		return "the object"
	}
	return path
}

// pointerText returns the JSON pointer with the given tokens.
func pointerText(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(pointerToken(t))
	}
	return b.String()
}

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

func pointerToken(token string) string { return escapePointer.Replace(token) }

// missed warns if a replace has added a field, as kustomize does, although a different field was
// probably meant.
func (o *jsonOp) missed(in *draft, key string, warn Warn) {
	var fields []string
	for _, p := range in.parts {
		if p.value.Exists() && p.key != key {
			fields = append(fields, p.key)
		}
	}
	if near := nearField(key, fields); near != nil {
		path := slices.Concat(o.path.tokens[:len(o.path.tokens)-1], near)
		warn(diag.JSONPatchPath, "%s does not exist, so replace adds it%s", o.path.text, diag.Next(func() []string {
			return []string{fmt.Sprintf("did you mean %q?", pointerText(path))}
		}))
	}
}
