// Package signature verifies detached signatures of files with public keys, without any service: those of cosign sign-blob --key, of
// ssh-keygen -Y sign and of minisign. It only verifies; the tools that people have already make the signatures.
package signature

import (
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// Namespace is what an SSH signature of a catalog must be made for: ssh-keygen -Y sign -n krmflow-catalog.
const Namespace = "krmflow-catalog"

// ErrMismatch is returned for a signature that is well-formed, but not one of this content by this key.
var ErrMismatch = errors.New("the signature does not match the content and the key")

// A Key is a public key. It is immutable.
type Key struct {
	// Kind is "cosign", "ssh" or "minisign".
	Kind string
	// Ends are the usual ends of the names of files with signatures by such a key.
	Ends   []string
	verify func(data, sig []byte) error
}

// Verify returns nil if sig is a signature of data by the key, [ErrMismatch] if it is one of something else or by another key, and
// another error if it is no signature of the key's kind.
func (k Key) Verify(data, sig []byte) error { return k.verify(data, sig) }

// ParseKey reads a public key: in PEM for cosign, a line of an SSH public key file, or the second line of a minisign public key file.
func ParseKey(text string) (Key, error) {
	text = strings.TrimSpace(text)
	block, rest := pem.Decode([]byte(text))
	switch {
	case block != nil && len(rest) > 0:
		return Key{}, errors.New("there is more than one key")
	case block != nil && block.Type != "PUBLIC KEY":
		return Key{}, fmt.Errorf("%q is no public key", block.Type)
	case block != nil:
		return cosignKey(block.Bytes)
	case strings.ContainsAny(text, "\r\n"):
		return Key{}, errors.New("a key that is not in PEM is one line")
	case strings.Contains(text, " "):
		return sshKey(text)
	}
	return minisignKey(text)
}
