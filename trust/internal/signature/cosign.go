package signature

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// cosignKey parses a key in PKIX form. cosign generates ECDSA keys on the curve P-256.
func cosignKey(der []byte) (Key, error) {
	public, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return Key{}, fmt.Errorf("the key cannot be read: %w", err)
	}
	key, ok := public.(*ecdsa.PublicKey)
	if !ok {
		return Key{}, fmt.Errorf("the key is %T; expected one for ECDSA, as cosign makes them", public)
	}
	verify := func(data, sig []byte) error {
		raw, err := cosignSignature(sig)
		if err != nil {
			return err
		}
		digest := sha256.Sum256(data)
		if !ecdsa.VerifyASN1(key, digest[:], raw) {
			return ErrMismatch
		}
		return nil
	}
	return Key{Kind: "cosign", Ends: []string{".sig", ".bundle", ".sigstore.json"}, verify: verify}, nil
}

// cosignSignature extracts the signature from the output of cosign: base64, or a JSON bundle in
// cosign's older format or in Sigstore's. It ignores the other fields of a bundle, which are for
// keyless signatures.
func cosignSignature(sig []byte) ([]byte, error) {
	sig = bytes.TrimSpace(sig)
	if len(sig) > 0 && sig[0] == '{' {
		var bundle struct {
			Base64Signature  []byte `json:"base64Signature"`
			MessageSignature struct {
				Signature []byte `json:"signature"`
			} `json:"messageSignature"`
		}
		if err := json.Unmarshal(sig, &bundle); err != nil {
			return nil, errors.New("the signature is no bundle of cosign")
		}
		if raw := bundle.MessageSignature.Signature; len(raw) > 0 {
			return raw, nil
		}
		if len(bundle.Base64Signature) > 0 {
			return bundle.Base64Signature, nil
		}
		return nil, errors.New("the bundle has no signature of a file")
	}
	raw, err := base64.StdEncoding.DecodeString(string(sig))
	if err != nil || len(raw) == 0 {
		return nil, errors.New("the signature is not in base64")
	}
	return raw, nil
}
