package signature

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strings"

	"golang.org/x/crypto/blake2b"
)

// The layout of minisign keys and signatures: a two-byte algorithm, an eight-byte key id, and
// the key or signature.
const (
	minisignPure   = "Ed" // signature of the content
	minisignHashed = "ED" // signature of its BLAKE2b-512 hash
	minisignHead   = 2 + 8
)

// minisignKey parses the second line of a minisign public key file.
func minisignKey(text string) (Key, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw) != minisignHead+ed25519.PublicKeySize || string(raw[:2]) != minisignPure {
		return Key{}, errors.New("not a public key: expected PEM, an SSH public key, or the second line of a minisign public key file")
	}
	id, key := string(raw[2:minisignHead]), ed25519.PublicKey(raw[minisignHead:])
	verify := func(data, sig []byte) error { return verifyMinisign(id, key, data, sig) }
	return Key{Kind: "minisign", Ends: []string{".minisig"}, verify: verify}, nil
}

// verifyMinisign verifies both signatures in a signature file: of the content and of the trusted
// comment.
func verifyMinisign(id string, key ed25519.PublicKey, data, sig []byte) error {
	bad := errors.New("not a minisign signature")
	lines := strings.Split(strings.TrimSpace(string(sig)), "\n")
	if len(lines) != 4 {
		return bad
	}
	comment, ok := strings.CutPrefix(strings.TrimSuffix(lines[2], "\r"), "trusted comment: ")
	made, err := base64.StdEncoding.DecodeString(strings.TrimSpace(lines[1]))
	if err != nil || !ok || len(made) != minisignHead+ed25519.SignatureSize {
		return bad
	}
	global, err := base64.StdEncoding.DecodeString(strings.TrimSpace(lines[3]))
	if err != nil || len(global) != ed25519.SignatureSize {
		return bad
	}
	switch string(made[:2]) {
	case minisignPure:
	case minisignHashed:
		sum := blake2b.Sum512(data)
		data = sum[:]
	default:
		return bad
	}
	body := made[minisignHead:]
	if string(made[2:minisignHead]) != id || !ed25519.Verify(key, data, body) ||
		!ed25519.Verify(key, append(body[:len(body):len(body)], comment...), global) {
		return ErrMismatch
	}
	return nil
}
