package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/review/validation"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// openAPI returns a file for the field openapi of a Kustomization: the definitions of Kubernetes,
// which kustomize does not read if there is such a file, and those of the kinds that the
// CustomResourceDefinitions in files and directories define.
func openAPI(names []string) ([]byte, error) {
	var errs []error
	c := converter{definitions: schema.Definitions(), paths: map[string]any{}}
	for _, name := range names {
		crds, err := validation.ReadDefinitions(name, "")
		errs = append(errs, err)
		for _, crd := range crds {
			c.add(crd)
		}
	}
	if c.parts > maxParts {
		errs = append(errs, diag.Limitf("the schemas have more than %s", diag.Count(maxParts, "part")).With(diag.Limit))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c.file()
}

// maxParts limits the number of converted parts. A small file can be very large once its aliases
// are expanded.
const maxParts = 1 << 20

// A converter converts the schemas of CustomResourceDefinitions to definitions.
//
// It keeps only what a strategic merge patch needs: the paths to lists, and for each list how it
// merges. A list merges if it is a map list of the API (x-kubernetes-list-type: map), or if it is a
// list of Kubernetes, for example the containers of a pod template. Many definitions contain a
// whole pod template without list types, so the converter recognizes pod specifications and
// containers by their fields.
//
// Sets, lists of scalars without duplicates, are still replaced. A patch that replaces one has no
// other way to remove items from it.
type converter struct {
	definitions map[string]map[string]any
	paths       map[string]any
	parts       int
}

var (
	podSpec     = schema.Definition("io.k8s.api.core.v1.PodSpec")
	containers  = podSpec.Field("containers")
	podTemplate = ref("io.k8s.api.core.v1.PodTemplateSpec")
	metadata    = ref("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
)

func ref(name string) map[string]any { return map[string]any{"$ref": "#/definitions/" + name} }

// add adds all served versions of a kind.
func (c *converter) add(crd yaml.Value) {
	spec := crd.Get("spec")
	common := spec.At("validation", "openAPIV3Schema") // only in v1beta1
	versions := spec.Get("versions").Items()
	if len(versions) == 0 {
		versions = []yaml.Value{yaml.MapOf(yaml.Field{Key: "name", Value: spec.Get("version")})}
	}
	for _, v := range versions {
		doc := v.At("schema", "openAPIV3Schema")
		if !doc.Exists() {
			doc = common
		}
		gvk := schema.Kind{Group: spec.Get("group").Text(), Version: v.Get("name").Text(), Kind: spec.At("names", "kind").Text()}
		if v.Get("served").Text() == "false" || gvk.Version == "" || gvk.Kind == "" {
			continue
		}
		def := c.convert(doc, schema.Node{})
		if def == nil {
			def = map[string]any{}
		}
		props, _ := def["properties"].(map[string]any)
		if props == nil {
			props = map[string]any{}
		}
		props["metadata"], def["properties"] = metadata, props
		def["x-kubernetes-group-version-kind"] = []any{gvk.Document()}
		group := strings.Split(gvk.Group, ".")
		slices.Reverse(group)
		c.definitions[strings.Join(group, ".")+"."+gvk.Version+"."+gvk.Kind] = def
		if spec.Get("scope").Text() == "Cluster" {
			c.paths["/apis/"+gvk.Group+"/"+gvk.Version+"/"+spec.At("names", "plural").Text()] =
				map[string]any{"get": map[string]any{"x-kubernetes-group-version-kind": gvk.Document()}}
		}
	}
}

// convert returns the definition for a part of a schema, nil if it contains no list. known is the
// schema of Kubernetes for the part if the part is in a pod specification or a container.
func (c *converter) convert(doc yaml.Value, known schema.Node) map[string]any {
	if c.parts++; c.parts > maxParts {
		return nil
	}
	props := doc.Get("properties")
	items := doc.Get("items")
	switch {
	case known.Exists():
	case hasContainers(props.Get("containers").Get("items")):
		known = podSpec
	case isContainer(items):
		known = containers
	}
	if items.Type() == yaml.Map {
		list := map[string]any{"type": "array", "items": map[string]any{}}
		if item := c.convert(items, known.Elem()); item != nil {
			list["items"] = item
		}
		switch {
		case known.Merges():
			schema.SetMerge(list, known.Strategy(), known.MergeKeys())
		case doc.Get("x-kubernetes-list-type").Text() == "map":
			var keys []string
			for _, key := range doc.Get("x-kubernetes-list-map-keys").Items() {
				keys = append(keys, key.Text())
			}
			schema.SetMerge(list, "merge", keys)
		}
		return list
	}
	fields := map[string]any{}
	for _, f := range props.Fields() {
		if field := c.convert(f.Value, known.Field(f.Key)); field != nil {
			fields[f.Key] = field
		} else if isAnyTemplate(f) {
			fields[f.Key] = podTemplate
		}
	}
	object := map[string]any{}
	if len(fields) > 0 {
		object["properties"] = fields
	}
	if other := doc.Get("additionalProperties"); other.Type() == yaml.Map {
		if values := c.convert(other, known.Field("")); values != nil {
			object["additionalProperties"] = values
		}
	}
	if len(object) == 0 {
		return nil
	}
	return object
}

// hasContainers reports whether doc, the schema of the items of a list called containers, describes
// containers or allows any fields.
func hasContainers(doc yaml.Value) bool {
	return doc.At("properties", "image").Exists() && doc.At("properties", "name").Exists() || keepsUnknown(doc)
}

// isContainer reports whether a schema has the fields of a container.
func isContainer(doc yaml.Value) bool {
	props := doc.Get("properties")
	return props.Get("name").Exists() && props.Get("image").Exists() && (props.Get("env").Exists() || props.Get("volumeMounts").Exists())
}

// keepsUnknown reports whether a schema names no fields and allows any.
func keepsUnknown(doc yaml.Value) bool {
	return doc.Get("x-kubernetes-preserve-unknown-fields").Text() == "true" && doc.Get("properties").Len() == 0
}

// isAnyTemplate reports whether f is a template whose schema allows any field, as definitions have
// it that leave out the schema of pods to be small.
func isAnyTemplate(f yaml.Field) bool {
	return (f.Key == "template" || f.Key == "podTemplate") && keepsUnknown(f.Value)
}

// file returns the text of the file, with one line for each definition.
func (c *converter) file() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("{\n  \"definitions\": {")
	for i, name := range slices.Sorted(maps.Keys(c.definitions)) {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writeEntry(&b, name, c.definitions[name]); err != nil {
			return nil, err
		}
	}
	b.WriteString("\n  },\n  \"paths\": {")
	for i, path := range slices.Sorted(maps.Keys(c.paths)) {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writeEntry(&b, path, c.paths[path]); err != nil {
			return nil, err
		}
	}
	b.WriteString("\n  }\n}\n")
	return b.Bytes(), nil
}

func writeEntry(b *bytes.Buffer, key string, value any) error {
	name, err := json.Marshal(key)
	if err != nil {
		return err
	}
	text, err := json.Marshal(value)
	b.WriteString("\n    ")
	b.Write(name)
	b.WriteString(": ")
	b.Write(text)
	return err
}
