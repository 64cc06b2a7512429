package krm

import (
	"crypto/sha256"
	"encoding/hex"
)

// A Digest is the SHA-256 of some content. Digests are comparable; the zero Digest means none.
type Digest [sha256.Size]byte

// DigestOf returns the digest of data.
func DigestOf(data []byte) Digest { return sha256.Sum256(data) }

// String returns the form in which users pin content: "sha256:" and 64 hexadecimal digits.
func (d Digest) String() string { return "sha256:" + hex.EncodeToString(d[:]) }
