package function

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/secret/words"
	"github.com/krmflow/krmflow/krm/yaml"
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
	// Severity is error, warning or info. For a different or missing severity in the output, it is
	// info if the function succeeded, and error if it failed.
	Severity    string            `json:"severity"`
	ResourceRef *ResourceRef      `json:"resourceRef,omitempty"`
	Field       *ResultField      `json:"field,omitempty"`
	File        *ResultFile       `json:"file,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
}

// A ResourceRef identifies the resource of a [Result].
type ResourceRef struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Name       string `json:"name,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
}

// A ResultField is a field of the resource. It has values only if the kind of the resource is
// known and cannot contain a Secret. Values other than strings are in JSON.
type ResultField struct {
	Path          string `json:"path,omitempty"`
	CurrentValue  string `json:"currentValue,omitempty"`
	ProposedValue string `json:"proposedValue,omitempty"`
}

// A ResultFile is the file of a [Result] and the index of the document in it.
type ResultFile struct {
	Path  string `json:"path,omitempty"`
	Index int    `json:"index,omitempty"`
}

// String returns the line for output: "error: v1 ConfigMap ns/x: data.a: message". It contains
// text of the function: pass it to [diag.Sanitise] before printing it on a terminal.
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
	if ref := r.ResourceRef; ref != nil {
		part(strings.TrimSpace(krm.ID{GVK: krm.ParseGVK(ref.APIVersion, ref.Kind), Name: ref.Name, Namespace: ref.Namespace}.String()))
	}
	if f := r.Field; f != nil {
		text := f.Path
		if f.CurrentValue != "" {
			text += " is " + f.CurrentValue
		}
		if f.ProposedValue != "" {
			text += ", suggested " + f.ProposedValue
		}
		part(text)
	}
	part(r.Message)
	return b.String()
}

// ParseResults returns the results in the output of a function, nil if there are none. Results
// without a known severity get the severity fallback.
func ParseResults(answer yaml.Chunks, fallback string) []Result {
	stream := WireOptions{}.stream()
	docs, err := stream.Read(answer)
	if err != nil || len(docs) != 1 || docs[0].Value.Get("kind").Text() != "ResourceList" {
		return nil
	}
	results, _ := readResults(docs[0].Value.Get("results"), fallback)
	return results
}

// readResults reads a list of results, or the older form with the list in the field items. Results
// without a severity get fallback, and unknown describes them. A value that
// cannot be read becomes a result with severity error, because it may be one. If there are too
// many results, readResults keeps the errors first, and adds a result with the number of omitted
// ones.
//
// The functions specification says that the default severity is error and that exit code 0 is
// success, so it contradicts itself for a result without a severity. kpt and kyaml follow the exit
// code and print such a result as information, and functions rely on that.
func readResults(v yaml.Value, fallback string) (results []Result, unknown string) {
	path := "results"
	if v.Type() == yaml.Map && v.Get("items").Exists() {
		v, path = v.Get("items"), "results.items"
	}
	if v.IsNull() {
		return nil, ""
	}
	if v.Type() != yaml.Seq {
		msg := fmt.Sprintf("%s cannot be read: it must be a list, not %s", path, v.Type().Article())
		return []Result{{Message: msg, Severity: SeverityError}}, ""
	}
	type numbered struct {
		Result
		place int
	}
	var kept []numbered
	room, left, leftErrors := maxResultsText, 0, 0
	for _, errors := range []bool{true, false} { // errors take precedence if there are too many
		for i, x := range v.Items() {
			severity, known := resultSeverity(x, fallback)
			if !known && unknown == "" {
				unknown = "without a severity"
			}
			switch isError := severity == SeverityError; {
			case isError != errors:
			case len(kept) == maxResults || room <= 0:
				left++
				if isError {
					leftErrors++
				}
			default:
				kept = append(kept, numbered{readResult(x, severity, []any{path, i}, &room), i})
			}
		}
	}
	slices.SortFunc(kept, func(a, b numbered) int { return a.place - b.place })
	results = make([]Result, 0, len(kept)+1)
	for _, r := range kept {
		results = append(results, r.Result)
	}
	if left > 0 {
		msg := fmt.Sprintf("there are %d more results, which are not shown; errors among them: %d", left, leftErrors)
		results = append(results, Result{Message: msg, Severity: SeverityInfo})
	}
	return results, unknown
}

