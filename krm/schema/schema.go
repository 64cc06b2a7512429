package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/krm/yaml"
)

//go:generate go run ./internal/schemagen

// BuiltinVersion is the only allowed value of `openapi: {version: ...}`: the Kubernetes release
// whose schema is built into kustomize.
const BuiltinVersion = "v1.21.2"

// A Kind is a kind of object: its API group, version and kind.
type Kind struct{ Group, Version, Kind string }

// A Schema provides the parts of an OpenAPI schema that strategic merge patches and identities
// need: list merge keys, patch strategies and the set of cluster-scoped kinds. The nil Schema is
// the schema of Kubernetes. A Schema is immutable and safe for concurrent use.
type Schema struct {
	definitions map[string]yaml.Value // by name, for references
	kinds       map[Kind]yaml.Value   // definitions of kinds
	namespaced  map[Kind]bool
	// builtin determines which definitions of the Kubernetes schema take precedence.
	builtin Builtin
}

// Builtin is the state of the Kubernetes schema when kustomize loads a custom one. The state
// decides which definitions the custom schema replaces: see the package comment. Later states are
// larger.
type Builtin uint8

const (
	// Unread: the custom schema is the only one.
	Unread Builtin = iota
	// Deferred: kustomize reads its own schema after the custom one. Its own definitions and kinds
	// take precedence.
	Deferred
	// Read: the custom schema is added afterwards. Its definitions and kinds take precedence.
	Read
)

// Parse parses an OpenAPI (Swagger 2.0) document, as used in `openapi: {path: ...}`. The result
// replaces the Kubernetes schema for lists and patch strategies. For scopes, the Kubernetes schema
// still takes precedence.
func Parse(doc yaml.Value) (*Schema, error) {
	if doc.Type() != yaml.Map {
		return nil, fmt.Errorf("an OpenAPI schema is a mapping, this is a %s", doc.Type())
	}
	defs := doc.Get("definitions").Fields()
	s := &Schema{
		definitions: make(map[string]yaml.Value, len(defs)),
		kinds:       make(map[Kind]yaml.Value, len(defs)/2),
		namespaced:  map[Kind]bool{},
	}
	for _, def := range defs {
		s.definitions[def.Key] = def.Value
		for _, item := range def.Value.Get("x-kubernetes-group-version-kind").Items() {
			gvk, err := schemaGVK(item)
			if err != nil {
				return nil, fmt.Errorf("definitions: %s: %w", def.Key, err)
			}
			s.kinds[gvk] = def.Value
		}
	}
	for _, path := range doc.Get("paths").Fields() {
		ext := path.Value.Get("get").Get("x-kubernetes-group-version-kind")
		if ext.Type() != yaml.Map {
			continue
		}
		gvk, err := schemaGVK(ext)
		if err != nil {
			return nil, fmt.Errorf("paths: %s: %w", path.Key, err)
		}
		s.namespaced[gvk] = s.namespaced[gvk] || strings.Contains(path.Key, "namespaces/{namespace}")
	}
	return s, nil
}

// With returns s as kustomize uses it if the Kubernetes schema is in state b when s is loaded.
func (s *Schema) With(b Builtin) *Schema {
	if s.builtin == b {
		return s
	}
	c := *s
	c.builtin = b
	return &c
}

func schemaGVK(v yaml.Value) (Kind, error) {
	gvk := Kind{v.Get("group").Text(), v.Get("version").Text(), v.Get("kind").Text()}
	if gvk.Version == "" || gvk.Kind == "" {
		return gvk, errors.New("x-kubernetes-group-version-kind lacks version or kind")
	}
	return gvk, nil
}

// KnowsScope reports whether the list of kinds in Kubernetes has the scope of kind g. For other
// kinds kustomize needs its whole schema, which affects a custom schema that it loads later: see
// the package comment.
func KnowsScope(g Kind) bool {
	k := builtinKind(g)
	return k != nil && k.scope != scopeUnknown
}

// ClusterScoped reports whether objects of kind g are known to be cluster-scoped.
func (s *Schema) ClusterScoped(g Kind) bool {
	if k := builtinKind(g); k != nil && k.scope != scopeUnknown {
		return k.scope == scopeCluster
	}
	if s == nil {
		return false
	}
	namespaced, known := s.namespaced[g]
	return known && !namespaced
}

// For returns the schema of objects of kind g, the zero Node if unknown.
func (s *Schema) For(g Kind) Node {
	k := builtinKind(g)
	own := k != nil && k.node != 0
	switch {
	case s == nil, g.Group == "kustomize.config.k8s.io" && k != nil, own && s.builtin == Deferred, s.builtin == Read &&
		!s.kinds[g].Exists():
		if !own {
			return Node{}
		}
		return s.builtinNode(k.node)
	}
	return Node{schema: s, doc: s.kinds[g]}
}

// Kubernetes returns the schema of Kubernetes for objects of kind g, the zero Node if unknown. For
// an unknown version of a known kind, it returns the schema of the last known version.
func Kubernetes(g Kind) Node {
	if k := builtinKind(g); k != nil && k.node != 0 {
		return Node{id: k.node}
	}
	var latest Node
	i, _ := slices.BinarySearchFunc(schemaKinds[:], Kind{Group: g.Group, Kind: g.Kind}, compareKind)
	for ; i < len(schemaKinds) && schemaKinds[i].kind == g.Kind && schemaKinds[i].group == g.Group; i++ {
		if id := schemaKinds[i].node; id != 0 {
			latest = Node{id: id}
		}
	}
	return latest
}

// builtinNode returns a node of the Kubernetes schema. If s was loaded later, its definitions
// replace those with the same name.
func (s *Schema) builtinNode(id uint16) Node {
	if s == nil || s.builtin != Read {
		return Node{id: id}
	}
	return Node{id: id, schema: s}
}
