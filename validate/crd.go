package validate

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/validate/internal/openapi"
)

// IsDefinition reports whether v is a CustomResourceDefinition.
func IsDefinition(v yaml.Value) bool {
	return v.Get("kind").Text() == "CustomResourceDefinition" &&
		krm.ParseGVK(v.Get("apiVersion").Text(), "").Group == "apiextensions.k8s.io"
}

// definition returns the schemas of the served versions in a CustomResourceDefinition. A version
// without a schema accepts any object.
func definition(crd yaml.Value) map[krm.GVK]*property {
	spec := crd.Get("spec")
	gvk := krm.GVK{Group: spec.Get("group").Text(), Kind: spec.At("names", "kind").Text()}
	old := crd.Get("apiVersion").Text() == "apiextensions.k8s.io/v1beta1"
	keepAll := is(spec, "preserveUnknownFields", "true") || old && !spec.Get("preserveUnknownFields").Exists()
	d := &reader{keepAll: keepAll, parts: &reader{keepAll: true}}
	found := map[krm.GVK]*property{}
	add := func(version string, doc yaml.Value) {
		gvk.Version = version
		if doc.Type() != yaml.Map {
			doc = spec.At("validation", "openAPIV3Schema")
		}
		p := new(property)
		p.schema.Store(d.root(doc))
		found[gvk] = p
	}
	for _, v := range spec.Get("versions").Items() {
		if v.Get("served").Text() != "false" {
			add(v.Get("name").Text(), v.At("schema", "openAPIV3Schema"))
		}
	}
	if v := spec.Get("version").Text(); v != "" && spec.Get("versions").Len() == 0 {
		add(v, yaml.Value{})
	}
	return found
}

// A reader converts OpenAPI documents to schemas.
type reader struct {
	config  bool // the schema is for configurations of a function
	keepAll bool // unknown fields are allowed unless additionalProperties is false
	// parts reads the entries of allOf, anyOf, oneOf and not, which need not list all fields. It is
	// nil if this reader also reads the entries.
	parts *reader

	mu sync.Mutex
	// known holds the property of each part of the document. A small document can become very large
	// once its aliases are expanded.
	known map[yaml.Value]*property
}

func (d *reader) property(doc yaml.Value) *property {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.known[doc]
	if p == nil {
		if d.known == nil {
			d.known = map[yaml.Value]*property{}
		}
		p = &property{doc: doc, reader: d}
		d.known[doc] = p
	}
	return p
}

// root returns the schema of a whole object. The document may omit the fields common to all
// objects.
func (d *reader) root(doc yaml.Value) *schema {
	if doc.Type() != yaml.Map {
		return &schema{what: openapi.Object, open: true, fields: objectFields()}
	}
	s := d.schema(doc.With("type", yaml.Str("object")))
	d.makeObject(s)
	s.required = slices.DeleteFunc(s.required, isHeader)
	return s
}

// objectFields returns the fields common to all objects.
func objectFields() map[string]*property {
	pod, _ := openapi.Lookup("", "v1", "Pod")
	fields := map[string]*property{}
	for f := range pod.Node.Fields() {
		if isHeader(f.Name) {
			fields[f.Name] = &property{node: f.Node}
		}
	}
	return fields
}

func isHeader(field string) bool {
	return field == "apiVersion" || field == "kind" || field == "metadata"
}

// makeObject adds the fields common to all objects.
func (d *reader) makeObject(s *schema) {
	if s.fields == nil {
		s.fields = map[string]*property{}
	}
	for name, p := range objectFields() {
		s.fields[name] = p
	}
}

// schema converts doc.
func (d *reader) schema(doc yaml.Value) *schema {
	s := &schema{what: d.whatOf(doc)}
	s.nullable = s.what == openapi.Any || s.what == openapi.IntOrString || is(doc, "nullable", "true")
	s.open = is(doc, "x-kubernetes-preserve-unknown-fields", "true") || is(doc, "additionalProperties", "true") ||
		(d.keepAll || s.what == openapi.Any) && !is(doc, "additionalProperties", "false")
	if s.what == openapi.Object || s.what == openapi.Any {
		d.object(s, doc)
	}
	if items := doc.Get("items"); items.Type() == yaml.Map && (s.what == openapi.List || s.what == openapi.Any) {
		s.elem = d.property(items)
	}
	if d.onServer(doc, "x-kubernetes-list-type") == "map" {
		s.keys = texts(doc.Get("x-kubernetes-list-map-keys"))
	}
	s.rules = d.rulesOf(doc, s.what)
	return s
}

func (d *reader) object(s *schema, doc yaml.Value) {
	s.fields = map[string]*property{}
	properties := doc.Get("properties")
	for _, f := range properties.Fields() {
		s.fields[f.Key] = d.property(f.Value)
	}
	for _, name := range texts(doc.Get("required")) {
		if d.config || !properties.Get(name).Get("default").Exists() {
			s.required = append(s.required, name)
		}
	}
	if more := doc.Get("additionalProperties"); more.Type() == yaml.Map {
		s.more = d.property(more)
	}
	s.embedded = is(doc, "x-kubernetes-embedded-resource", "true")
	if s.embedded && !d.config {
		d.makeObject(s)
		s.required = append(s.required, "apiVersion", "kind")
	}
}

