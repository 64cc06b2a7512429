package ownschema

import (
	"fmt"

	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Custom holds the parsed custom schemas. The zero value is empty. It must not be used
// concurrently.
type Custom struct {
	parsed map[customKey]*schema.Schema
	names  map[*schema.Schema]string
}

type customKey struct {
	src *yaml.Source
	own schema.Builtin
}

// Parse returns the custom schema in a file with the value v. own is the state of kustomize's own
// schema. The same file and state give the same pointer, so that layers are shared.
func (c *Custom) Parse(src *yaml.Source, v yaml.Value, own schema.Builtin) (*schema.Schema, error) {
	key := customKey{src, own}
	if known := c.parsed[key]; known != nil {
		return known, nil
	}
	parsed, err := schema.Parse(v)
	if err != nil {
		return nil, err
	}
	if c.parsed == nil {
		c.parsed, c.names = map[customKey]*schema.Schema{}, map[*schema.Schema]string{}
	}
	parsed = parsed.With(own)
	c.parsed[key] = parsed
	c.names[parsed] = fmt.Sprint(src.Digest(), own)
	return parsed, nil
}

// Name returns a text that distinguishes a schema that [Custom.Parse] has returned from others.
func (c *Custom) Name(s *schema.Schema) string { return c.names[s] }
