// Package edit changes kustomization files as `kustomize edit` does. An [Edit] works on values: it gets what a file holds and says what the file
// shall hold. Package inplace then changes the text, and leaves all alone that the edit is not about.
//
// Nothing here reads files: what an edit must know of the directory it asks an [Env]. Nothing is safe for concurrent use, and nothing is shared.
package edit
