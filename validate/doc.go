// Package validate finds objects that a Kubernetes API server would reject: unknown fields,
// values of the wrong type, missing fields, and kinds that a release does not serve. It has the
// schemas of Kubernetes' own kinds for many releases, and learns other kinds from their
// CustomResourceDefinitions. It also validates configurations of functions against the schemas of
// catalogs: see [Config].
//
// It models an API server with strict field validation, as far as schemas can express it. It does
// not check rules that require code or a cluster: CEL rules, valid names, references to other
// objects, and admission.
package validate
