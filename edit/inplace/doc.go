// Package inplace changes hand-written YAML files and preserves every byte that is unrelated to
// the change: comments, order, quotes, blank lines, indentation and line endings.
//
// A [Document] receives the new content of the file and finds the smallest change of the text
// with this meaning. It takes the position of each value from the nodes of go.yaml.in/yaml/v3,
// and cuts and inserts text there. The result is parsed again and returned only if its content
// is exactly the requested one. If the smallest change has a different meaning, for example
// because of an alias, the block of the field is rewritten. If that does not help, the change is
// refused. Checking the result makes mistakes in locating values harmless: they lead to an
// error, never to a wrong file.
//
// Comments are found and changed in the text as well: see [Place].
//
// The nodes of kyaml also keep comments, but writing them reformats the whole file. Package
// resourcelist uses them for lists, which have no original bytes to preserve.
package inplace
