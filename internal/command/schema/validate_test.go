package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// A checker supports the part of JSON Schema that the schemas here use. It panics on any other
// keyword.
type checker struct{ root map[string]any }

func newChecker(t *testing.T, kind string) checker {
	t.Helper()
	text, ok := Of(kind)
	if !ok {
		t.Fatalf("there is no schema of %s", kind)
	}
	var c checker
	if err := json.Unmarshal([]byte(text), &c.root); err != nil {
		t.Fatal(err)
	}
	return c
}

// check returns the problems of x, whose path is path.
func (c checker) check(s map[string]any, x any, path string) (wrong []string) {
	fail := func(format string, args ...any) { wrong = append(wrong, path+": "+fmt.Sprintf(format, args...)) }
	fields, isMap := x.(map[string]any)
	for key, v := range s {
		switch key {
		case "$schema", "title", "description", "deprecated", "$defs", "examples", "then", "else", "additionalProperties":
		case "$ref":
			wrong = append(wrong, c.check(c.ref(v), x, path)...)
		case "type":
			if got := typeOf(x); got != v && !(got == "integer" && v == "number") {
				fail("%s, not %s", got, v)
			}
		case "const":
			if !reflect.DeepEqual(v, x) {
				fail("%v is not %v", x, v)
			}
		case "enum":
			if !slices.ContainsFunc(v.([]any), func(one any) bool { return reflect.DeepEqual(one, x) }) {
				fail("%v is none of %v", x, v)
			}
		case "pattern":
			if text, ok := x.(string); ok && !regexp.MustCompile(v.(string)).MatchString(text) {
				fail("%q does not match %s", text, v)
			}
		case "minLength", "maxLength":
			if n := float64(utf8.RuneCountInString(fmt.Sprint(x))); key == "minLength" && n < v.(float64) ||
				key == "maxLength" && n > v.(float64) {
				fail("has %v characters", n)
			}
		case "minimum":
			if n, ok := x.(float64); ok && n < v.(float64) {
				fail("%v is less than %v", n, v)
			}
		case "minItems":
			if list, ok := x.([]any); ok && float64(len(list)) < v.(float64) {
				fail("has %d items", len(list))
			}
		case "maxProperties":
			if isMap && float64(len(fields)) > v.(float64) {
				fail("has %d fields", len(fields))
			}
		case "required":
			for _, name := range v.([]any) {
				if _, ok := fields[name.(string)]; isMap && !ok {
					fail("%s is missing", name)
				}
			}
		case "properties":
			for name, value := range fields {
				if p, ok := v.(map[string]any)[name]; ok {
					wrong = append(wrong, c.check(p.(map[string]any), value, path+"."+name)...)
				}
			}
		case "items":
			list, _ := x.([]any)
			for i, item := range list {
				wrong = append(wrong, c.check(v.(map[string]any), item, fmt.Sprintf("%s[%d]", path, i))...)
			}
		case "anyOf", "oneOf":
			if n := len(c.matching(v, x)); n == 0 || key == "oneOf" && n > 1 {
				fail("fits %d of %s", n, key)
			}
		case "allOf":
			for _, one := range v.([]any) {
				wrong = append(wrong, c.check(one.(map[string]any), x, path)...)
			}
		case "if":
			wrong = append(wrong, c.check(c.branch(s, x), x, path)...)
		default:
			panic("unknown keyword " + key)
		}
	}
	known, _ := s["properties"].(map[string]any)
	for name, value := range fields {
		if _, ok := known[name]; ok {
			continue
		}
		switch rest := s["additionalProperties"].(type) {
		case bool:
			fail("unknown field %q", name)
		case map[string]any:
			wrong = append(wrong, c.check(rest, value, path+"."+name)...)
		}
	}
	return wrong
}

func (c checker) ref(ref any) map[string]any {
	return c.root["$defs"].(map[string]any)[strings.TrimPrefix(ref.(string), "#/$defs/")].(map[string]any)
}

// matching returns the schemas that x matches.
func (c checker) matching(schemas, x any) (list []map[string]any) {
	for _, s := range schemas.([]any) {
		if s := s.(map[string]any); len(c.check(s, x, "")) == 0 {
			list = append(list, s)
		}
	}
	return list
}

// branch returns the schema that an if selects for x.
func (c checker) branch(s map[string]any, x any) map[string]any {
	if len(c.check(s["if"].(map[string]any), x, "")) == 0 {
		return s["then"].(map[string]any)
	}
	return s["else"].(map[string]any)
}

func typeOf(x any) string {
	switch x := x.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		if x == float64(int64(x)) {
			return "integer"
		}
		return "number"
	}
	return "null"
}

// places calls visit for each mapping in x, with the schemas that have properties for it.
func (c checker) places(s map[string]any, x any, visit func(s, x map[string]any)) {
	for _, key := range []string{"$ref", "anyOf", "oneOf", "allOf", "if"} {
		switch v, ok := s[key]; {
		case !ok:
		case key == "$ref":
			c.places(c.ref(v), x, visit)
		case key == "if":
			c.places(c.branch(s, x), x, visit)
		default:
			for _, one := range c.matching(v, x) {
				c.places(one, x, visit)
			}
		}
	}
	switch x := x.(type) {
	case []any:
		for _, item := range x {
			if items, ok := s["items"].(map[string]any); ok {
				c.places(items, item, visit)
			}
		}
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		if s["type"] == "object" && properties != nil {
			visit(s, x)
		}
		rest, _ := s["additionalProperties"].(map[string]any)
		for name, value := range x {
			if p, ok := properties[name].(map[string]any); ok {
				c.places(p, value, visit)
			} else if rest != nil {
				c.places(rest, value, visit)
			}
		}
	}
}
