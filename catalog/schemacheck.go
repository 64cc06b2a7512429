package catalog

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/krmflow/krmflow/krm/yaml"
)

// A SchemaProblem is an invalid or unsupported part of a schema. Validation skips that part.
type SchemaProblem struct {
	Path []any // within the schema
	Msg  string
}

const (
	maxProblems = 20 // reported for a schema
	// maxSteps bounds the work: a small schema can become very large once its aliases are expanded.
	maxSteps = 5_000_000
)

// CheckSchema returns the problems of an OpenAPI v3 schema. Validation skips the affected parts.
func CheckSchema(schema yaml.Value) []SchemaProblem {
	c := schemaChecker{}
	c.schema(schema, nil)
	return c.problems
}

type schemaChecker struct {
	problems []SchemaProblem
	steps    int
}

func (c *schemaChecker) fail(path []any, format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, SchemaProblem{append([]any(nil), path...), fmt.Sprintf(format, args...)})
	}
}

func (c *schemaChecker) schema(s yaml.Value, path []any) {
	if c.steps++; c.steps > maxSteps || len(c.problems) == maxProblems {
		return
	}
	if s.Type() != yaml.Map {
		c.fail(path, "must be a schema, not a %s", s.Type())
		return
	}
	for _, f := range s.Fields() {
		if !f.Value.IsNull() { // "description:" without a value is common
			c.keyword(f, append(path, f.Key))
		}
	}
}

func (c *schemaChecker) keyword(f yaml.Field, path []any) {
	v := f.Value
	want := yaml.None
	switch f.Key {
	case "type":
		if !knownType(v.Text()) || v.Type() != yaml.String {
			c.fail(path, "unknown type %q: expected object, array, string, integer, number or boolean", v.Text())
		}
	case "properties":
		c.schemas(v, path)
	case "items", "not":
		c.schema(v, path)
	case "additionalProperties":
		if v.Type() != yaml.Bool {
			c.schema(v, path)
		}
	case "allOf", "anyOf", "oneOf":
		for i, s := range v.Items() {
			c.schema(s, append(path, i))
		}
		want = yaml.Seq
	case "required", "enum":
		want = yaml.Seq
	case "pattern":
		if _, err := regexp.Compile(v.Text()); err != nil {
			c.fail(path, "the pattern %q cannot be used: %s", v.Text(), strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		}
		want = yaml.String
	case "minimum", "maximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		if v.Type() != yaml.Int && v.Type() != yaml.Float {
			c.fail(path, "must be a number, not a %s", v.Type())
		}
	case "exclusiveMinimum", "exclusiveMaximum", "nullable", "uniqueItems", "x-kubernetes-preserve-unknown-fields",
		"x-kubernetes-int-or-string", "x-kubernetes-embedded-resource":
		want = yaml.Bool
	case "$ref":
		c.fail(path, "references are not supported")
	case "patternProperties", "dependencies", "definitions", "additionalItems":
		c.fail(path, "%s is not supported", f.Key)
	}
	if want != yaml.None && v.Type() != want {
		c.fail(path, "must be a %s, not a %s", want, v.Type())
	}
}

func (c *schemaChecker) schemas(v yaml.Value, path []any) {
	if v.Type() != yaml.Map {
		c.fail(path, "must be a mapping, not a %s", v.Type())
	}
	for _, f := range v.Fields() {
		c.schema(f.Value, append(path, f.Key))
	}
}

func knownType(s string) bool {
	switch s {
	case "object", "array", "string", "integer", "number", "boolean":
		return true
	}
	return false
}
