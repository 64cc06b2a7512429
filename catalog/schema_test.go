package catalog

import (
	"os"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm/yaml"
)

func value(t testing.TB, text string) yaml.Value {
	t.Helper()
	doc, err := (&yaml.Source{File: "v", Data: []byte(text)}).Strict()
	if err != nil {
		t.Fatal(err)
	}
	return doc.Value
}

func TestValidateReportsSchemaViolations(t *testing.T) {
	tests := []struct{ row, schema, config, want string }{
		{"required", "{type: object, required: [color]}", "{kind: Fn}", `the required field "color" is missing`},
		{"required, below", "{properties: {spec: {required: [a]}}}", "{spec: {}}", `spec: the required field "a" is missing`},
		{"required is there", "{required: [color]}", "{color: red}", ""},
		{"type string", "{properties: {a: {type: string}}}", "{a: 1}", "a: must be a string, not the integer 1"},
		{"type integer", "{properties: {a: {type: integer}}}", "{a: 1.5}", "a: must be an integer, not the number 1.5"},
		{"an integer may be written as 1.0", "{properties: {a: {type: integer}}}", "{a: 1.0}", ""},
		{"type number", "{properties: {a: {type: number}}}", "{a: 1}", ""},
		{"type boolean", "{properties: {a: {type: boolean}}}", "{a: 'true'}", `a: must be a boolean, not the string "true"`},
		{"type array", "{properties: {a: {type: array}}}", "{a: {}}", "a: must be a list, not a mapping"},
		{"a timestamp is a string", "{properties: {a: {type: string}}}", "{a: 2001-01-01}", ""},
		{"null", "{properties: {a: {type: string}}}", "{a: null}", "a: must be a string, not null"},
		{"nullable", "{properties: {a: {type: string, nullable: true}}}", "{a: null}", ""},
		{"items", "{properties: {a: {items: {type: string}}}}", "{a: [x, 1]}", "a[1]: must be a string, not the integer 1"},
		{"additionalProperties false", "{properties: {a: {properties: {color: {}}, additionalProperties: false}}}", "{a: {colour: 1}}",
			`a.colour: unknown field; did you mean "color"?`},
		{"the header of the object is always known", "{properties: {}, additionalProperties: false}",
			"{apiVersion: v1, kind: K, metadata: {name: x}}", ""},
		{"unknown fields may be preserved", "{additionalProperties: false, x-kubernetes-preserve-unknown-fields: true}", "{b: 1}", ""},
		{"unknown fields without additionalProperties", "{properties: {}}", "{b: 1}", ""},
		{"additionalProperties with a schema", "{properties: {a: {additionalProperties: {type: string}}}}", "{a: {x: 1}}",
			"a.x: must be a string"},
		{"enum", "{properties: {a: {enum: [x, 1]}}}", "{a: y}", `a: "y" is not one of x, 1`},
		{"enum compares numbers by value", "{properties: {a: {enum: [1]}}}", "{a: 1.0}", ""},
		{"pattern", "{properties: {a: {pattern: '^[a-z]+$'}}}", "{a: X1}", `a: "X1" does not match the pattern ^[a-z]+$`},
		{"minimum", "{properties: {a: {minimum: 3}}}", "{a: 2}", "a: 2 is too small: the minimum is 3"},
		{"exclusiveMinimum", "{properties: {a: {minimum: 3, exclusiveMinimum: true}}}", "{a: 3}",
			"a: 3 is too small: the minimum is 3, exclusive"},
		{"maximum", "{properties: {a: {maximum: 3}}}", "{a: 3.5}", "a: 3.5 is too large: the maximum is 3"},
		{"maximum in hexadecimal", "{properties: {a: {maximum: 20}}}", "{a: 0x1F}", "a: 0x1F is too large: the maximum is 20"},
		{"multipleOf", "{properties: {a: {multipleOf: 5}}}", "{a: 12}", "a: 12 is not a multiple of 5"},
		{"minLength counts characters", "{properties: {a: {minLength: 3}}}", "{a: äö}", "a: has 2 characters, but needs at least 3"},
		{"maxLength", "{properties: {a: {maxLength: 1}}}", "{a: äö}", "a: has 2 characters, but may have at most 1"},
		{"minItems", "{properties: {a: {minItems: 1}}}", "{a: []}", "a: has 0 items, but needs at least 1"},
		{"uniqueItems", "{properties: {a: {uniqueItems: true}}}", "{a: [x, y, x]}", "a[2]: is the same as item 0 of the list"},
		{"maxProperties", "{properties: {a: {maxProperties: 0}}}", "{a: {b: 1}}", "a: has 1 field, but may have at most 0"},
		{"int-or-string, a string", "{properties: {a: {x-kubernetes-int-or-string: true}}}", "{a: 50%}", ""},
		{"int-or-string, an integer", "{properties: {a: {x-kubernetes-int-or-string: true}}}", "{a: 50}", ""},
		{"int-or-string, a list", "{properties: {a: {x-kubernetes-int-or-string: true}}}", "{a: []}",
			"a: must be an integer or a string, not a list"},
		{"allOf", "{allOf: [{required: [a]}, {required: [b]}]}", "{a: 1}", `the required field "b" is missing`},
		{"anyOf", "{properties: {a: {anyOf: [{type: string}, {type: integer}]}}}", "{a: []}", "a: matches none of the 2 allowed forms"},
		{"oneOf", "{properties: {a: {oneOf: [{type: string}, {minLength: 1}]}}}", "{a: x}", "a: matches 2 of the 2 allowed forms, but must match exactly one"},
		{"not", "{not: {required: [a]}}", "{a: 1}", "is ruled out by its schema (not)"},
		{"integers may have any size, and formats are not checked",
			"{properties: {a: {type: integer, format: int32}, b: {type: string, format: date}}}", "{a: 99999999999999999999, b: x}", ""},
		{"defaults are not applied", "{required: [a], properties: {a: {default: 1}}}", "{}", `the required field "a" is missing`},
		{"a required field may be null", "{required: [a], properties: {a: {type: string, nullable: true}}}", "{a: null}", ""},
		{"additionalProperties within anyOf", "{anyOf: [{properties: {a: {}}, additionalProperties: false}]}", "{b: 1}",
			"matches none of the 1 allowed forms; to match one of them: b: unknown field"},
		{"several mistakes", "{required: [a, b]}", "{}", "the required field \"a\" is missing\nthe required field \"b\" is missing"},
	}
	for _, tt := range tests {
		e := &Entry{Schema: value(t, tt.schema)}
		errs, problems := e.Validate(value(t, tt.config)), CheckSchema(e.Schema)
		var got []string
		for _, err := range errs {
			got = append(got, strings.Join(append([]string{err.Text()}, err.Hints...), "; "))
		}
		all := strings.Join(got, "\n")
		if tt.want == "" && all != "" || tt.want != "" && !strings.Contains(all, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.row, all, tt.want)
		}
		if len(problems) > 0 {
			t.Errorf("%s: %v", tt.row, problems)
		}
	}
}

