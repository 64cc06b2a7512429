package fn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A pageField is a field of a configuration. [] after a name stands for the items of a list,
// and .* for the values of a mapping with arbitrary keys.
type pageField struct {
	Path        string   `json:"path"`
	Type        string   `json:"type"`
	Required    bool     `json:"required"`
	Default     string   `json:"default,omitempty"` // JSON
	Enum        []string `json:"enum,omitempty"`    // JSON
	Limits      []string `json:"limits,omitempty"`
	Description string   `json:"description,omitempty"`
}

// Limits of a page. A small schema can be very large once its aliases are expanded.
const (
	maxFields = 1000
	maxDepth  = 30
)

// fields collects the fields of a schema.
type fields struct {
	list []pageField
	more bool
}

// add adds the field at path and the fields below it.
func (f *fields) add(s yaml.Value, path string, required bool, depth int) {
	if s.Type() != yaml.Map {
		return
	}
	if depth > maxDepth || len(f.list) >= maxFields {
		f.more = true
		return
	}
	if path != "" {
		f.list = append(f.list, fieldOf(s, path, required))
	}
	for _, p := range s.Get("properties").Fields() {
		f.add(p.Value, strings.TrimPrefix(path+"."+p.Key, "."), isRequired(s, p.Key), depth+1)
	}
	f.add(s.Get("items"), path+"[]", false, depth+1)
	f.add(s.Get("additionalProperties"), strings.TrimPrefix(path+".*", "."), false, depth+1)
}

func isRequired(s yaml.Value, key string) bool {
	return slices.ContainsFunc(s.Get("required").Items(), func(v yaml.Value) bool { return v.Text() == key })
}

func fieldOf(s yaml.Value, path string, required bool) pageField {
	x := pageField{Path: path, Type: typeOf(s), Required: required,
		Description: strings.Join(strings.Fields(s.Get("description").Text()), " ")}
	if d := s.Get("default"); d.Exists() {
		x.Default = string(yaml.AppendJSON(nil, d))
	}
	for _, v := range s.Get("enum").Items() {
		x.Enum = append(x.Enum, string(yaml.AppendJSON(nil, v)))
	}
	for _, key := range []string{"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
		"pattern", "minItems", "maxItems",
		"uniqueItems", "minProperties", "maxProperties"} {
		if v := s.Get(key); v.IsScalar() {
			x.Limits = append(x.Limits, key+" "+v.SourceText())
		}
	}
	return x
}

// typeOf returns the type of a schema for display.
func typeOf(s yaml.Value) string {
	t := s.Get("type").Text()
	if t == "" {
		switch {
		case s.Get("properties").Exists():
			t = "object"
		case s.Get("x-kubernetes-int-or-string").Exists():
			t = "integer or string"
		default:
			t = "any"
		}
	}
	if format := s.Get("format").Text(); format != "" {
		t += " (" + format + ")"
	}
	return t
}

// exampleOf returns an example configuration with the required fields, and the fields with a
// default or an example.
func exampleOf(e *catalog.Entry) yaml.Value {
	steps := maxFields
	v := sample(e.Schema, 0, &steps)
	if v.Type() != yaml.Map {
		v = yaml.MapOf()
	}
	version := e.Version
	if e.Group != "" {
		version = e.Group + "/" + version
	}
	meta := v.Get("metadata")
	if meta.Type() != yaml.Map {
		meta = yaml.MapOf()
	}
	if meta.Get("name").Text() == "" {
		meta = meta.With("name", yaml.Str("example"))
	}
	return v.With("apiVersion", yaml.Str(version)).With("kind", yaml.Str(e.Kind)).With("metadata", meta)
}

// sample returns a value that is valid according to the type, default, enum and simple limits
// of a schema. steps limits the number of values.
func sample(s yaml.Value, depth int, steps *int) yaml.Value {
	if *steps--; *steps < 0 || depth > maxDepth {
		return yaml.Value{}
	}
	for _, key := range []string{"example", "default"} {
		if v := s.Get(key); v.Exists() {
			return v
		}
	}
	if list := s.Get("enum").Items(); len(list) > 0 {
		return list[0]
	}
	least, hasLeast := s.Get("minimum").AsInt()
	switch s.Get("type").Text() {
	case "string":
		n, _ := s.Get("minLength").AsInt()
		text := "text"
		if n > int64(len(text)) && n < 100 {
			text = strings.Repeat("x", int(n))
		}
		return yaml.Str(text)
	case "integer", "number":
		if !hasLeast {
			least = 1
		}
		return number(least)
	case "boolean":
		return yaml.BoolValue(true)
	case "array":
		if item := sample(s.Get("items"), depth+1, steps); item.Exists() {
			return yaml.SeqOf(item)
		}
		return yaml.SeqOf()
	}
	v := yaml.MapOf()
	for _, p := range s.Get("properties").Fields() {
		if !isRequired(s, p.Key) && !says(p.Value) {
			continue
		}
		if x := sample(p.Value, depth+1, steps); x.Exists() {
			v = v.With(p.Key, x)
		}
	}
	return v
}

// says reports whether a schema has a default or an example.
func says(s yaml.Value) bool { return s.Get("default").Exists() || s.Get("example").Exists() }

func number(n int64) yaml.Value {
	v, err := (&yaml.Source{File: "number", Data: fmt.Append(nil, n)}).Content()
	if err != nil {
		return yaml.Value{}
	}
	return v
}
