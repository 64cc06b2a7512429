// Package secret finds Kubernetes Secrets and their values, and hides the values. All code that
// shows, writes or caches resources uses it, so that there is one definition of a Secret.
//
// A Secret is an object of the kind Secret in the core group, at any depth: in a list of any kind,
// in the objects of a Template, in a field of a custom resource. The items of a SecretList are
// Secrets even without a kind. A text may contain the manifest of a Secret, in YAML or JSON: a
// script in a ConfigMap, or the annotation in which kubectl keeps the whole object. A reference,
// which has a name and no metadata, is not a Secret. Neither are a SealedSecret or an
// ExternalSecret and their templates, nor the kind Secret of another group. The encrypted values of
// a Secret in sops format are values like any other.
package secret

import (
	"iter"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/krm/secret/words"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Hidden replaces a value that is not shown.
const Hidden = "(hidden)"

// LastApplied is the annotation in which kubectl keeps a copy of the whole object.
const LastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Is reports whether v itself is a Secret.
func Is(v yaml.Value) bool {
	return isCore(v, "Secret") && slices.ContainsFunc([]string{"metadata", "data", "stringData"},
		func(field string) bool { return v.Get(field).Exists() })
}

func isCore(v yaml.Value, kind string) bool {
	return v.Get("kind").Text() == kind && !strings.Contains(v.Get("apiVersion").Text(), "/")
}

// Fields returns the fields of v with values of Secrets. It is nil if v itself is neither a Secret
// nor a SecretList.
func Fields(v yaml.Value) []string {
	switch {
	case Is(v):
		return []string{"data", "stringData"}
	case isCore(v, "SecretList"):
		return []string{"items"}
	}
	return nil
}

// In reports whether v is a Secret, or contains one at any depth or in a text. The Secret need not
// have values.
func In(v yaml.Value) bool { return in(v, 0) }

// in visits each value that is cached or written. The plain loops are for speed.
func in(v yaml.Value, depth int) bool {
	switch v.Type() {
	case yaml.String:
		if text := v.Text(); len(text) >= shortest {
			_, found := manifests(text, depth)
			return found
		}
	case yaml.Seq:
		for _, x := range v.Items() {
			if in(x, depth) {
				return true
			}
		}
	case yaml.Map:
		for _, f := range v.Fields() {
			if f.Key == "kind" && Fields(v) != nil || in(f.Value, depth) {
				return true
			}
		}
	}
	return false
}

// HasValues reports whether v has values of Secrets.
func HasValues(v yaml.Value) bool {
	for range Values(v) {
		return true
	}
	return false
}

// Values yields each scalar of the Secrets in v: of data in its encoded form, of stringData, and of
// the annotation in which kubectl keeps the whole object. For a text with the manifest of a Secret,
// it yields the values in the manifest, or the text itself if it cannot be parsed.
func Values(v yaml.Value) iter.Seq[yaml.Value] {
	return func(yield func(yaml.Value) bool) { visit(v, 0, yield) }
}

// visit calls yield for the values in v. It stops and returns false when yield returns false.
func visit(v yaml.Value, depth int, yield func(yaml.Value) bool) bool {
	more := true
	Edit(v, func(x yaml.Value, at Place) yaml.Value {
		docs, found := manifests(x.Text(), depth)
		switch {
		case !more:
		case at != Text || found && len(docs) == 0:
			more = scalars(x, yield)
		default:
			more = !slices.ContainsFunc(docs, func(doc yaml.Value) bool { return !visit(doc, depth+1, yield) })
		}
		return x
	})
	return more
}

// scalars calls yield for the scalars in v. It stops and returns false when yield returns false.
func scalars(v yaml.Value, yield func(yaml.Value) bool) bool {
	switch v.Type() {
	case yaml.Seq:
		return !slices.ContainsFunc(v.Items(), func(x yaml.Value) bool { return !scalars(x, yield) })
	case yaml.Map:
		return !slices.ContainsFunc(v.Fields(), func(f yaml.Field) bool { return !scalars(f.Value, yield) })
	}
	return !v.IsScalar() || yield(v)
}

// Hide returns v without the values of Secrets and without passwords in addresses. A text that
// contains a Secret is hidden as a whole.
func Hide(v yaml.Value) yaml.Value {
	return hideAddresses(Edit(v, func(yaml.Value, Place) yaml.Value { return yaml.Str(Hidden) }))
}

// A Place is the location of a value of a Secret.
type Place uint8

// The places of values.
const (
	Data  Place = iota // an entry of data, which is in base64
	Plain              // an entry of stringData, or the annotation in which kubectl keeps the whole object
	Text               // outside of a Secret: a whole text that contains one
)

// Edit returns v with each value of a Secret replaced by the result of edit, or v itself if nothing
// changes. A field data that is not a mapping is one value.
func Edit(v yaml.Value, edit func(x yaml.Value, at Place) yaml.Value) yaml.Value {
	switch v.Type() {
	case yaml.String:
		if _, found := manifests(v.Text(), 0); found {
			return edit(v, Text)
		}
	case yaml.Seq:
		v, _ = v.EditItems(func(x yaml.Value) (yaml.Value, error) { return Edit(x, edit), nil })
	case yaml.Map:
		if Is(v) {
			return editSecret(v, edit)
		}
		list := isCore(v, "SecretList")
		return v.EditFields(func(f yaml.Field) yaml.Value {
			if list && f.Key == "items" {
				items, _ := f.Value.EditItems(func(x yaml.Value) (yaml.Value, error) { return editSecret(x, edit), nil })
				return items
			}
			return Edit(f.Value, edit)
		})
	}
	return v
}

// editSecret returns a Secret, or an item of a SecretList, with its values replaced.
func editSecret(v yaml.Value, edit func(yaml.Value, Place) yaml.Value) yaml.Value {
	return v.EditFields(func(f yaml.Field) yaml.Value {
		switch f.Key {
		case "data":
			return editEntries(f.Value, Data, edit)
		case "stringData":
			return editEntries(f.Value, Plain, edit)
		case "metadata":
			if x := f.Value.At("annotations", LastApplied); !x.IsEmpty() {
				f.Value = f.Value.WithAt(edit(x, Plain), "annotations", LastApplied)
			}
		}
		return Edit(f.Value, edit)
	})
}

func editEntries(v yaml.Value, at Place, edit func(yaml.Value, Place) yaml.Value) yaml.Value {
	switch {
	case v.IsNull():
		return v
	case v.Type() == yaml.Map:
		return v.EditFields(func(f yaml.Field) yaml.Value { return edit(f.Value, at) })
	}
	return edit(v, at)
}

// InText reports whether a text contains the manifest of a Secret.
func InText(text string) bool {
	_, found := manifests(text, 0)
	return found
}

const (
	shortest = len("kind:Secret") // text with a manifest
	maxText  = 1 << 20            // bytes of a text that is parsed; longer ones are searched for words
	maxDepth = 4                  // of texts within texts that are parsed
)

// manifests reports whether a text contains the manifest of a Secret, and returns the documents of
// the text. docs is nil if the text cannot be parsed, such as a script or a helm template. Such
// texts, and comments, are searched for words.
func manifests(text string, depth int) (docs []yaml.Value, found bool) {
	if !words.NamesKind(text) {
		return nil, false
	}
	if docs = documents(text); docs == nil || depth == maxDepth {
		return nil, words.Manifest(text)
	}
	if slices.ContainsFunc(docs, func(doc yaml.Value) bool { return in(doc, depth+1) }) {
		return docs, true
	}
	return nil, words.Manifest(comments(text))
}

// documents returns the documents of a text in YAML or JSON, nil if one of them cannot be parsed or
// has no fields or items.
func documents(text string) (docs []yaml.Value) {
	if len(text) > maxText || strings.Contains(text, "\n...") {
		return nil
	}
	for part := range strings.SplitSeq(text, "\n---") {
		v, err := (&yaml.Source{Data: []byte(part)}).Value()
		if err != nil || v.IsScalar() {
			return nil
		}
		docs = append(docs, v)
	}
	return docs
}

// comments returns the comments of a YAML text, one per line.
func comments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if comment, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), "#"); ok {
			b.WriteString(comment)
		}
	}
	return b.String()
}
