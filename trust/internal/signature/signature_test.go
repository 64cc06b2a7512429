package signature

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The files in testdata were made by ssh-keygen, minisign and openssl. Signatures of openssl have
// the same form as signatures of cosign.
var pairs = []struct{ key, sig string }{
	{"ed25519.pub", "ed25519.sig"}, {"ecdsa.pub", "ecdsa.sig"}, {"ecdsa384.pub", "ecdsa384.sig"}, {"ecdsa521.pub", "ecdsa521.sig"},
	{"rsa.pub", "rsa.sig"},
	{"minisign.pub", "hashed.minisig"}, {"minisign.pub", "legacy.minisig"}, {"cosign.pub", "cosign.sig"},
}

func TestVerifyRefusesChangedContent(t *testing.T) {
	data := read(t, "catalog.yaml")
	for _, p := range pairs {
		key, err := ParseKey(string(read(t, p.key)))
		if err != nil {
			t.Fatalf("%s: %v", p.key, err)
		}
		sig := read(t, p.sig)
		if err := key.Verify(data, sig); err != nil {
			t.Errorf("%s with %s: %v", p.sig, p.key, err)
		}
		if err := key.Verify(append([]byte("x"), data...), sig); !errors.Is(err, ErrMismatch) {
			t.Errorf("%s of other content: %v", p.sig, err)
		}
		for _, q := range pairs {
			if q.key != p.key && key.Verify(data, read(t, q.sig)) == nil {
				t.Errorf("%s verifies with %s", q.sig, p.key)
			}
		}
		for i := range sig { // no changed byte of the signed content or the signature may be accepted
			changed := append([]byte(nil), sig...)
			changed[i] ^= 1
			if err := key.Verify(data, changed); err == nil && !ignored(string(sig), i) {
				t.Errorf("%s: verifies with byte %d changed", p.sig, i)
			}
		}
	}
}

// ignored reports whether a byte is not signed: minisign's untrusted comment, line endings, and
// padding bits of base64.
func ignored(sig string, i int) bool {
	line := strings.Count(sig[:i], "\n")
	end := strings.HasPrefix(sig[i+1:], "=") || i+1 == len(sig) || sig[i+1] == '\n'
	return strings.HasPrefix(sig, "untrusted") && line == 0 || sig[i] == '\n' || end
}

func TestCosignBundles(t *testing.T) {
	key, err := ParseKey(string(read(t, "cosign.pub")))
	if err != nil {
		t.Fatal(err)
	}
	data, sig := read(t, "catalog.yaml"), string(read(t, "cosign.sig"))
	for _, form := range []string{`{"base64Signature": %q, "cert": ""}`,
		`{"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "messageSignature": {"signature": %q}}`} {
		if err := key.Verify(data, fmt.Appendf(nil, form, sig)); err != nil {
			t.Errorf("%s: %v", form, err)
		}
	}
	for _, bad := range []string{"{}", "{", "", base64.StdEncoding.EncodeToString([]byte("nonsense"))} {
		if err := key.Verify(data, []byte(bad)); err == nil {
			t.Errorf("%q verifies", bad)
		}
	}
}

func TestForeignNamespaceIsRefused(t *testing.T) {
	key, err := ParseKey(string(read(t, "ed25519.pub")))
	if err != nil {
		t.Fatal(err)
	}
	want := `the signature is for the namespace "file", not for "krmflow-catalog"`
	if err := key.Verify(read(t, "catalog.yaml"), read(t, "namespace.sig")); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestParseKeyMistakes(t *testing.T) {
	pem := string(read(t, "cosign.pub"))
	for _, text := range []string{"", "x", "ssh-ed25519 AAAA", pem + pem, strings.ReplaceAll(pem, "PUBLIC", "PRIVATE"),
		string(read(t, "minisign.pub"))[:20],
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIlzh4JGBb6Pd4okpbFJDyugXZT6oC\nRWTmM4Fzh5992WX9Eybm3zKR2IdlyljcB4rciqcekMJ1bvr0ZYsda1Gz"} {
		if _, err := ParseKey(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func FuzzVerify(f *testing.F) {
	var keys []Key
	for _, p := range pairs {
		text, _ := os.ReadFile(filepath.Join("testdata", p.key))
		key, err := ParseKey(string(text))
		if err != nil {
			f.Fatal(err)
		}
		sig, _ := os.ReadFile(filepath.Join("testdata", p.sig))
		keys = append(keys, key)
		f.Add(sig, string(text))
	}
	f.Fuzz(func(t *testing.T, sig []byte, text string) {
		for _, key := range keys {
			if key.Verify([]byte("what nobody signed"), sig) == nil {
				t.Errorf("%s: verifies", key.Kind)
			}
		}
		_, _ = ParseKey(text) // no panic
	})
}
