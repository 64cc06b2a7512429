// Package schema answers what strategic merge patches and identities need of OpenAPI documents: merge keys, patch strategies and which
// kinds have no namespace. Kubernetes' own answers are compiled in.
//
// # Schemas in load order
//
// kustomize has one schema for a whole build. The first `openapi` field that it meets brings another one, and later ones have no effect.
// So what a layer's patches do depends on what was loaded before that layer. To give the same bytes without such a state, the planner
// follows kustomize's order and gives each layer the schema that would be in effect:
//
//   - the nil [Schema], as long as there was no `openapi` field;
//   - then what [Parse] returns, with the part that kustomize's own schema has in it: [Schema.With] one of the states of [Builtin].
//
// kustomize has read its own schema if it has merged anything; it defers that if it has met an object whose scope its list of kinds does
// not tell ([KnowsScope]), which a configuration of a generator or transformer is as well.
package schema
