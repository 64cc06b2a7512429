// Package lint finds what kustomize lets pass silently: steps whose result is valid but probably
// not what the author wanted. The functions get objects before or after a step and report findings
// as warnings with a file, a line and a fix. They never change an object.
package lint
