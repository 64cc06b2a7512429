// Package yaml holds values of the JSON data model, and reads and writes them as kustomize does:
// the output has the bytes of kustomize 5.8, whatever the style of the input. A [Source] is a file
// that was read. It can report the positions of its values.
//
// Byte compatibility rules out the usual route through a YAML library. kustomize passes values
// through several libraries, which differ in details, and some details of the source style affect
// the output. So the package has its own parser for common YAML, which records those details, and
// its own emitter. The parser leaves rare YAML to yaml/v3.
package yaml
