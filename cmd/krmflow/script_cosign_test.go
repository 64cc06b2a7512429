package main

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cosign implements cosign FORM KEY HOST/NAME DIGEST [TYPE]. It stores a signature of an artifact
// as cosign sign --key does. FORM is the location: tag, referrer or bundle. A missing key is
// created, with the public key in KEY.pub. DIGEST=OTHER stores the signature under the artifact
// OTHER. TYPE is the media type of the signed content.
func cosign(ts *testscript.TestScript, args []string) {
	form, key, repo := args[0], cosignKey(ts, args[1]), newRepository(ts, args[2])
	digest, other, _ := strings.Cut(args[3], "=")
	tag := strings.Replace(cmp.Or(other, digest), ":", "-", 1)
	if form == "bundle" {
		const mediaType = "application/vnd.dev.sigstore.bundle.v0.3+json"
		kind := append(args, "https://sigstore.dev/cosign/sign/v1")[4]
		statement := fmt.Sprintf(`{"_type": "https://in-toto.io/Statement/v1", "subject": [{"digest": {"sha256": %q}}], "predicateType": %q, "predicate": {}}`,
			strings.TrimPrefix(digest, "sha256:"), kind)
		const payloadType = "application/vnd.in-toto+json"
		sig := sign(ts, key, fmt.Sprintf("DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(statement), statement))
		bundle, err := json.Marshal(map[string]any{"mediaType": mediaType, "dsseEnvelope": map[string]any{
			"payload": []byte(statement), "payloadType": payloadType, "signatures": []any{map[string]any{"sig": sig}},
		}})
		ts.Check(err)
		refer(repo, tag, mediaType, digest, repo.upload(mediaType, string(bundle), nil))
		return
	}
	payload := fmt.Sprintf(
		`{"critical":{"identity":{"docker-reference":%q},"image":{"docker-manifest-digest":%q},"type":%q},"optional":null}`,
		args[2], digest, append(args, "cosign container image signature")[4])
	layer := repo.upload("application/vnd.dev.cosign.simplesigning.v1+json", payload, map[string]string{
		"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(sign(ts, key, payload)),
	})
	if form == "referrer" {
		refer(repo, tag, "application/vnd.dev.cosign.artifact.sig.v1+json", digest, layer)
		return
	}
	repo.manifest(tag+".sig", "application/vnd.oci.image.manifest.v1+json",
		map[string]any{"config": repo.upload("application/vnd.oci.image.config.v1+json", "{}", nil), "layers": []any{layer}})
}

// refer stores a manifest that refers to an artifact, and the index of such manifests, because the
// registry does not maintain it.
func refer(repo repository, tag, artifactType, digest string, layer any) {
	m := repo.manifest("", "application/vnd.oci.image.manifest.v1+json", map[string]any{
		"artifactType": artifactType, "subject": map[string]any{"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest,
			"size": 1},
		"config": repo.upload("application/vnd.oci.empty.v1+json", "{}", nil), "layers": []any{layer},
	})
	m["artifactType"] = artifactType
	repo.manifest(tag, "application/vnd.oci.image.index.v1+json", map[string]any{"manifests": []any{m}})
}

func cosignKey(ts *testscript.TestScript, name string) *ecdsa.PrivateKey {
	file := ts.MkAbs(name)
	if text, err := os.ReadFile(file); err == nil {
		block, _ := pem.Decode(text)
		key, err := x509.ParseECPrivateKey(block.Bytes)
		ts.Check(err)
		return key
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	private, err := x509.MarshalECPrivateKey(key)
	ts.Check(err)
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	ts.Check(err)
	ts.Check(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}), 0o600))
	ts.Check(os.WriteFile(file+".pub", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o644))
	return key
}

func sign(ts *testscript.TestScript, key *ecdsa.PrivateKey, text string) []byte {
	sum := sha256.Sum256([]byte(text))
	sig, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
	ts.Check(err)
	return sig
}