// TestMalformedSchema checks that a malformed schema causes warnings. It must not cause a panic or
// block a configuration.
func TestMalformedSchema(t *testing.T) {
	tests := []struct{ schema, want string }{
		{"{type: bool}", `unknown type "bool"`},
		{"hello", "must be a schema, not a string"},
		{"{properties: [a]}", "must be a mapping"},
		{"{properties: {a: 1}}", "must be a schema, not a integer"},
		{"{items: []}", "must be a schema"},
		{"{required: true}", "must be a list"},
		{"{pattern: '('}", "cannot be used"},
		{"{pattern: '(?=x)'}", "cannot be used"},
		{"{minLength: x}", "must be a number"},
		{"{nullable: 1}", "must be a boolean"},
		{"{enum: x}", "must be a list"},
		{"{$ref: '#/a'}", "references are not supported"},
		{"{type: [string, 'null']}", "unknown type"},
		{"{allOf: [1]}", "must be a schema"},
	}
	for _, tt := range tests {
		for _, config := range []string{"{a: 1, b: x}", "x", "[1]", "1", "true", "{a: null}"} {
			e := &Entry{Schema: value(t, tt.schema)}
			errs, problems := e.Validate(value(t, config)), CheckSchema(e.Schema)
			if len(errs) > 0 && tt.schema != "{allOf: [1]}" {
				t.Errorf("%s blocks %s: %v", tt.schema, config, errs[0])
			}
			if len(problems) != 1 || !strings.Contains(problems[0].Msg, tt.want) {
				t.Errorf("%s: %v", tt.schema, problems)
			}
		}
	}
}

