// Package inplace changes YAML files that people write, and leaves every byte alone that a change is not about: comments, order, quotes, blank
// lines, indentation, line ends.
//
// A [Document] is told what the file shall hold, and finds the least change of the text that has this meaning. It knows where each value stands,
// from the nodes of go.yaml.in/yaml/v3, and cuts and inserts text there. What comes out is parsed again: only a text that holds exactly what was
// wanted is returned. Where the smallest change has another meaning, because of an alias for instance, the block of that field is written
// anew; where that does not help the change is refused.
//
// Comments are found and changed in the text as well: see [Place].
//
// The nodes of kyaml also keep comments, but write the whole file anew. Package resourcelist uses
// them for lists, which have no bytes to keep.
package inplace
