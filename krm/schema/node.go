package schema

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/krm/yaml"
)

// A Node is the schema of one field, list item or object. It is a small value that is cheap to
// copy. The zero Node means that the schema is unknown.
type Node struct {
	id uint16 // index into schemaNodes, for the Kubernetes schema
	// schema is the schema that contains doc. For a node with an id, its definitions replace those
	// of Kubernetes.
	schema *Schema
	doc    yaml.Value
}

// The Kubernetes schema is a table of static data that the linker lays out, so that it costs
// nothing at process start.
type (
	schemaRule struct {
		strategy string
		keys     []string
	}
	schemaNode struct {
		first, count uint16    // properties
		other, elem  schemaRef // additional properties and items
		rule         uint8
	}
	schemaProp struct {
		name uint16
		schemaRef
	}
	// A schemaRef refers to a node, 0 for none. definition is the index of its definition in
	// schemaDefinitions, plus one, or 0.
	schemaRef  struct{ node, definition uint16 }
	schemaKind struct {
		kind, group, version string
		node                 uint16
		scope                uint8
	}
	schemaDefinition struct {
		name string
		node uint16
	}
)

const (
	scopeUnknown = iota
	scopeNamespace
	scopeCluster
)

func builtinKind(g Kind) *schemaKind {
	i, ok := slices.BinarySearchFunc(schemaKinds[:], g, compareKind)
	if !ok {
		return nil
	}
	return &schemaKinds[i]
}

func compareKind(k schemaKind, g Kind) int {
	return cmp.Or(cmp.Compare(k.kind, g.Kind), cmp.Compare(k.group, g.Group), cmp.Compare(k.version, g.Version))
}

// builtinDefinition returns the definition of that name in the Kubernetes schema.
func (s *Schema) builtinDefinition(name string) Node {
	i, ok := slices.BinarySearchFunc(schemaDefinitions[:], name,
		func(d schemaDefinition, name string) int { return cmp.Compare(d.name, name) })
	if !ok {
		return Node{}
	}
	return s.builtinNode(schemaDefinitions[i].node)
}

// Exists reports whether the schema is known. It is false for the zero Node.
func (n Node) Exists() bool { return n.id != 0 || n.doc.Exists() }

// Field returns the schema of the field name of a mapping: the property's schema, or else the
// schema of additional properties.
func (n Node) Field(name string) Node {
	if n.id == 0 {
		return n.docField(name)
	}
	t := &schemaNodes[n.id]
	props := schemaProps[t.first : t.first+t.count]
	i, ok := slices.BinarySearchFunc(props, name, func(p schemaProp, name string) int { return cmp.Compare(schemaNames[p.name], name) })
	if ok {
		return n.follow(props[i].schemaRef)
	}
	return n.follow(t.other)
}

// follow returns the node that ref refers to, starting from a node of the Kubernetes schema.
func (n Node) follow(ref schemaRef) Node {
	if n.schema != nil && ref.definition > 0 {
		if doc := n.schema.definitions[schemaDefinitions[ref.definition-1].name]; doc.Exists() {
			return n.resolve(doc)
		}
	}
	if ref.node == 0 {
		return Node{}
	}
	return Node{id: ref.node, schema: n.schema}
}

// Names returns the names of the fields of a mapping in the Kubernetes schema. It returns nil if
// the mapping may have any other field, or if n belongs to a custom schema.
func (n Node) Names() []string {
	t := &schemaNodes[n.id]
	if t.other.node != 0 {
		return nil
	}
	var names []string
	for _, p := range schemaProps[t.first : t.first+t.count] {
		names = append(names, schemaNames[p.name])
	}
	return names
}

// Elem returns the schema of the items of a list.
func (n Node) Elem() Node {
	if n.id == 0 {
		return n.docElem()
	}
	return n.follow(schemaNodes[n.id].elem)
}

// Strategy returns the patch strategy, for instance "merge" or "merge,retainKeys".
func (n Node) Strategy() string {
	if n.id == 0 {
		return n.doc.Get("x-kubernetes-patch-strategy").Text()
	}
	return schemaRules[schemaNodes[n.id].rule].strategy
}

// ListType returns the value of x-kubernetes-list-type in a custom schema, for instance "map".
// Merges ignore it: see [Node.Strategy].
func (n Node) ListType() string { return n.doc.Get("x-kubernetes-list-type").Text() }

// MergeKeys returns the fields that identify an item of a list. It returns none if there is no
// patch strategy or if the items are scalars. The slice must not be changed.
func (n Node) MergeKeys() []string {
	if n.id == 0 {
		return n.docMergeKeys()
	}
	return schemaRules[schemaNodes[n.id].rule].keys
}

// Merges reports whether patches merge the items of a list instead of replacing the list.
func (n Node) Merges() bool {
	for s := range strings.SplitSeq(n.Strategy(), ",") {
		if s == "merge" {
			return true
		}
	}
	return false
}

func (n Node) docField(name string) Node {
	if f := n.doc.Get("properties").Get(name); f.Exists() {
		return n.resolve(f)
	}
	if other := n.doc.Get("additionalProperties"); other.Type() == yaml.Map {
		return n.resolve(other)
	}
	return Node{}
}

func (n Node) docElem() Node {
	typ := n.doc.Get("type")
	if typ.Len() == 1 {
		typ = typ.Items()[0]
	}
	if items := n.doc.Get("items"); typ.Text() == "array" && items.Type() == yaml.Map {
		return n.resolve(items)
	}
	return Node{}
}

func (n Node) docMergeKeys() []string {
	if !n.doc.Get("x-kubernetes-patch-strategy").Exists() {
		return nil
	}
	if list := n.doc.Get("x-kubernetes-list-map-keys"); list.Type() == yaml.Seq {
		keys := make([]string, list.Len())
		for i, k := range list.Items() {
			keys[i] = k.Text()
		}
		return keys
	}
	if key := n.doc.Get("x-kubernetes-patch-merge-key"); key.Exists() {
		return []string{key.Text()}
	}
	return nil
}

// resolve follows references from doc. It returns the zero Node for dangling and circular
// references.
func (n Node) resolve(doc yaml.Value) Node {
	for range 64 {
		ref := doc.Get("$ref").Text()
		if ref == "" {
			return Node{schema: n.schema, doc: doc}
		}
		if n.schema.builtin == Deferred {
			if own := n.schema.builtinDefinition(strings.TrimPrefix(ref, "#/definitions/")); own.Exists() {
				return own
			}
		}
		if doc = n.schema.at(ref); !doc.Exists() && n.schema.builtin == Read {
			return n.schema.builtinDefinition(strings.TrimPrefix(ref, "#/definitions/"))
		}
	}
	return Node{}
}

// at returns the document at the JSON pointer in ref, which is its part after the #.
func (s *Schema) at(ref string) yaml.Value {
	_, pointer, _ := strings.Cut(ref, "#/")
	top, pointer, _ := strings.Cut(pointer, "/")
	name, rest, deeper := strings.Cut(pointer, "/")
	if top != "definitions" {
		return yaml.Value{}
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	doc := s.definitions[unescape.Replace(name)]
	for deeper {
		var token string
		token, rest, deeper = strings.Cut(rest, "/")
		if i, err := strconv.Atoi(token); err == nil && doc.Type() == yaml.Seq && 0 <= i && i < doc.Len() {
			doc = doc.Items()[i]
			continue
		}
		doc = doc.Get(unescape.Replace(token))
	}
	return doc
}
