// Package schema provides the parts of OpenAPI documents that strategic merge patches and
// identities need: merge keys, patch strategies and the set of cluster-scoped kinds. The schema of
// Kubernetes is compiled in.
//
// # Schemas in load order
//
// kustomize has one schema for a whole build. The first `openapi` field that it loads sets a
// custom schema, and later fields have no effect. Therefore the result of a layer's patches
// depends on the layers that were loaded before. To produce the same bytes without global state,
// the planner follows kustomize's order and gives each layer the schema that would be in effect:
//
//   - the nil [Schema], as long as there was no `openapi` field;
//   - afterwards the schema of [Parse], combined with kustomize's own schema by [Schema.With].
//
// kustomize reads its own schema when it merges anything. It defers the reading when it loads an
// object whose scope is not in its list of kinds ([KnowsScope]). This includes configurations of
// generators and transformers.
package schema
