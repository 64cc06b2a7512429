// Package validate says what an API server of Kubernetes would refuse: fields that do not exist, values of another type, missing fields, kinds
// that a release does not serve. It knows Kubernetes' own kinds of many releases, and others by their CustomResourceDefinitions.
//
// The model is the API server with strict field validation, as far as schemas tell. Not checked is what only its code
// knows: CEL rules, whether names are valid, what other objects exist, admission.
package validate
