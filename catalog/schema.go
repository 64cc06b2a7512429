package catalog

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A FieldError reports a violation of the schema by a field of a configuration.
type FieldError struct {
	Path []any
	Msg  string
}

func (e *FieldError) Error() string {
	if len(e.Path) == 0 {
		return e.Msg
	}
	return diag.FieldPath(e.Path) + ": " + e.Msg
}

const (
	maxFieldErrors = 20
	// maxSteps bounds the work of one validation. A small schema can become very large once its
	// aliases are expanded.
	maxSteps = 5_000_000
)

// Validate checks config against the schema of e. The caller must remove the reserved field that
// names the runtime first. An entry without a schema accepts everything. Invalid parts of a
// schema are skipped: see [Entry.SchemaWarning].
func (e *Entry) Validate(config yaml.Value) []*FieldError {
	if !e.Schema.Exists() {
		return nil
	}
	v := validator{patterns: map[string]*regexp.Regexp{}}
	v.value(e.Schema, config, nil)
	if v.steps > maxSteps {
		v.errs = append(v.errs, &FieldError{Msg: "the schema is too large to check this configuration"})
	}
	return v.errs
}

// Fields returns the paths of the fields of metadata and spec that the schema declares below
// properties and whose names can be variables. metadata.name and metadata.namespace are always
// included, because every object may have them. The result is nil for an entry without a schema.
func (e *Entry) Fields() []string {
	if !e.Schema.Exists() {
		return nil
	}
	paths := []string{"metadata.name", "metadata.namespace"}
	for _, part := range []string{"metadata", "spec"} {
		for _, f := range e.Schema.At("properties", part, "properties").Fields() {
			if path := part + "." + f.Key; function.IsVariable(f.Key) && !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// SchemaWarning returns a single warning about all invalid parts of the schema, or about a
// schema given only by its address. It returns nil if there is nothing to report.
func (e *Entry) SchemaWarning() *diag.Error {
	if e.SchemaURI != "" {
		err := diag.Errorf(e.Pos(), "", "configurations of %s are not checked: the schema at %s is not fetched",
			e.GVK, diag.Redact(diag.OneLine(e.SchemaURI)))
		return err.With(diag.OldCatalog).Hint("ask the author of the catalog to write the schema into it, under openAPIV3Schema")
	}
	if !e.Schema.Exists() {
		return nil
	}
	problems := CheckSchema(e.Schema)
	if len(problems) == 0 {
		return nil
	}
	err := diag.Errorf(e.Pos(), "", "parts of the schema of %s are invalid and are ignored", e.GVK).With(diag.OldCatalog)
	for _, p := range problems {
		err.Hint("%s: %s", diag.FieldPath(p.Path), p.Msg)
	}
	return err
}

type validator struct {
	errs     []*FieldError
	steps    int
	patterns map[string]*regexp.Regexp // nil for invalid patterns
}

func (v *validator) fail(path []any, format string, args ...any) {
	if len(v.errs) < maxFieldErrors {
		v.errs = append(v.errs, &FieldError{append([]any(nil), path...), fmt.Sprintf(format, args...)})
	}
}

// value validates x, the value at path. It ignores malformed parts of the schema.
func (v *validator) value(s, x yaml.Value, path []any) {
	if v.steps++; v.steps > maxSteps || s.Type() != yaml.Map {
		return
	}
	if x.IsNull() {
		if t := s.Get("type").Text(); !isSet(s, "nullable") && knownType(t) && !isSet(s, "x-kubernetes-int-or-string") {
			v.fail(path, "must be %s, not null", withArticle(t))
		}
		return
	}
	if !v.typeOf(s, x, path) {
		return
	}
	v.enum(s.Get("enum"), x, path)
	switch x.Type() {
	case yaml.Map:
		v.object(s, x, path)
	case yaml.Seq:
		v.list(s, x, path)
	case yaml.Int, yaml.Float:
		v.number(s, x, path)
	case yaml.String, yaml.Time:
		v.text(s, x, path)
	}
	v.combined(s, x, path)
}

func isSet(s yaml.Value, key string) bool {
	b := s.Get(key)
	return b.Type() == yaml.Bool && strings.EqualFold(b.Text(), "true")
}

func withArticle(t string) string {
	switch t {
	case "object", "array", "integer":
		return "an " + t
	}
	return "a " + t
}

// typeOf reports whether x has the type required by the schema.
func (v *validator) typeOf(s, x yaml.Value, path []any) bool {
	if isSet(s, "x-kubernetes-int-or-string") {
		if isInteger(x) || x.Type() == yaml.String {
			return true
		}
		v.fail(path, "must be an integer or a string, not %s", withArticle(typeName(x)))
		return false
	}
	want := s.Get("type").Text()
	got := typeName(x)
	if !knownType(want) || want == got || want == "number" && got == "integer" || want == "integer" && isInteger(x) {
		return true
	}
	v.fail(path, "must be %s, not %s", withArticle(want), withArticle(got))
	return false
}

// typeName returns the OpenAPI name of the type of x.
func typeName(x yaml.Value) string {
	switch x.Type() {
	case yaml.Map:
		return "object"
	case yaml.Seq:
		return "array"
	case yaml.Bool:
		return "boolean"
	case yaml.Int:
		return "integer"
	case yaml.Float:
		return "number"
	}
	return "string" // JSON encodes a timestamp as a string
}

func isInteger(x yaml.Value) bool {
	if x.Type() == yaml.Float {
		f, ok := number(x)
		return ok && f == math.Trunc(f)
	}
	return x.Type() == yaml.Int
}

// number returns the numeric value of x, and false if x is not a number.
func number(x yaml.Value) (float64, bool) {
	if x.Type() != yaml.Int && x.Type() != yaml.Float {
		return 0, false
	}
	text := strings.ReplaceAll(x.Text(), "_", "")
	if f, err := strconv.ParseFloat(text, 64); err == nil && x.Type() == yaml.Float {
		return f, true
	}
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return float64(n), true
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil
}

func (v *validator) enum(enum, x yaml.Value, path []any) {
	if enum.Type() != yaml.Seq {
		return
	}
	var words []string
	for _, allowed := range enum.Items() {
		if sameJSON(allowed, x) {
			return
		}
		words = append(words, string(yaml.AppendJSON(nil, allowed)))
	}
	v.fail(path, "%s is not one of %s", yaml.AppendJSON(nil, x), strings.Join(words, ", "))
}

func sameJSON(a, b yaml.Value) bool {
	if fa, ok := number(a); ok {
		fb, ok := number(b)
		return ok && fa == fb
	}
	return a.Equal(b)
}

func (v *validator) object(s, x yaml.Value, path []any) {
	for _, key := range s.Get("required").Items() {
		if key.Type() == yaml.String && !x.Get(key.Text()).Exists() {
			v.fail(append(path, key.Text()), "is required")
		}
	}
	v.count(s, "minProperties", "maxProperties", x.Len(), "fields", path)
	properties := s.Get("properties")
	rest := s.Get("additionalProperties")
	closed := rest.Type() == yaml.Bool && !isSet(s, "additionalProperties") && !isSet(s, "x-kubernetes-preserve-unknown-fields")
	for _, f := range x.Fields() {
		at := append(path, f.Key)
		switch p := properties.Get(f.Key); {
		case p.Exists():
			v.value(p, f.Value, at)
		case rest.Type() == yaml.Map:
			v.value(rest, f.Value, at)
		case closed && !(isObject(s, path) && isHeader(f.Key)):
			v.unknown(f.Key, properties, at)
		}
	}
}

func (v *validator) unknown(key string, properties yaml.Value, path []any) {
	if len(v.errs) >= maxFieldErrors {
		return
	}
	var names []string
	for _, p := range properties.Fields() {
		names = append(names, p.Key)
	}
	hint := ""
	if near := diag.Nearest(key, names); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	v.fail(path, "is not a known field%s", hint)
}

// isObject reports whether the value at path is a Kubernetes object. Every schema allows the
// header fields of an object.
func isObject(s yaml.Value, path []any) bool {
	return len(path) == 0 || isSet(s, "x-kubernetes-embedded-resource")
}

func isHeader(key string) bool { return key == "apiVersion" || key == "kind" || key == "metadata" }

func (v *validator) list(s, x yaml.Value, path []any) {
	v.count(s, "minItems", "maxItems", x.Len(), "items", path)
	if items := s.Get("items"); items.Exists() {
		for i, item := range x.Items() {
			v.value(items, item, append(path, i))
		}
	}
	if isSet(s, "uniqueItems") {
		seen := make(map[string]int, x.Len())
		for i, item := range x.Items() {
			text := string(yaml.AppendJSON(nil, item))
			if first, ok := seen[text]; ok {
				v.fail(append(path, i), "equals item %d; the items must be unique", first)
				return
			}
			seen[text] = i
		}
	}
}

func (v *validator) count(s yaml.Value, low, high string, n int, what string, path []any) {
	if limit, ok := number(s.Get(low)); ok && float64(n) < limit {
		v.fail(path, "has %d %s; at least %s are needed", n, what, s.Get(low).Text())
	}
	if limit, ok := number(s.Get(high)); ok && float64(n) > limit {
		v.fail(path, "has %d %s; at most %s are allowed", n, what, s.Get(high).Text())
	}
}

func (v *validator) number(s, x yaml.Value, path []any) {
	n, ok := number(x)
	if !ok {
		return
	}
	if limit, ok := number(s.Get("minimum")); ok {
		if n < limit {
			v.fail(path, "%s is less than %s", x.Text(), s.Get("minimum").Text())
		} else if n == limit && isSet(s, "exclusiveMinimum") {
			v.fail(path, "%s must be greater than %s", x.Text(), s.Get("minimum").Text())
		}
	}
	if limit, ok := number(s.Get("maximum")); ok {
		if n > limit {
			v.fail(path, "%s is greater than %s", x.Text(), s.Get("maximum").Text())
		} else if n == limit && isSet(s, "exclusiveMaximum") {
			v.fail(path, "%s must be less than %s", x.Text(), s.Get("maximum").Text())
		}
	}
	if m, ok := number(s.Get("multipleOf")); ok && m > 0 && math.Abs(math.Remainder(n, m)) > 1e-9*m {
		v.fail(path, "%s is not a multiple of %s", x.Text(), s.Get("multipleOf").Text())
	}
}

func (v *validator) text(s, x yaml.Value, path []any) {
	text := x.Text()
	v.count(s, "minLength", "maxLength", utf8.RuneCountInString(text), "characters", path)
	if p := s.Get("pattern"); p.Type() == yaml.String {
		re, ok := v.patterns[p.Text()]
		if !ok {
			re, _ = regexp.Compile(p.Text())
			v.patterns[p.Text()] = re
		}
		if re != nil && !re.MatchString(text) {
			v.fail(path, "%q does not match %s", text, p.Text())
		}
	}
}

// combined checks allOf, anyOf, oneOf and not.
func (v *validator) combined(s, x yaml.Value, path []any) {
	for _, sub := range s.Get("allOf").Items() {
		v.value(sub, x, path)
	}
	if list := s.Get("anyOf").Items(); len(list) > 0 && v.matches(list, x, path) == 0 {
		v.fail(path, "matches none of the %d allowed forms", len(list))
	}
	if list := s.Get("oneOf").Items(); len(list) > 0 {
		if n := v.matches(list, x, path); n != 1 {
			v.fail(path, "matches %d of the %d forms; it must match one", n, len(list))
		}
	}
	if not := s.Get("not"); not.Type() == yaml.Map && v.matches([]yaml.Value{not}, x, path) == 1 {
		v.fail(path, "has a form that is not allowed")
	}
}

// matches returns the number of schemas in list that x satisfies.
func (v *validator) matches(list []yaml.Value, x yaml.Value, path []any) int {
	n := 0
	for _, sub := range list {
		try := validator{steps: v.steps, patterns: v.patterns}
		try.value(sub, x, path)
		v.steps = try.steps
		if len(try.errs) == 0 {
			n++
		}
	}
	return n
}
