// Package schema answers what strategic merge patches and identities need of OpenAPI documents: merge keys, patch strategies and which
// kinds have no namespace. Kubernetes' own answers are compiled in.
package schema
