package validate

import (
	"regexp"
	"slices"
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
	keeps := spec.Get("preserveUnknownFields")
	d := &definitionReader{keepAll: keeps.Text() == "true" || old && !keeps.Exists()}
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

// A definitionReader converts the OpenAPI documents in a CustomResourceDefinition to schemas.
type definitionReader struct {
	keepAll bool // unknown fields are preserved everywhere
}

func (d *definitionReader) property(doc yaml.Value) *property { return &property{doc: doc, reader: d} }

// root returns the schema of a whole object. The document may omit the fields common to all
// objects.
func (d *definitionReader) root(doc yaml.Value) *schema {
	if doc.Type() != yaml.Map {
		return &schema{what: openapi.Object, open: true, fields: objectFields()}
	}
	s := d.schema(doc.With("type", yaml.Str("object")))
	d.makeObject(s)
	s.required = slices.DeleteFunc(s.required, func(f string) bool { return f == "metadata" || f == "kind" || f == "apiVersion" })
	return s
}

// objectFields returns the fields common to all objects.
func objectFields() map[string]*property {
	pod, _ := openapi.Lookup("", "v1", "Pod")
	fields := map[string]*property{}
	for f := range pod.Node.Fields() {
		if f.Name == "apiVersion" || f.Name == "kind" || f.Name == "metadata" {
			fields[f.Name] = &property{node: f.Node}
		}
	}
	return fields
}

// makeObject adds the fields common to all objects.
func (d *definitionReader) makeObject(s *schema) {
	if s.fields == nil {
		s.fields = map[string]*property{}
	}
	for name, p := range objectFields() {
		s.fields[name] = p
	}
}

// schema converts doc.
func (d *definitionReader) schema(doc yaml.Value) *schema {
	s := &schema{what: whatOf(doc)}
	s.open = d.keepAll || doc.Get("x-kubernetes-preserve-unknown-fields").Text() == "true"
	switch s.what {
	case openapi.Object:
		d.object(s, doc)
	case openapi.List:
		if items := doc.Get("items"); items.Type() == yaml.Map {
			s.elem = d.property(items)
		}
		switch doc.Get("x-kubernetes-list-type").Text() {
		case "map":
			s.keys = texts(doc.Get("x-kubernetes-list-map-keys"))
		}
	}
	s.rules = d.rulesOf(doc, s.what)
	return s
}

func (d *definitionReader) object(s *schema, doc yaml.Value) {
	s.fields = map[string]*property{}
	properties := doc.Get("properties")
	for _, f := range properties.Fields() {
		s.fields[f.Key] = d.property(f.Value)
	}
	for _, name := range texts(doc.Get("required")) {
		if !properties.Get(name).Get("default").Exists() {
			s.required = append(s.required, name)
		}
	}
	switch more := doc.Get("additionalProperties"); {
	case more.Type() == yaml.Map:
		s.elem = d.property(more)
	case more.Type() == yaml.Bool:
		s.open = s.open || more.Text() == "true"
	}
	if doc.Get("x-kubernetes-embedded-resource").Text() == "true" {
		d.makeObject(s)
		s.required = append(s.required, "apiVersion", "kind")
	}
}

// whatOf returns the type of values that doc describes.
func whatOf(doc yaml.Value) openapi.What {
	if doc.Get("x-kubernetes-int-or-string").Text() == "true" {
		return openapi.IntOrString
	}
	format := doc.Get("format").Text()
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

// rules are the constraints of a CustomResourceDefinition on values, besides their type.
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
func (d *definitionReader) rulesOf(doc yaml.Value, what openapi.What) *rules {
	r := rules{
		enum: doc.Get("enum").Items(), least: limitOf(doc, "minimum"), most: limitOf(doc, "maximum"), text: countsOf(doc, "Length"),
		items:  countsOf(doc, "Items"),
		fields: countsOf(doc, "Properties"), set: doc.Get("uniqueItems").Text() == "true" ||
			doc.Get("x-kubernetes-list-type").Text() == "set",
		allOf: d.parts(doc, "allOf"), anyOf: d.parts(doc, "anyOf"), oneOf: d.parts(doc, "oneOf"),
	}
	r.multiple, _ = number(doc.Get("multipleOf"))
	if p := doc.Get("pattern").Text(); p != "" {
		r.pattern = sync.OnceValue(func() *regexp.Regexp {
			re, _ := regexp.Compile(p)
			return re
		})
	}
	if what == openapi.String {
		r.format = doc.Get("format").Text()
	}
	if not := doc.Get("not"); not.Type() == yaml.Map {
		r.not = d.part(not)
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

func (d *definitionReader) parts(doc yaml.Value, key string) []*property {
	var all []*property
	for _, item := range doc.Get(key).Items() {
		all = append(all, d.part(item))
	}
	return all
}

// part returns the schema of an entry of allOf, anyOf, oneOf or not. Such a schema may omit its
// type, which part then infers from the other fields.
func (d *definitionReader) part(doc yaml.Value) *property {
	if doc.Type() == yaml.Map && !doc.Get("type").Exists() {
		switch {
		case doc.Get("properties").Exists() || doc.Get("required").Exists():
			doc = doc.With("type", yaml.Str("object"))
		case doc.Get("items").Exists():
			doc = doc.With("type", yaml.Str("array"))
		}
	}
	return d.property(doc)
}

func limitOf(doc yaml.Value, key string) limit {
	x, ok := number(doc.Get(key))
	exclusive := map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}[key]
	return limit{ok, doc.Get(exclusive).Text() == "true", x}
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
