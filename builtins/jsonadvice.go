package builtins

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// doubts returns warnings about operations that are accepted but probably not intended:
// kustomize treats a missing value as null and ignores unknown fields.
func (p jsonPatch) doubts(doc yaml.Value) []*diag.Error {
	var all []*diag.Error
	doubt := func(i int, field string, format string, args ...any) *diag.Error {
		err := p.text.at(fmt.Errorf("operation %d (%s): %w", i+1, p.ops[i].describe(), fmt.Errorf(format, args...)), 0, i, field)
		w, ok := err.(*diag.Error)
		if !ok {
			w = diag.Errorf(diag.Pos{}, "", "%w", err)
		}
		all = append(all, w)
		return w
	}
	for i, op := range doc.Items() {
		o := &p.ops[i]
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
			doubt(i, "path",
				"the path does not begin with a slash: the text before the first slash is ignored").With(diag.JSONPatchOperation).Hint(
				"write path: /%s", o.path.text)
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
		if n, key := itemNamed(token, at.Items()); n >= 0 {
			return []string{fmt.Sprintf("JSON patches count items from 0: %s is item %d today, %q", token, n,
				pointerText(slices.Concat(p.tokens[:i], []string{strconv.Itoa(n)}, rest))),
				fmt.Sprintf("to select the item by name, use replacements, whose paths accept %s", key)}
		}
		if _, err := strconv.Atoi(token); err != nil && token != "-" {
			return []string{fmt.Sprintf("%s is a list of %s: write an index, counted from 0, instead of %q%s",
				parent, diag.Count(at.Len(), "item"), token, itemNames(at.Items()))}
		}
		return []string{fmt.Sprintf("%s is a list of %s, counted from 0; to append an item, use %s/- with op: add", parent,
			diag.Count(at.Len(), "item"), parent)}
	case yaml.Map:
	default:
		return []string{fmt.Sprintf("%s is %s and has no fields", orRoot(parent), at.Type().Article())}
	}
	keys := make([]string, 0, at.Len())
	for _, f := range at.Fields() {
		keys = append(keys, f.Key)
	}
	if whole := strings.Join(p.tokens[i:], "/"); len(rest) > 0 &&
		(at.Get(whole).Exists() || strings.HasSuffix(parent, "/annotations") || strings.HasSuffix(parent, "/labels")) {
		return []string{fmt.Sprintf("write a slash in a name as ~1: %s/%s", parent, strings.ReplaceAll(whole, "/", "~1"))}
	}
	if name, rest, ok := strings.Cut(strings.TrimSuffix(token, "]"), "["); ok && at.Get(name).Type() == yaml.Seq {
		inside := jsonPointer{tokens: slices.Concat(p.tokens[:i], []string{name, rest}, p.tokens[i+1:])}
		if _, failed := follow(doc, inside.tokens); failed >= 0 && strings.Contains(rest, "=") {
			inside.tokens[i+1] = "[" + rest + "]"
			return inside.advice(doc, op)
		}
		return []string{fmt.Sprintf("did you mean %q?", pointerText(inside.tokens))}
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

// itemNamed returns the index of the item that a token selects in the manner of replacements, as
// [key=value], or by its name alone, and the form that replacements take. The index is -1 if there
// is none.
func itemNamed(token string, items []yaml.Value) (n int, form string) {
	key, value, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(token, "["), "]"), "=")
	if !ok {
		key, value = "name", token
	}
	n = slices.IndexFunc(items, func(x yaml.Value) bool { return x.Get(key).Text() == value && value != "" })
	return n, "[" + key + "=" + value + "]"
}

// itemNames lists the names of items for a hint, with their indexes.
func itemNames(items []yaml.Value) string {
	var names []string
	for i, item := range items {
		if name := item.Get("name").Text(); name != "" {
			names = append(names, fmt.Sprintf("%d is %s", i, name))
		}
	}
	if names == nil {
		return ""
	}
	return " (" + diag.Some(names) + ")"
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
