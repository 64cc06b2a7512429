package krm

import (
	"crypto/sha256"
	"encoding/hex"
)

// A Digest is a SHA-256 digest. Digests are comparable. The zero Digest means that there is none.
type Digest [sha256.Size]byte

// DigestOf returns the digest of data.
func DigestOf(data []byte) Digest { return sha256.Sum256(data) }

// String returns d in the form in which users pin content: "sha256:" and 64 hexadecimal digits.
func (d Digest) String() string { return "sha256:" + hex.EncodeToString(d[:]) }
