package validate

import (
	"sync"
	"sync/atomic"

	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/validate/internal/openapi"
)

// A schema describes an object, a field or an item. It comes from the table for a release or from
// an OpenAPI document: in a CustomResourceDefinition, or for the configuration of a function.
type schema struct {
	what     openapi.What
	node     openapi.Node         // the node in the table, 0 for a document
	fields   map[string]*property // the fields of an Object
	required []string
	more     *property // describes the fields of an Object that are not listed in fields
	elem     *property // describes the items of a List
	keys     []string  // the fields that identify the items of a List
	values   []string  // the allowed values of a String, besides ""
	open     bool      // an Object may have fields that are not listed in fields
	nullable bool      // null is not a wrong type in a configuration
	embedded bool      // an Object is a whole object
	rules    *rules    // further constraints of a document, nil if there are none
}

// A property refers to the schema of a field. The schema is compiled on first use because most
// fields never occur in a run.
type property struct {
	node openapi.Node
	// doc is the schema in a document. The node is used if reader is nil.
	doc    yaml.Value
	reader *reader
	schema atomic.Pointer[schema]
}

// A release holds the compiled schemas of one minor version.
type release struct {
	minor   int
	mu      sync.Mutex
	schemas map[openapi.Node]*schema
}

// of returns the schema of p.
func (r *release) of(p *property) *schema {
	s := p.schema.Load()
	if s == nil {
		if p.reader != nil {
			s = p.reader.schema(p.doc)
		} else {
			s = r.schema(p.node)
		}
		p.schema.Store(s)
	}
	return s
}

func (r *release) schema(n openapi.Node) *schema {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.schemas[n]
	if s == nil {
		s = r.compile(n)
		r.schemas[n] = s
	}
	return s
}

func (r *release) compile(n openapi.Node) *schema {
	s := &schema{what: n.What(), node: n, keys: n.Keys(), values: n.Values()}
	switch s.what {
	case openapi.Object:
		s.fields = map[string]*property{}
		for f := range n.Fields() {
			if f.From <= r.minor && r.minor <= f.To {
				s.fields[f.Name] = &property{node: f.Node}
				if f.Required {
					s.required = append(s.required, f.Name)
				}
			}
		}
		s.open = len(s.fields) == 0
	case openapi.Map:
		s.what, s.more = openapi.Object, &property{node: n.Elem()}
	case openapi.List:
		s.elem = &property{node: n.Elem()}
	case openapi.Any:
		s.open = true
	}
	return s
}

// presence returns the first and the last minor version in which n has a field, 0 and 0 if it
// never had one.
func presence(n openapi.Node, name string) (from, to int) {
	for f := range n.Fields() {
		if f.Name == name {
			if from == 0 {
				from = f.From
			}
			to = f.To
		}
	}
	return from, to
}
