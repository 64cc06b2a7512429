// Package signature verifies detached signatures with public keys, without using any service. It
// supports the formats of cosign sign-blob --key, ssh-keygen -Y sign and minisign. The package
// only verifies; these existing tools create the signatures.
package signature

import (
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// Namespace is the required namespace of SSH signatures: ssh-keygen -Y sign -n krmflow-catalog.
const Namespace = "krmflow-catalog"

// ErrMismatch is returned for a well-formed signature of different content or by a different
// key.
var ErrMismatch = errors.New("the signature does not match the content and the key")

// A Key is a public key. It is immutable and safe for concurrent use.
type Key struct {
	// Kind is "cosign", "ssh" or "minisign".
	Kind string
	// Ends lists the usual file name suffixes of signatures by such a key.
	Ends   []string
	verify func(data, sig []byte) error
}

// Verify returns nil if sig is a signature of data by the key. It returns [ErrMismatch] if sig
// is a signature of different data or by a different key, and a different error if sig is not in
// a format of this kind of key.
func (k Key) Verify(data, sig []byte) error { return k.verify(data, sig) }

// ParseKey parses a public key: PEM for cosign, a line of an SSH public key file, or the second
// line of a minisign public key file.
func ParseKey(text string) (Key, error) {
	text = strings.TrimSpace(text)
	block, rest := pem.Decode([]byte(text))
	switch {
	case block != nil && len(rest) > 0:
		return Key{}, errors.New("there is more than one key")
	case block != nil && block.Type != "PUBLIC KEY":
		return Key{}, fmt.Errorf("%q is not a public key", block.Type)
	case block != nil:
		return cosignKey(block.Bytes)
	case strings.ContainsAny(text, "\r\n"):
		return Key{}, errors.New("a key that is not in PEM must be a single line")
	case strings.Contains(text, " "):
		return sshKey(text)
	}
	return minisignKey(text)
}
