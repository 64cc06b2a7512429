// Package schema provides JSON Schemas for krmflow's own kinds, for editors and for programs
// that read or write such documents. The decoders define the format; tests compare the schemas
// with them field by field.
package schema

import (
	"embed"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/internal/command/diff"
	"github.com/krmflow/krmflow/internal/planview"
)

//go:embed *.json
var files embed.FS

// Kinds lists the kinds that have a schema.
var Kinds = []string{"Composition", "Catalog", "Plan", "Lock", "Test", "Diff", "PlanDiff"}

// Of returns the schema of a kind as a JSON document of draft 2020-12. The kind is
// case-insensitive. ok is false for a kind without a schema.
func Of(kind string) (text string, ok bool) {
	name := strings.ToLower(kind)
	switch name {
	case "plan":
		return printed("Plan", "What a run would do, as krmflow plan -o json writes it.", planview.Version, planview.Form()), true
	case "plandiff":
		return printed("PlanDiff", "How a plan differs from another one, as krmflow plan --diff writes it with -o json.", planview.Version,
			planview.DifferenceForm()), true
	case "diff":
		return printed("Diff", "How what is rendered differs, as krmflow diff -o json writes it.", diff.Version, diff.Form()), true
	}
	data, err := files.ReadFile(name + ".json")
	return string(data), err == nil
}

// printed returns the schema for the output of a command. It is derived from the Go type, and
// allows additional fields.
func printed(kind, what, version string, form reflect.Type) string {
	s := ofType(form, nil)
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = kind
	s["description"] = what + " A field may be added without a new version."
	fields := s["properties"].(map[string]any)
	fields["apiVersion"] = map[string]any{"const": version}
	fields["kind"] = map[string]any{"const": kind}
	text, _ := json.MarshalIndent(s, "", "  ") // cannot fail for strings, lists and maps
	return string(text) + "\n"
}

// ofType returns the schema for the encoding/json form of a type: structs, lists, strings,
// numbers, booleans, and arbitrary values. within are the enclosing structs; a recursive struct
// is described only as an object.
func ofType(t reflect.Type, within []reflect.Type) map[string]any {
	switch t.Kind() {
	case reflect.Pointer:
		return ofType(t.Elem(), within)
	case reflect.Slice:
		if t == reflect.TypeFor[json.RawMessage]() {
			return map[string]any{}
		}
		return map[string]any{"type": "array", "items": ofType(t.Elem(), within)}
	case reflect.Struct:
		if slices.Contains(within, t) {
			return map[string]any{"type": "object"}
		}
		return ofStruct(t, append(slices.Clip(within), t))
	case reflect.Int:
		return map[string]any{"type": "integer"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Interface:
		return map[string]any{}
	}
	return map[string]any{"type": "string"}
}

func ofStruct(t reflect.Type, within []reflect.Type) map[string]any {
	fields, required := map[string]any{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields[name] = ofType(f.Type, within)
		if option != "omitempty" {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "required": required, "properties": fields}
}
