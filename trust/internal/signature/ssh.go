package signature

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// This file implements the SSH encoding of keys and signatures itself: RFC 4253, 5656 and 8709,
// and OpenSSH's PROTOCOL.sshsig and PROTOCOL.u2f. The package golang.org/x/crypto/ssh is a
// client and a server; linking it slows down every start of krmflow, and verification needs only
// this small part.

// minRSA is the minimum length of an RSA key in bits.
const minRSA = 2048

// sshKey parses a line of an SSH public key file.
func sshKey(text string) (Key, error) {
	bad := errors.New("not an SSH public key: expected a line such as \"ssh-ed25519 AAAA... name\"")
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return Key{}, bad
	}
	blob, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil {
		return Key{}, bad
	}
	w := wire{rest: blob}
	kind := string(w.text())
	if kind != fields[0] || w.bad {
		return Key{}, bad
	}
	check, err := sshCheck(kind, &w)
	if err != nil {
		return Key{}, err
	}
	if w.bad || len(w.rest) > 0 {
		return Key{}, bad
	}
	verify := func(data, sig []byte) error { return verifySSH(blob, check, data, sig) }
	return Key{Kind: "ssh", Ends: []string{".sig"}, verify: verify}, nil
}

// An sshChecker reports whether sig, in the given format and followed by rest, is a signature of
// data.
type sshChecker func(format string, data, sig, rest []byte) bool

// sshCheck parses the rest of a key of the given kind.
func sshCheck(kind string, w *wire) (sshChecker, error) {
	switch kind {
	case "ssh-ed25519", "sk-ssh-ed25519@openssh.com":
		key := ed25519.PublicKey(w.text())
		w.bad = w.bad || len(key) != ed25519.PublicKeySize
		check := func(format string, data, sig, rest []byte) bool {
			return format == kind && ed25519.Verify(key, data, sig)
		}
		return inToken(kind, w, check), nil
	case "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "sk-ecdsa-sha2-nistp256@openssh.com":
		return inToken(kind, w, sshECDSA(kind, w)), nil
	case "ssh-rsa":
		e, n := w.number(), w.number()
		if w.bad || n.BitLen() < minRSA || !e.IsInt64() || e.Int64() < 3 || e.Int64() > 1<<31-1 {
			return nil, fmt.Errorf("RSA keys must have at least %d bits", minRSA)
		}
		key := &rsa.PublicKey{N: n, E: int(e.Int64())}
		return func(format string, data, sig, rest []byte) bool {
			// SHA-1 is not accepted.
			hash := map[string]crypto.Hash{"rsa-sha2-256": crypto.SHA256, "rsa-sha2-512": crypto.SHA512}[format]
			if hash == 0 || len(rest) > 0 || len(sig) > key.Size() {
				return false
			}
			sig = append(make([]byte, key.Size()-len(sig)), sig...) // leading zeros may be omitted
			return rsa.VerifyPKCS1v15(key, hash, digestOf(hash, data), sig) == nil
		}, nil
	}
	return nil, fmt.Errorf("keys of the type %s are not supported", kind)
}

func sshECDSA(kind string, w *wire) sshChecker {
	curves := map[string]struct {
		elliptic.Curve
		crypto.Hash
	}{"nistp256": {elliptic.P256(), crypto.SHA256}, "nistp384": {elliptic.P384(), crypto.SHA384},
		"nistp521": {elliptic.P521(), crypto.SHA512}}
	name, point := string(w.text()), w.text()
	c, known := curves[name]
	if !known || !strings.Contains(kind, name) {
		w.bad = true
		return nil
	}
	key, err := ecdsa.ParseUncompressedPublicKey(c.Curve, point)
	w.bad = w.bad || err != nil
	return func(format string, data, sig, rest []byte) bool {
		s := wire{rest: sig}
		r, t := s.number(), s.number()
		return format == kind && !s.bad && len(s.rest) == 0 && ecdsa.Verify(key, digestOf(c.Hash, data), r, t)
	}
}

// inToken returns an adapted check for keys in a security token, which also signs a flag, a
// counter and the application. For other keys it checks that nothing follows the signature.
func inToken(kind string, w *wire, check sshChecker) sshChecker {
	if !strings.HasPrefix(kind, "sk-") {
		return func(format string, data, sig, rest []byte) bool {
			return len(rest) == 0 && check(format, data, sig, nil)
		}
	}
	application := sha256.Sum256(w.text())
	return func(format string, data, sig, rest []byte) bool {
		// The signature is followed by a flags byte, of which present is set if the user touched
		// the token, and a four-byte counter.
		const present, size = 1, 1 + 4
		if len(rest) != size || rest[0]&present == 0 {
			return false
		}
		sum := sha256.Sum256(data)
		return check(format, bytes.Join([][]byte{application[:], rest, sum[:]}, nil), sig, nil)
	}
}

// verifySSH verifies a signature by the key blob.
func verifySSH(blob []byte, check sshChecker, data, sig []byte) error {
	const magic = "SSHSIG"
	block, _ := pem.Decode(bytes.TrimSpace(sig))
	if block == nil || block.Type != "SSH SIGNATURE" || !bytes.HasPrefix(block.Bytes, []byte(magic)) {
		return errors.New("not an SSH signature: expected the output of ssh-keygen -Y sign")
	}
	w := wire{rest: block.Bytes[len(magic):]}
	version, key := w.uint32(), w.text()
	namespace, reserved, hash := w.text(), w.text(), w.text()
	made := wire{rest: w.text()}
	format, body := string(made.text()), made.text()
	if version != 1 || w.bad || made.bad || len(w.rest) > 0 {
		return errors.New("the signature is damaged or of an unknown version")
	}
	if string(namespace) != Namespace {
		return fmt.Errorf("the signature is for the namespace %q, not for %q", namespace, Namespace)
	}
	h := map[string]crypto.Hash{"sha256": crypto.SHA256, "sha512": crypto.SHA512}[string(hash)]
	if h == 0 {
		return fmt.Errorf("the signature uses the unknown hash %q", hash)
	}
	signed := []byte(magic)
	for _, part := range [][]byte{namespace, reserved, hash, digestOf(h, data)} {
		signed = append(binary.BigEndian.AppendUint32(signed, uint32(len(part))), part...)
	}
	if !bytes.Equal(key, blob) || !check(format, signed, body, made.rest) {
		return ErrMismatch
	}
	return nil
}

func digestOf(h crypto.Hash, data []byte) []byte {
	switch h {
	case crypto.SHA256:
		sum := sha256.Sum256(data)
		return sum[:]
	case crypto.SHA384:
		sum := sha512.Sum384(data)
		return sum[:]
	}
	sum := sha512.Sum512(data)
	return sum[:]
}

// wire reads the SSH wire format. bad is set at the first missing or malformed value.
type wire struct {
	rest []byte
	bad  bool
}

func (w *wire) take(n uint32) []byte {
	if uint64(n) > uint64(len(w.rest)) {
		w.bad, w.rest = true, nil
		return nil
	}
	b := w.rest[:n]
	w.rest = w.rest[n:]
	return b
}

func (w *wire) uint32() uint32 {
	b := w.take(4)
	if b == nil {
		return 0
	}
	return binary.BigEndian.Uint32(b)
}

func (w *wire) text() []byte { return w.take(w.uint32()) }

// number reads a non-negative number.
func (w *wire) number() *big.Int {
	b := w.text()
	w.bad = w.bad || len(b) > 0 && b[0]&0x80 != 0
	return new(big.Int).SetBytes(b)
}
