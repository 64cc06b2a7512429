// Follows api/internal/accumulator/loadconfigfromcrds.go.

package builtins

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// CRDConfig returns the configuration in a file under `crds:`. The file contains OpenAPI
// definitions by type name, whose x-kubernetes- extensions mark fields that hold labels,
// annotations, names and references. Use [Config.Merge] to combine several files.
func CRDConfig(file yaml.Value) (*Config, error) {
	if file.Type() != yaml.Map && !file.IsNull() {
		return nil, diag.BadSchema.Errorf("open API definitions must be a mapping of type names, found %s", file.Type().Article())
	}
	types := make(map[string]yaml.Value, file.Len())
	var names []string
	for _, f := range file.Fields() {
		props, err := definitionProperties(f.Value)
		if err != nil {
			return nil, diag.BadSchema.Errorf("open API definition of %q: %w", f.Key, err)
		}
		types[f.Key] = props
		names = append(names, f.Key)
	}
	slices.Sort(names)
	found := &Config{}
	for _, name := range names {
		if props := types[name]; isObjectType(props) {
			c := crdReader{types: types, config: found, kind: name[strings.LastIndexByte(name, '.')+1:]}
			if err := c.read(props, nil); err != nil {
				return nil, err
			}
		}
	}
	return (&Config{}).Merge(found)
}

func definitionProperties(def yaml.Value) (yaml.Value, error) {
	schema := def.Get("Schema")
	for _, f := range def.Fields() {
		if !schema.Exists() && strings.EqualFold(f.Key, "schema") {
			schema = f.Value
		}
	}
	props := schema.Get("properties")
	for _, v := range []yaml.Value{def, schema, props} {
		if !v.IsNull() && v.Type() != yaml.Map {
			return v, errFound("a mapping", v)
		}
	}
	return props, nil
}

func isObjectType(props yaml.Value) bool {
	return props.Get("kind").Exists() && props.Get("apiVersion").Exists() && props.Get("metadata").Exists()
}

// A crdReader walks the definition of one kind.
type crdReader struct {
	types  map[string]yaml.Value
	config *Config
	kind   string
	within []string // the enclosing types; recursive types are not entered again
}

func (c *crdReader) read(props yaml.Value, path []string) error {
	for _, f := range props.Fields() {
		at := append(slices.Clip(path), f.Key)
		if err := c.readExtensions(f.Value, at); err != nil {
			return err
		}
		ref := f.Value.Get("$ref").Text()
		if ref == "" || slices.Contains(c.within, ref) {
			continue
		}
		c.within = append(c.within, ref)
		if err := c.read(c.types[ref], at); err != nil {
			return err
		}
		c.within = c.within[:len(c.within)-1]
	}
	return nil
}

func (c *crdReader) readExtensions(prop yaml.Value, path []string) error {
	for _, mark := range []struct {
		extension string
		specs     **FieldSpecs
	}{
		{"x-kubernetes-annotation", &c.config.CommonAnnotations},
		{"x-kubernetes-label-selector", &c.config.CommonLabels},
		{"x-kubernetes-identity", &c.config.NamePrefix},
	} {
		if _, ok := extension(prop, mark.extension); ok {
			specs, err := (*mark.specs).Merge(NewFieldSpecs(c.spec(path)))
			if err != nil {
				return err
			}
			*mark.specs = specs
		}
	}
	version, ok1 := extension(prop, "x-kubernetes-object-ref-api-version")
	kind, ok2 := extension(prop, "x-kubernetes-object-ref-kind")
	if !ok1 || !ok2 {
		return nil
	}
	nameKey, ok := extension(prop, "x-kubernetes-object-ref-name-key")
	if !ok {
		nameKey = "name"
	}
	field := c.spec(append(slices.Clip(path), nameKey))
	refs, err := c.config.NameReference.Merge(
		NewNameReferences(NameReference{Version: version, Kind: kind, FieldSpecs: []FieldSpec{field}}))
	c.config.NameReference = refs
	return err
}

func (c *crdReader) spec(path []string) FieldSpec {
	return FieldSpec{Kind: c.kind, Path: strings.Join(path, "/")}
}

func extension(prop yaml.Value, name string) (string, bool) {
	v := prop.Get(name)
	return v.Text(), v.Type() == yaml.String
}
