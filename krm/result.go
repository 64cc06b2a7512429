package krm

import (
	"fmt"
	"strings"
)

// The severities of a [Result].
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
	SeverityInfo    = "info"
)

// A Result is a message of a function about its work or about a resource.
type Result struct {
	Message string `json:"message"`
	// Severity is error, warning or info; a function that says nothing or something else means error.
	Severity    string            `json:"severity"`
	ResourceRef *ResourceRef      `json:"resourceRef,omitempty"`
	Field       *ResultField      `json:"field,omitempty"`
	File        *ResultFile       `json:"file,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
}

// A ResourceRef names the resource that a [Result] is about.
type ResourceRef struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Name       string `json:"name,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
}

// A ResultField is a field of the resource; values that are no strings are in JSON.
type ResultField struct {
	Path          string `json:"path,omitempty"`
	CurrentValue  string `json:"currentValue,omitempty"`
	ProposedValue string `json:"proposedValue,omitempty"`
}

// A ResultFile is the file that a [Result] is about and the number of the document in it.
type ResultFile struct {
	Path  string `json:"path,omitempty"`
	Index int    `json:"index,omitempty"`
}

// String returns the line that is printed: "error: v1 ConfigMap ns/x: data.a: message". It holds text of the function,
// which needs [Sanitise] on its way to a terminal, but no value of a Secret.
func (r Result) String() string {
	var b strings.Builder
	b.WriteString(r.Severity)
	part := func(s string) {
		if s != "" {
			b.WriteString(": ")
			b.WriteString(s)
		}
	}
	if f := r.File; f != nil {
		part(f.Path)
	}
	secret := false
	if ref := r.ResourceRef; ref != nil {
		secret = ref.Kind == "Secret"
		part(strings.TrimSpace(ID{GVK: ParseGVK(ref.APIVersion, ref.Kind), Name: ref.Name, Namespace: ref.Namespace}.String()))
	}
	if f := r.Field; f != nil {
		text := f.Path
		if f.CurrentValue != "" && !secret {
			text += " is " + f.CurrentValue
		}
		if f.ProposedValue != "" && !secret {
			text += ", better " + f.ProposedValue
		}
		part(text)
	}
	part(r.Message)
	return b.String()
}

// ParseResults returns the results in the output of a function that failed, as far as there are any.
func ParseResults(data []byte) []Result {
	d := wireDecoder{reply: &Reply{}}
	if len(data) > MaxFile {
		return nil
	}
	var err error
	if d.text, err = plainText("", data); err != nil {
		return nil
	}
	docs, err := d.documents()
	if err != nil || len(docs) != 1 || docs[0].value.Get("kind").Text() != "ResourceList" {
		return nil
	}
	return d.results(docs[0].value.Get("results"))
}

// results reads a list of results, or the older form in which it is the field items. What cannot be read counts as an error:
// it may be one.
func (d *wireDecoder) results(v Value) []Result {
	path := "results"
	if v.Type() == Map && v.Get("items").Exists() {
		v, path = v.Get("items"), "results.items"
	}
	if v.IsNull() {
		return nil
	}
	if v.Type() != Seq {
		msg := fmt.Sprintf("%s cannot be read: it must be a list, not %s", path, v.Type().article())
		return []Result{{Message: msg, Severity: SeverityError}}
	}
	results := make([]Result, 0, v.Len())
	for i, x := range v.Items() {
		if x.Type() != Map {
			msg := x.Text()
			if x.Type() != String {
				msg = fmt.Sprintf("%s cannot be read: it must be a mapping, not %s", printPath([]any{path, i}), x.Type().article())
			}
			results = append(results, Result{Message: msg, Severity: SeverityError})
			continue
		}
		results = append(results, readResult(x))
	}
	return results
}

func readResult(v Value) Result {
	r := Result{Message: v.Get("message").Text(), Severity: strings.ToLower(v.Get("severity").Text())}
	switch r.Severity {
	case SeverityWarning, SeverityInfo:
	default:
		r.Severity = SeverityError
	}
	if ref := v.Get("resourceRef"); ref.Len() > 0 {
		r.ResourceRef = &ResourceRef{
			APIVersion: ref.Get("apiVersion").Text(),
			Kind:       ref.Get("kind").Text(),
			Name:       firstText(ref.Get("name"), ref.At("metadata", "name")),
			Namespace:  firstText(ref.Get("namespace"), ref.At("metadata", "namespace")),
		}
	}
	if f := v.Get("field"); f.Len() > 0 {
		r.Field = &ResultField{
			Path:          f.Get("path").Text(),
			CurrentValue:  jsonOf(f.Get("currentValue")),
			ProposedValue: jsonOf(firstValue(f.Get("proposedValue"), f.Get("suggestedValue"))),
		}
	}
	if f := v.Get("file"); f.Len() > 0 {
		index, _ := f.Get("index").asInt()
		r.File = &ResultFile{Path: f.Get("path").Text(), Index: int(index)}
	}
	if tags := v.Get("tags"); tags.Len() > 0 {
		r.Tags = tags.StringMap()
	}
	return r
}

func firstValue(a, b Value) Value {
	if a.Exists() {
		return a
	}
	return b
}

func firstText(a, b Value) string { return firstValue(a, b).Text() }

// jsonOf returns a value as a message shows it: JSON, but a string as it is.
func jsonOf(v Value) string {
	switch v.Type() {
	case None, Null:
		return ""
	case String:
		return v.Text()
	}
	return string(AppendJSON(nil, v))
}
