package schema

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/krm/yaml"
)

//go:generate go run ./internal/schemagen

// BuiltinVersion is the only value that `openapi: {version: ...}` may have: the Kubernetes release whose schema
// kustomize has built in.
const BuiltinVersion = "v1.21.2"

// A Kind names a kind of object: its group, version and kind.
type Kind struct{ Group, Version, Kind string }

// A Schema answers what strategic merge patches and identities need from OpenAPI: list merge keys, patch strategies and
// which kinds are cluster scoped. The nil Schema is Kubernetes' own. A Schema never changes and may be used by several
// goroutines.
type Schema struct {
	definitions map[string]yaml.Value // all definitions, for references
	kinds       map[Kind]yaml.Value   // those of kinds
	namespaced  map[Kind]bool
	// source is what the schema was made of.
	source *source
	// builtin says which part Kubernetes' own schema has in the answers.
	builtin Builtin
}

// Builtin says how far kustomize has read Kubernetes' own schema when it meets another one. That decides what the other one
// replaces: see the comment of the package. Later states are larger.
type Builtin uint8

const (
	// Unread: the other schema is the only one.
	Unread Builtin = iota
	// Deferred: kustomize reads its own schema after the other one. Of definitions and kinds that are in both, its own apply.
	Deferred
	// Read: the other schema comes on top. Of definitions and kinds that are in both, those of the other one apply.
	Read
)

// Parse reads an OpenAPI (swagger 2.0) document, as `openapi: {path: ...}` names it. It replaces Kubernetes' own
// schema for lists and patch strategies; what that one says about scopes still comes first.
func Parse(doc yaml.Value) (*Schema, error) {
	if doc.Type() != yaml.Map {
		return nil, fmt.Errorf("an OpenAPI schema is a mapping, this is a %s", doc.Type())
	}
	defs := doc.Get("definitions").Fields()
	s := &Schema{
		definitions: make(map[string]yaml.Value, len(defs)),
		kinds:       make(map[Kind]yaml.Value, len(defs)/2),
		namespaced:  map[Kind]bool{},
		source:      &source{doc: doc},
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

type source struct {
	doc  yaml.Value
	once sync.Once
	key  [sha256.Size]byte
}

// Key returns a digest: schemas with equal keys give equal answers. That of the nil Schema is zero. It is safe for concurrent use.
func (s *Schema) Key() (key [sha256.Size]byte) {
	if s == nil {
		return key
	}
	s.source.once.Do(func() { s.source.key = sha256.Sum256(s.source.doc.AppendBinary(nil)) })
	key = s.source.key
	key[0] ^= byte(s.builtin)
	return key
}

// With returns s as kustomize uses it if it has read Kubernetes' own schema as far as b says when it meets s.
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

// KnowsScope reports whether Kubernetes' list of kinds says if objects of kind g have a namespace. For other kinds kustomize
// needs its whole schema, and that decides what becomes of a schema that it meets later: see the comment of the package.
func KnowsScope(g Kind) bool {
	k := builtinKind(g)
	return k != nil && k.scope != scopeUnknown
}

// ClusterScoped reports whether objects of kind g are known to have no namespace.
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

// For returns the schema of objects of kind g, the zero Node if nothing is known about them.
func (s *Schema) For(g Kind) Node {
	k := builtinKind(g)
	own := k != nil && k.node != 0
	switch {
	case s == nil, g.Group == "kustomize.config.k8s.io" && k != nil, own && s.builtin == Deferred, s.builtin == Read && !s.kinds[g].Exists():
		if !own {
			return Node{}
		}
		return s.builtinNode(k.node)
	}
	return Node{schema: s, doc: s.kinds[g]}
}

// builtinNode returns a node of Kubernetes' own schema. If s was met later, its definitions replace those of the same name.
func (s *Schema) builtinNode(id uint16) Node {
	if s == nil || s.builtin != Read {
		return Node{id: id}
	}
	return Node{id: id, schema: s}
}
