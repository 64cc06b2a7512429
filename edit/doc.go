// Package edit implements the changes of `kustomize edit` to kustomization files. An [Edit]
// works on values: it reads and changes the content of a file as a [Kustomization]. Package
// inplace then applies the changes to the text and preserves everything else.
//
// The package does not read files itself. It accesses the directory through an [Env]. Its types
// must not be used concurrently, and it has no global state.
package edit
