// Package schema answers what strategic merge patches and identities need of OpenAPI documents: merge keys, patch strategies and which
// kinds have no namespace. Kubernetes' own answers are compiled in.
//
// # Schemas in load order
//
// kustomize has one schema for a whole build. It reads its own when it first needs it, which is at the first patch or at the first
// object whose scope its list of kinds does not tell. The first `openapi` field that it meets brings another one, and later ones
// count for nothing. So what a layer's patches do depends on what was loaded before that layer. To give the same bytes without
// such a state, the planner follows kustomize's order and gives each layer the schema that would be in effect:
//
//   - the nil [Schema], as long as there was no `openapi` field;
//   - what [Parse] returns, if kustomize had not read its own schema before that field: then it never does;
//   - the same with [Schema.OnTop], if it had: then the definitions of both are known.
//
// [KnowsScope] tells whether loading an object makes kustomize read its schema.
package schema
