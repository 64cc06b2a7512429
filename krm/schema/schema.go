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
	// builtin is the role of Kubernetes' own schema in the answers.
	builtin Builtin
}

// Builtin is the state of Kubernetes' own schema when kustomize loads a custom one. The state
// decides which definitions the custom schema replaces: see the comment of the package. Later
// states are larger.
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

// With returns s as kustomize uses it if Kubernetes' own schema is in the state b when s is loaded.
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

// KnowsScope reports whether Kubernetes' list of kinds has the scope of kind g. For other kinds
// kustomize needs its whole schema, which affects a custom schema that it loads later: see the
// comment of the package.
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

// builtinNode returns a node of Kubernetes' own schema. If s was loaded later, its definitions
// replace those with the same name.
func (s *Schema) builtinNode(id uint16) Node {
	if s == nil || s.builtin != Read {
		return Node{id: id}
	}
	return Node{id: id, schema: s}
}
