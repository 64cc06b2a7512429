package validate

import (
	"sync"
	"sync/atomic"

	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/validate/internal/openapi"
)

// A schema is what is known about an object, a field or an item: by the table of a release, or by a CustomResourceDefinition.
type schema struct {
	what     openapi.What
	node     openapi.Node         // where it comes from, 0 for a CustomResourceDefinition
	fields   map[string]*property // of an Object
	required []string
	elem     *property // of a List, the values of a Map, and the further fields of an Object
	keys     []string  // that tell the items of a List apart
	values   []string  // what a String may be, besides nothing
	open     bool      // an Object may have fields that are not in fields
	rules    *rules    // what a CustomResourceDefinition says besides, nil if that is nothing
}

// A property leads to the schema of a field, which is made when it is used first: most of what there is never is.
type property struct {
	node   openapi.Node
	doc    yaml.Value // in a CustomResourceDefinition, None if the schema is that of node
	reader *definitionReader
	schema atomic.Pointer[schema]
}

// A release has the schemas of one minor version.
type release struct {
	minor   int
	mu      sync.Mutex
	schemas map[openapi.Node]*schema
}

// of returns the schema that p leads to.
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
	case openapi.List, openapi.Map:
		s.elem = &property{node: n.Elem()}
	}
	return s
}

// presence returns the first and the last minor version in which n has a field, 0 if none has.
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