// maxResults is the maximum number of results per call, maxResultText the maximum length of each
// of their texts in bytes, and maxResultsText the total.
const (
	maxResults     = 1000
	maxResultText  = 4 << 10
	maxResultsText = 1 << 20
)

// resultSeverity returns the severity of a result, or fallback and false if it has none. An unknown
// severity, and that of a value that is not a mapping, is error.
func resultSeverity(v yaml.Value, fallback string) (severity string, known bool) {
	if v.Type() != yaml.Map {
		return SeverityError, true
	}
	switch s := strings.ToLower(v.Get("severity").Text()); s {
	case SeverityError, SeverityWarning, SeverityInfo:
		return s, true
	case "":
		return fallback, false
	}
	return SeverityError, true
}

// readResult returns the result for v at path, and subtracts the size of its texts from room.
func readResult(v yaml.Value, severity string, path []any, room *int) Result {
	text := func(s string) string {
		s = clip(s)
		*room -= len(s)
		return s
	}
	if v.Type() != yaml.Map {
		msg := text(v.Text())
		if v.Type() != yaml.String {
			msg = fmt.Sprintf("%s cannot be read: it must be a mapping, not %s", diag.FieldPath(path), v.Type().Article())
		}
		return Result{Message: msg, Severity: severity}
	}
	r := Result{Message: text(v.Get("message").Text()), Severity: severity}
	kind := ""
	if ref := v.Get("resourceRef"); ref.Len() > 0 {
		kind = ref.Get("kind").Text()
		r.ResourceRef = &ResourceRef{
			APIVersion: text(ref.Get("apiVersion").Text()),
			Kind:       text(kind),
			Name:       text(firstText(ref.Get("name"), ref.At("metadata", "name"))),
			Namespace:  text(firstText(ref.Get("namespace"), ref.At("metadata", "namespace"))),
		}
	}
	if f := v.Get("field"); f.Len() > 0 {
		path := f.Get("path").Text()
		r.Field = &ResultField{Path: text(path)}
		if kind != "" && !words.Document(kind, path) { // other kinds can contain a Secret
			r.Field.CurrentValue = text(jsonOf(secret.Hide(f.Get("currentValue"))))
			r.Field.ProposedValue = text(jsonOf(secret.Hide(firstValue(f.Get("proposedValue"), f.Get("suggestedValue")))))
		}
	}
	if f := v.Get("file"); f.Len() > 0 {
		index, _ := f.Get("index").AsInt()
		r.File = &ResultFile{Path: text(f.Get("path").Text()), Index: int(index)}
	}
	for _, tag := range v.Get("tags").Fields() {
		if *room < 0 {
			break
		}
		if r.Tags == nil {
			r.Tags = map[string]string{}
		}
		r.Tags[text(tag.Key)] = text(tag.Value.Text())
	}
	return r
}

// clip shortens a long text and appends the number of omitted bytes.
func clip(s string) string {
	if len(s) <= maxResultText {
		return s
	}
	n := maxResultText
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return fmt.Sprintf("%s ... (%d more bytes)", s[:n], len(s)-n)
}

func firstValue(a, b yaml.Value) yaml.Value {
	if a.Exists() {
		return a
	}
	return b
}

func firstText(a, b yaml.Value) string { return firstValue(a, b).Text() }

// jsonOf returns the form of v for messages: strings as they are, other values in JSON.
func jsonOf(v yaml.Value) string {
	switch v.Type() {
	case yaml.None, yaml.Null:
		return ""
	case yaml.String:
		return v.Text()
	}
	return string(yaml.AppendJSON(nil, v))
}