// TestPublishedSchema checks the published catalog entry, which has "type: bool". A configuration
// that uses that field is accepted.
func TestPublishedSchema(t *testing.T) {
	data, err := os.ReadFile("testdata/render-helm-chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := mustParse(t, string(data))
	config := value(t,
		"apiVersion: config.kubernetes.io/v1\nkind: RenderHelmChart\nmetadata: {name: x}\nhelmCharts: [{templateOptions: {includeCRDs: true}}]")
	errs, warning := c.Entries[0].Validate(config), c.Entries[0].SchemaWarning()
	if len(errs) > 0 || warning == nil || len(warning.Hints) != 2 ||
		!strings.Contains(warning.Hints[0], `includeCRDs.type: unknown type "bool"`) {
		t.Errorf("%v %v", errs, warning)
	}
	errs = c.Entries[0].Validate(value(t, "metadata: {}\nhelmCharts: [{chartArgs: {name: 1}}]"))
	if len(errs) != 2 || errs[0].Text() != `metadata: the required field "name" is missing` ||
		errs[1].Text() != "helmCharts[0].chartArgs.name: must be a string, not the integer 1" {
		t.Errorf("%v", errs)
	}
}

// TestSchemaBomb checks that validation against a small schema that is large after its aliases are
// expanded has bounded cost.
func TestSchemaBomb(t *testing.T) {
	text := "a: &a {anyOf: [{type: string}]}\n"
	last := "a"
	for _, name := range []string{"b", "c", "d", "e", "f", "g"} {
		text += name + ": &" + name + " {anyOf: [" + strings.TrimSuffix(strings.Repeat("*"+last+",", 9), ",") + "]}\n"
		last = name
	}
	e := &Entry{Schema: value(t, text).Get("g")}
	errs := e.Validate(value(t, "{x: 1}"))
	if len(errs) == 0 {
		t.Error("an integer is no string")
	}
}

// FuzzValidate checks configurations against unchecked schemas.
func FuzzValidate(f *testing.F) {
	f.Add(
		[]byte(
			"{type: object, required: [a], properties: {a: {type: string, pattern: '^a+$', maxLength: 3}}, additionalProperties: false}"),
		[]byte("{a: b, c: 1}"))
	f.Add([]byte("{type: array, items: {oneOf: [{type: integer, minimum: 1, multipleOf: 0.1}, {enum: [a, null]}]}, uniqueItems: true}"),
		[]byte("[1, a, 1e400, a]"))
	f.Add([]byte("{not: {}, anyOf: [], allOf: x, format: date-time, nullable: true}"), []byte("null"))
	f.Fuzz(func(t *testing.T, schema, config []byte) {
		s, err := (&yaml.Source{File: "s", Data: schema}).Strict()
		if err != nil {
			return
		}
		c, err := (&yaml.Source{File: "c", Data: config}).Strict()
		if err != nil {
			return
		}
		for _, w := range CheckSchema(s.Value) {
			if w.Msg == "" {
				t.Error("a warning without text")
			}
		}
		for _, e := range (&Entry{Schema: s.Value}).Validate(c.Value) {
			if e.Msg == "" {
				t.Error("an error without text")
			}
		}
	})
}
