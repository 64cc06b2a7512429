package records

import (
	"strings"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/krm"
)

// A Note is data of a command in the cache. It must contain the inputs of roots for which it is
// valid: see [Record.Inputs].
type Note struct {
	open func() *cache.Cache
	key  krm.Digest
}

// noteKind is the kind of the cache entries for notes.
const noteKind = "notes1"

// OpenNote returns the note identified by texts. open returns the cache, which may be nil.
func OpenNote(open func() *cache.Cache, texts ...string) Note {
	return Note{open, krm.DigestOf([]byte(strings.Join(texts, "\x00")))}
}

// Load returns the data of the note, nil if there is none.
func (n Note) Load() []byte {
	c := n.open()
	if c == nil {
		return nil
	}
	data, _ := c.Kept(noteKind, n.key)
	return data
}

// Save replaces the data of the note.
func (n Note) Save(data []byte) {
	if c := n.open(); c != nil {
		_ = c.Replace(noteKind, n.key, data) // on failure, the next run takes longer
	}
}
