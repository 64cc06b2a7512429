// Package schemas has JSON Schemas of krmflow's own kinds, for editors and for programs that read or write such documents. The decoders
// say what a document may have; the schemas repeat that, and the tests compare them field by field.
package schemas

import (
	"embed"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/krmflow/krmflow/planner/plandoc"
)

//go:embed *.json
var files embed.FS

// Kinds are the kinds that have a schema.
var Kinds = []string{"Composition", "Catalog", "Plan", "Lock", "Test"}

// Of returns the schema of a kind, in upper or lower case, as a JSON document of draft 2020-12; false if there is none.
func Of(kind string) (text string, ok bool) {
	name := strings.ToLower(kind)
	if name == "plan" {
		return plan(), true
	}
	data, err := files.ReadFile(name + ".json")
	return string(data), err == nil
}

// plan returns the schema of what plan -o json writes. Its types are all that is known of it, and it may get more fields.
func plan() string {
	s := ofType(plandoc.Form())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "Plan"
	s["description"] = "What a run would do, as krmflow plan -o json writes it. A field may be added without a new version."
	fields := s["properties"].(map[string]any)
	fields["apiVersion"] = map[string]any{"const": plandoc.Version}
	fields["kind"] = map[string]any{"const": "Plan"}
	text, _ := json.MarshalIndent(s, "", "  ") // strings, lists and maps always can be
	return string(text) + "\n"
}

// ofType returns the schema of what encoding/json makes of a type: of structs, lists, texts, numbers and booleans.
func ofType(t reflect.Type) map[string]any {
	switch t.Kind() {
	case reflect.Pointer:
		return ofType(t.Elem())
	case reflect.Slice:
		return map[string]any{"type": "array", "items": ofType(t.Elem())}
	case reflect.Struct:
		return ofStruct(t)
	case reflect.Int:
		return map[string]any{"type": "integer"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	}
	return map[string]any{"type": "string"}
}

func ofStruct(t reflect.Type) map[string]any {
	fields, required := map[string]any{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields[name] = ofType(f.Type)
		if option != "omitempty" {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "required": required, "properties": fields}
}
