// Package flux compares package gitops/flux with the code of Flux's controllers. It contains only
// tests.
package flux
