package krm

// A Schema answers what strategic merge patches and identities need from OpenAPI: list merge keys, patch strategies and
// which kinds are cluster scoped. The nil Schema is Kubernetes' own.
type Schema struct{}

// ClusterScoped reports whether objects of kind g are known to have no namespace.
func (s *Schema) ClusterScoped(g GVK) bool { return false }
