package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/keyservice"
	"google.golang.org/grpc"
)

// keyClient decrypts data keys with the library and remembers why it failed.
type keyClient struct {
	keyservice.LocalClient
	failures []failure
}

// failure tells why a key of the metadata could not be used.
type failure struct {
	key     string
	kind    keyKind
	missing bool // no private key was given
	refused bool // the file selects where a credential is sent
	why     string
}

type keyKind int

const (
	ageKey keyKind = iota
	pgpKey
	cloudKey
)

// ageVariables name the places of age identities.
var ageVariables = []string{
	"SOPS_AGE_KEY_FILE", "SOPS_AGE_KEY", "SOPS_AGE_KEY_CMD", "SOPS_AGE_SSH_PRIVATE_KEY_FILE", "SOPS_AGE_SSH_PRIVATE_KEY_CMD",
}

// Decrypt implements keyservice.KeyServiceClient.
func (c *keyClient) Decrypt(ctx context.Context, req *keyservice.DecryptRequest,
	opts ...grpc.CallOption) (*keyservice.DecryptResponse, error) {
	f := describe(req.Key)
	if f.kind == pgpKey && !hasPGP() {
		// Otherwise the library starts gpg, which makes a new directory in HOME.
		f.missing = true
		c.failures = append(c.failures, f)
		return nil, fmt.Errorf("no key ring")
	}
	if f.why = refusal(req.Key); f.why != "" {
		f.missing = f.why == noVaultAddress
		f.refused = !f.missing
		c.failures = append(c.failures, f)
		return nil, errors.New(f.why)
	}
	resp, err := c.LocalClient.Decrypt(ctx, req, opts...)
	if err != nil {
		f.missing = f.kind == ageKey && strings.Contains(err.Error(), "failed to load age identities") && !anySet(ageVariables)
		f.why = reason(f.kind, err)
		c.failures = append(c.failures, f)
	}
	return resp, err
}

func anySet(names []string) bool {
	for _, n := range names {
		if os.Getenv(n) != "" {
			return true
		}
	}
	return false
}

// describe names a key of the metadata.
func describe(k *keyservice.Key) failure {
	switch k := k.GetKeyType().(type) {
	case *keyservice.Key_AgeKey:
		return failure{key: "age " + k.AgeKey.Recipient, kind: ageKey}
	case *keyservice.Key_PgpKey:
		return failure{key: "PGP " + k.PgpKey.Fingerprint, kind: pgpKey}
	case *keyservice.Key_KmsKey:
		return failure{key: "AWS KMS " + k.KmsKey.Arn, kind: cloudKey}
	case *keyservice.Key_GcpKmsKey:
		return failure{key: "GCP KMS " + k.GcpKmsKey.ResourceId, kind: cloudKey}
	case *keyservice.Key_AzureKeyvaultKey:
		return failure{key: "Azure Key Vault " + k.AzureKeyvaultKey.VaultUrl + "/" + k.AzureKeyvaultKey.Name, kind: cloudKey}
	case *keyservice.Key_VaultKey:
		return failure{key: "Vault " + k.VaultKey.VaultAddress + "/" + k.VaultKey.EnginePath + "/" + k.VaultKey.KeyName, kind: cloudKey}
	case *keyservice.Key_HckmsKey:
		return failure{key: "Huawei Cloud KMS " + k.HckmsKey.KeyId, kind: cloudKey}
	}
	return failure{key: "a key of an unknown type", kind: cloudKey}
}

// hasPGP reports whether there is a key ring, in either form.
func hasPGP() bool {
	dir := os.Getenv("GNUPGHOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return false
		}
		dir = filepath.Join(home, ".gnupg")
	}
	for _, name := range []string{"secring.gpg", "pubring.gpg", "pubring.kbx", "private-keys-v1.d", "S.gpg-agent"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// reason shortens an error of the library to its cause.
func reason(kind keyKind, err error) string {
	text := err.Error()
	text, _, _ = strings.Cut(text, ". Did not find keys in location")
	switch kind {
	case ageKey:
		text = strings.TrimPrefix(text, "failed to create reader for decrypting sops data key with age: ")
		text = strings.TrimPrefix(text, "failed to load age identities. Errors while loading age identities: ")
		text = strings.TrimPrefix(text, "failed to load age identities")
		text = or(text, "the variable or file contains no identity")
	case pgpKey:
		text = strings.TrimPrefix(text, "could not decrypt data key with PGP key: github.com/ProtonMail/go-crypto/openpgp error: ")
		if _, err := exec.LookPath(or(os.Getenv("SOPS_GPG_EXEC"), "gpg")); err != nil {
			text, _, _ = strings.Cut(text, "; GnuPG binary error:")
		}
	}
	return cut(printable(redacted(strings.Join(strings.Fields(text), " "))), 400)
}

// redacted removes the values of granted variables that are secrets themselves.
func redacted(text string) string {
	for _, n := range []string{"SOPS_AGE_KEY", "SOPS_AGE_KEY_CMD", "SOPS_AGE_SSH_PRIVATE_KEY_CMD",
		"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_CLIENT_SECRET", "VAULT_TOKEN", "GOOGLE_CREDENTIALS",
		"GOOGLE_OAUTH_ACCESS_TOKEN", "HUAWEICLOUD_SDK_SK"} {
		for _, v := range strings.Fields(os.Getenv(n)) {
			if len(v) > 3 {
				text = strings.ReplaceAll(text, v, "["+n+"]")
			}
		}
	}
	return text
}

// explain makes the error for a file whose data key could not be decrypted.
func (c *keyClient) explain(file, function string, m *sops.Metadata) error {
	missing, refused, cloud := true, true, false
	for _, f := range c.failures {
		missing = missing && f.missing
		refused = refused && (f.missing || f.refused)
		cloud = cloud || f.kind == cloudKey
	}
	var p *problem
	switch {
	case len(c.failures) == 0:
		return damaged(file, "its groups of keys do not fit together")
	case missing:
		p = problemf(file, "missing key: no private key was given")
	case refused:
		p = problemf(file, "refused key: a file does not select where credentials are sent")
	default:
		p = problemf(file, "wrong key: no given key decrypts the file")
	}
	if len(m.KeyGroups) > 1 {
		p.hint("the file needs keys of %d of its %d groups", m.ShamirThreshold, len(m.KeyGroups))
	}
	const most = 10
	var variables []string
	for i, f := range c.failures {
		if i < most {
			p.hint("encrypted for %s%s", cut(f.key, 200), prefixed(": ", f.why))
		}
		switch {
		case f.missing && f.kind == ageKey:
			variables = append(variables, "SOPS_AGE_KEY_FILE")
		case f.missing && f.kind == pgpKey:
			variables = append(variables, "GNUPGHOME")
		}
	}
	if n := len(c.failures) - most; n > 0 {
		p.hint("and for %d more", n)
	}
	if len(variables) > 0 {
		p.hint("grant a key: set %s, and add --grant %s=%s,tree", variables[0], function, variables[0])
	}
	if cloud {
		p.hint("a key in a cloud needs the network and the credentials of its client: grant network and their variables")
	}
	return p
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}
