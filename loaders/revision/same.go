package revision

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
)

// Holds reports whether a name is that of a regular file with this content, which whoever may run it may run, or not. Git is not asked: it calls a
// file by the digest of its content.
func (t *Tree) Holds(name string, data []byte, executable bool) bool {
	n, err := t.lookup("lstat", name, false)
	if err != nil || !n.mode.IsRegular() || (n.mode&0o111 != 0) != executable {
		return false
	}
	var h hash.Hash
	switch len(n.id) {
	case hex.EncodedLen(sha1.Size):
		h = sha1.New()
	case hex.EncodedLen(sha256.Size):
		h = sha256.New()
	default:
		return false
	}
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil)) == n.id
}