// is reports whether a field of doc has the given text, in upper or lower case.
func is(doc yaml.Value, key, text string) bool { return strings.EqualFold(doc.Get(key).Text(), text) }

// onServer returns a keyword that only API servers enforce, "" for the configuration of a function.
func (d *reader) onServer(doc yaml.Value, key string) string {
	if d.config {
		return ""
	}
	return doc.Get(key).Text()
}

// whatOf returns the type of values that doc describes.
func (d *reader) whatOf(doc yaml.Value) openapi.What {
	if is(doc, "x-kubernetes-int-or-string", "true") {
		return openapi.IntOrString
	}
	format := d.onServer(doc, "format")
	switch doc.Get("type").Text() {
	case "object":
		return openapi.Object
	case "array":
		return openapi.List
	case "boolean":
		return openapi.Bool
	case "number":
		return openapi.Number
	case "integer":
		if format == "int32" {
			return openapi.Int32
		}
		return openapi.Int64
	case "string":
		switch format {
		case "byte":
			return openapi.Bytes
		case "date-time":
			return openapi.Time
		case "int-or-string":
			return openapi.IntOrString
		}
		return openapi.String
	}
	return openapi.Any
}

func texts(list yaml.Value) []string {
	var all []string
	for _, item := range list.Items() {
		all = append(all, item.Text())
	}
	return all
}

// rules are the constraints of an OpenAPI document on values, besides their type.
type rules struct {
	enum                []yaml.Value
	pattern             func() *regexp.Regexp // returns nil if it is not valid RE2
	least, most         limit                 // for numbers
	multiple            float64
	text, items, fields counts
	set                 bool // the list must not contain equal items
	format              string
	allOf, anyOf, oneOf []*property
	not                 *property
}

// A limit is a bound of a number. It applies only if is is set.
type limit struct {
	is, exclusive bool
	value         float64
}

// counts limits a length or a number of entries; -1 means unlimited.
type counts struct{ least, most int }

// rulesOf returns the constraints in doc, nil if there are none.
func (d *reader) rulesOf(doc yaml.Value, what openapi.What) *rules {
	r := rules{
		enum: doc.Get("enum").Items(), least: limitOf(doc, "minimum"), most: limitOf(doc, "maximum"), text: countsOf(doc, "Length"),
		items: countsOf(doc, "Items"), fields: countsOf(doc, "Properties"),
		set:   is(doc, "uniqueItems", "true") || d.onServer(doc, "x-kubernetes-list-type") == "set",
		allOf: d.entries(doc, "allOf"), anyOf: d.entries(doc, "anyOf"), oneOf: d.entries(doc, "oneOf"),
	}
	r.multiple, _ = number(doc.Get("multipleOf"))
	if p := doc.Get("pattern"); p.Type() == yaml.String {
		r.pattern = sync.OnceValue(func() *regexp.Regexp {
			re, _ := regexp.Compile(p.Text())
			return re
		})
	}
	if what == openapi.String {
		r.format = d.onServer(doc, "format")
	}
	if not := doc.Get("not"); not.Type() == yaml.Map {
		r.not = cmp.Or(d.parts, d).property(not)
	}
	if what == openapi.IntOrString && isUsualChoice(r.anyOf) {
		r.anyOf = nil
	}
	none := counts{-1, -1}
	if r.enum == nil && r.pattern == nil && !r.least.is && !r.most.is && r.multiple == 0 && r.text == none && r.items == none &&
		r.fields == none && !r.set && r.format == "" &&
		r.allOf == nil && r.anyOf == nil && r.oneOf == nil && r.not == nil {
		return nil
	}
	return &r
}

// isUsualChoice reports whether the schemas only say that a value is an integer or a string.
// CustomResourceDefinitions often repeat this next to x-kubernetes-int-or-string.
func isUsualChoice(any []*property) bool {
	return len(any) == 2 && any[0].doc.Len() == 1 && any[1].doc.Len() == 1 && any[0].doc.Get("type").Text() == "integer" &&
		any[1].doc.Get("type").Text() == "string"
}

func (d *reader) entries(doc yaml.Value, key string) []*property {
	var all []*property
	for _, item := range doc.Get(key).Items() {
		all = append(all, cmp.Or(d.parts, d).property(item))
	}
	return all
}

func limitOf(doc yaml.Value, key string) limit {
	x, ok := number(doc.Get(key))
	exclusive := map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}[key]
	return limit{ok, is(doc, exclusive, "true"), x}
}

func countsOf(doc yaml.Value, of string) counts {
	c := counts{-1, -1}
	if x, ok := number(doc.Get("min" + of)); ok {
		c.least = int(x)
	}
	if x, ok := number(doc.Get("max" + of)); ok {
		c.most = int(x)
	}
	return c
}
