package signature

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/pem"
	"errors"
	"fmt"

	"golang.org/x/crypto/ssh"
)

// sshKey reads a line of an SSH public key file.
func sshKey(text string) (Key, error) {
	key, _, options, rest, err := ssh.ParseAuthorizedKey([]byte(text))
	if err != nil || len(options) > 0 || len(rest) > 0 {
		return Key{}, errors.New("it is no SSH public key, which is a line such as \"ssh-ed25519 AAAA... name\"")
	}
	switch key.Type() {
	case ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoRSA, ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256:
	default:
		return Key{}, fmt.Errorf("keys of the type %s are not supported", key.Type())
	}
	verify := func(data, sig []byte) error { return verifySSH(key, data, sig) }
	return Key{Kind: "ssh", Ends: []string{".sig"}, verify: verify}, nil
}

// verifySSH checks a signature in the form of OpenSSH's PROTOCOL.sshsig.
func verifySSH(key ssh.PublicKey, data, sig []byte) error {
	const magic = "SSHSIG"
	block, _ := pem.Decode(bytes.TrimSpace(sig))
	if block == nil || block.Type != "SSH SIGNATURE" || !bytes.HasPrefix(block.Bytes, []byte(magic)) {
		return errors.New("it is no signature of ssh-keygen -Y sign")
	}
	var s struct {
		Version                              uint32
		Key                                  []byte
		Namespace, Reserved, Hash, Signature string
	}
	if err := ssh.Unmarshal(block.Bytes[len(magic):], &s); err != nil || s.Version != 1 {
		return errors.New("the signature is damaged or of an unknown version")
	}
	if s.Namespace != Namespace {
		return fmt.Errorf("the signature is for the namespace %q, not for %q", s.Namespace, Namespace)
	}
	if !bytes.Equal(s.Key, key.Marshal()) {
		return ErrMismatch
	}
	var digest []byte
	switch s.Hash {
	case "sha256":
		sum := sha256.Sum256(data)
		digest = sum[:]
	case "sha512":
		sum := sha512.Sum512(data)
		digest = sum[:]
	default:
		return fmt.Errorf("the signature uses the unknown hash %q", s.Hash)
	}
	var made ssh.Signature
	if err := ssh.Unmarshal([]byte(s.Signature), &made); err != nil {
		return errors.New("the signature is damaged")
	}
	if made.Format == ssh.KeyAlgoRSA { // which is RSA with SHA-1
		return errors.New("signatures with SHA-1 are not accepted")
	}
	signed := append([]byte(magic), ssh.Marshal(struct{ Namespace, Reserved, Hash, Digest string }{s.Namespace, s.Reserved, s.Hash, string(digest)})...)
	if key.Verify(signed, &made) != nil {
		return ErrMismatch
	}
	return nil
}
