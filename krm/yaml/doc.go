// Package yaml holds values of the JSON data model and reads and writes them as kustomize does: the bytes that leave are those of
// kustomize 5.8, whatever the style of what came in. A [Source] is a file that was read; it knows where its values stand.
package yaml
