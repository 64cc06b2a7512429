package signature

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// A signature of an artifact is valid only for the artifact that it names, and only if nothing in
// it was changed.
func TestVerifyArtifact(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, _ := x509.MarshalPKIXPublicKey(&private.PublicKey)
	key, err := ParseKey(string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})))
	if err != nil {
		t.Fatal(err)
	}
	sign := func(text string) []byte {
		sum := sha256.Sum256([]byte(text))
		sig, _ := ecdsa.SignASN1(rand.Reader, private, sum[:])
		return sig
	}
	digest := "sha256:" + strings.Repeat("ab", 32)
	simple := fmt.Sprintf(`{"critical":{"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"}}`, digest)
	text := base64.StdEncoding.EncodeToString(sign(simple))
	statement := func(predicate, hex string) []byte {
		payload := fmt.Sprintf(`{"predicateType":%q,"subject":[{"digest":{"sha256":%q}}]}`, predicate, hex)
		bundle, _ := json.Marshal(map[string]any{"dsseEnvelope": map[string]any{"payload": []byte(payload), "payloadType": inToto,
			"signatures": []any{
				map[string]any{"sig": sign(fmt.Sprintf("DSSEv1 %d %s %d %s", len(inToto), inToto, len(payload), payload))},
			}}})
		return bundle
	}
	bundle := statement(signPredicate, digest[7:])
	if err := key.VerifyArtifact(digest, []byte(simple), text); err != nil {
		t.Error(err)
	}
	if err := key.VerifyArtifact(digest, bundle, ""); err != nil {
		t.Error(err)
	}
	other := "sha256:" + strings.Repeat("cd", 32)
	for name, err := range map[string]error{
		"of another artifact": key.VerifyArtifact(other, []byte(simple), text), "bundle of another": key.VerifyArtifact(other, bundle, ""),
		"no digest":         key.VerifyArtifact("sha256:", statement(signPredicate, ""), ""),
		"an empty one":      key.VerifyArtifact("", []byte(simple), text),
		"another statement": key.VerifyArtifact(digest, statement("https://slsa.dev/provenance/v1", digest[7:]), ""),
		"of a file": key.VerifyArtifact(digest, []byte("apiVersion: v1\n"),
			base64.StdEncoding.EncodeToString(sign("apiVersion: v1\n"))),
		"no bundle": key.VerifyArtifact(digest, []byte(simple), ""),
	} {
		if err == nil || errors.Is(err, ErrMismatch) && name != "no bundle" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range simple {
		changed := []byte(simple)
		changed[i] ^= 1
		if err := key.VerifyArtifact(digest, changed, text); err == nil {
			t.Errorf("byte %d of %s can be changed", i, simple)
		}
	}
}
