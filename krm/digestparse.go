package krm

import (
	"encoding/hex"
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// IsZero reports whether d is the zero Digest, which means that there is none.
func (d Digest) IsZero() bool { return d == Digest{} }

// ParseDigest parses a SHA-256 digest: 64 hexadecimal digits in upper or lower case, with an
// optional "sha256:" prefix. An all-zero digest is an error.
func ParseDigest(text string) (d Digest, err error) {
	digits := text
	if name, rest, ok := strings.Cut(text, ":"); ok {
		if !strings.EqualFold(name, "sha256") {
			return d, diag.BadValue.Errorf("the digest %q is not a sha256", text)
		}
		digits = rest
	}
	switch {
	case text == "":
		return d, diag.BadValue.Errorf("the digest is empty")
	case len(digits) != 2*len(d):
		return d, diag.BadValue.Errorf("the digest %q has %d characters; a sha256 has %d hexadecimal digits", text, len(digits), 2*len(d))
	}
	if _, err := hex.Decode(d[:], []byte(digits)); err != nil {
		return Digest{}, diag.BadValue.Errorf("the digest %q is not hexadecimal", text)
	}
	if d.IsZero() {
		return d, diag.BadValue.Errorf("the digest is all zeros")
	}
	return d, nil
}
