package krm

import (
	"errors"
	"fmt"
	"strings"
)

//go:generate go run ./internal/schemagen

// BuiltinSchemaVersion is the only value that `openapi: {version: ...}` may have: the Kubernetes release whose schema
// kustomize has built in.
const BuiltinSchemaVersion = "v1.21.2"

// A SchemaKind names a kind of object: its group, version and kind.
type SchemaKind struct{ Group, Version, Kind string }

// A Schema answers what strategic merge patches and identities need from OpenAPI: list merge keys, patch strategies and
// which kinds are cluster scoped. The nil Schema is Kubernetes' own. A Schema never changes and may be used by several
// goroutines.
type Schema struct {
	definitions map[string]Value     // all definitions, for references
	kinds       map[SchemaKind]Value // those of kinds
	namespaced  map[SchemaKind]bool
	// onTop is true if Kubernetes' own schema answers for the kinds that this one lacks.
	onTop bool
}

// ParseSchema reads an OpenAPI (swagger 2.0) document, as `openapi: {path: ...}` names it. It replaces Kubernetes' own
// schema for lists and patch strategies; what that one says about scopes still comes first.
func ParseSchema(doc Value) (*Schema, error) {
	if doc.Type() != Map {
		return nil, fmt.Errorf("an OpenAPI schema is a mapping, this is a %s", doc.Type())
	}
	defs := doc.Get("definitions").Fields()
	s := &Schema{
		definitions: make(map[string]Value, len(defs)),
		kinds:       make(map[SchemaKind]Value, len(defs)/2),
		namespaced:  map[SchemaKind]bool{},
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
		if ext.Type() != Map {
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

// OnTop returns a schema that answers as s for the kinds that s defines and as Kubernetes' own for all others. kustomize
// behaves like that when it meets a schema after it has used its own.
func (s *Schema) OnTop() *Schema {
	c := *s
	c.onTop = true
	return &c
}

func schemaGVK(v Value) (SchemaKind, error) {
	gvk := SchemaKind{v.Get("group").Text(), v.Get("version").Text(), v.Get("kind").Text()}
	if gvk.Version == "" || gvk.Kind == "" {
		return gvk, errors.New("x-kubernetes-group-version-kind lacks version or kind")
	}
	return gvk, nil
}

// KnowsScope reports whether Kubernetes' list of kinds says if objects of kind g have a namespace. For other kinds kustomize
// reads its whole schema, which decides what a schema that is met later replaces.
func KnowsScope(g SchemaKind) bool {
	k := builtinKind(g)
	return k != nil && k.scope != scopeUnknown
}

// ClusterScoped reports whether objects of kind g are known to have no namespace.
func (s *Schema) ClusterScoped(g SchemaKind) bool {
	if k := builtinKind(g); k != nil && k.scope != scopeUnknown {
		return k.scope == scopeCluster
	}
	if s == nil {
		return false
	}
	namespaced, known := s.namespaced[g]
	return known && !namespaced
}

// For returns the schema of objects of kind g, the zero Node if nothing is known about them.
func (s *Schema) For(g SchemaKind) Node {
	k := builtinKind(g)
	if s == nil || s.onTop && !s.kinds[g].Exists() || g.Group == "kustomize.config.k8s.io" && k != nil {
		if k == nil {
			return Node{}
		}
		return Node{id: k.node}
	}
	return Node{schema: s, doc: s.kinds[g]}
}
