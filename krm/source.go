package krm

// A Source is one input file: read once, hashed once, parsed once, whoever refers to it.
type Source struct {
	// File is the path as messages show it.
	File string
	// Data is the content. It must not be changed.
	Data []byte
}

// Documents returns the resources in the file: documents in order, Lists replaced by their items, empty documents
// dropped. It parses at the first call and is safe for concurrent use.
func (s *Source) Documents(schema *Schema) ([]*Resource, error) { panic("todo") }
