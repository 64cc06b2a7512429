package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/getsops/sops/v3"
	sopsage "github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/keys"
	"github.com/getsops/sops/v3/kms"
	"github.com/getsops/sops/v3/pgp"
	"golang.org/x/crypto/ssh"
)

const secretYAML = `apiVersion: v1
kind: Secret
metadata:
    name: mysecret
    annotations:
        kustomize.config.k8s.io/needs-hash: "true"
        kustomize.config.k8s.io/behavior: merge
type: Opaque
stringData:
    # why
    user: admin
    password: canary-7d1f
    port: "8080"
    text: |
        one
        two canary-7d1f
    empty: ""
`

const onlyData = "^(data|stringData)$"

// TestKSOPSFiles compares with KSOPS 4.4: the manifests as they are, with the annotations that
// kustomize reads, in the order of the list.
func TestKSOPSFiles(t *testing.T) {
	x := newTree(t)
	x.encrypt("a.enc.yaml", secretYAML, encryptedRegex(onlyData))
	x.encrypt("sub/b.json", `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"n": "7"}}`)
	x.encrypt("c", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: d}\n---\n")
	x.want(`apiVersion: viaduct.ai/v1
kind: ksops
metadata:
  name: generator
  annotations:
    config.kubernetes.io/function: |
      exec:
        path: ksops
fail-silently: false
files:
- ./a.enc.yaml
- ./sub/b.json
- c
`, `  - apiVersion: v1
    kind: Secret
    metadata:
      name: mysecret
      annotations:
        kustomize.config.k8s.io/needs-hash: "true"
        kustomize.config.k8s.io/behavior: merge
    type: Opaque
    stringData:
      # why
      user: admin
      password: canary-7d1f
      port: "8080"
      text: |
        one
        two canary-7d1f
      empty: ""
  - {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"n": "7"}}
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: c}
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: d}
`)
}

// TestKSOPSSecretFrom compares with KSOPS 4.4: texts and variables are stringData, binary files
// data, the keys are in the order of sigs.k8s.io/yaml, and variables have the syntax of godotenv.
func TestKSOPSSecretFrom(t *testing.T) {
	x := newTree(t)
	x.encrypt("secret.enc.yaml", "username: admin\npassword: canary-7d1f\n")
	x.encrypt("app.conf", "[a]\nb = canary-7d1f\n")
	x.encrypt("blob", "\x00\x01\xff")
	x.encrypt("vars.env", "A=1\nB=\"two words\"\nexport C=canary-7d1f # remark\nD='x'\nsecret.enc.yaml=last\n")
	x.want(`apiVersion: viaduct.ai/v1
kind: ksops
metadata:
  name: generator
secretFrom:
- metadata:
    name: mysecret
    namespace: test
    labels:
      foo: bar
    annotations:
      kustomize.config.k8s.io/needs-hash: "false"
      abc: xyz
  type: Opaque
  files:
  - ./secret.enc.yaml
  - conf=./app.conf
  binaryFiles:
  - ./blob
  - two=blob
- metadata:
    name: vars
  files:
  - ./secret.enc.yaml
  envs:
  - ./vars.env
`, `  - apiVersion: v1
    data:
      blob: AAH/
      two: AAH/
    kind: Secret
    metadata:
      annotations:
        abc: xyz
        kustomize.config.k8s.io/needs-hash: "false"
      labels:
        foo: bar
      name: mysecret
      namespace: test
    stringData:
      conf: |
        [a]
        b = canary-7d1f
      secret.enc.yaml: |
        username: admin
        password: canary-7d1f
    type: Opaque
  - apiVersion: v1
    kind: Secret
    metadata:
      name: vars
    stringData:
      A: "1"
      B: two words
      C: canary-7d1f
      D: x
      secret.enc.yaml: last
`)
}

func TestSopsSecretGenerator(t *testing.T) {
	x := newTree(t)
	x.encrypt("a.env", "# remark\nA=1\nB=\"canary-7d1f\"\n")
	x.encrypt("b.yaml", "C: canary-7d1f\nD: 7\nE: true\n")
	x.encrypt("c.json", `{"F": "f"}`)
	x.encrypt("d.ini", "[s]\nk = canary-7d1f\n")
	x.encrypt("e.bin", "\xff\x00")
	x.encrypt("f.yaml", secretYAML, encryptedRegex(onlyData))
	x.want(`apiVersion: krmflow.dev/v1alpha1
kind: SopsSecretGenerator
metadata:
  name: app
  namespace: shop
  annotations:
    config.kubernetes.io/function: |
      exec: {path: x}
type: example.com/t
behavior: merge
envs: [a.env, b.yaml, c.json]
files: [d.ini, bin=e.bin]
options:
  labels: {l: "1"}
  annotations: {a: "2"}
  immutable: true
`, `  - apiVersion: v1
    data:
      A: MQ==
      B: `+b64(`"canary-7d1f"`)+`
      C: `+b64(`canary-7d1f`)+`
      D: Nw==
      E: dHJ1ZQ==
      F: Zg==
      bin: /wA=
      d.ini: `+b64("[s]\nk = canary-7d1f\n")+`
    immutable: true
    kind: Secret
    metadata:
      annotations:
        a: "2"
        kustomize.config.k8s.io/behavior: merge
        kustomize.config.k8s.io/needs-hash: "true"
      labels:
        l: "1"
      name: app
      namespace: shop
    type: example.com/t
`)
	x.want(`apiVersion: krmflow.dev/v1alpha1
kind: SopsSecretGenerator
metadata: {name: app}
files: [e.bin]
options: {disableNameSuffixHash: true}
`, `  - apiVersion: v1
    data:
      e.bin: /wA=
    kind: Secret
    metadata:
      name: app
    type: Opaque
`)
	stdout, stderr, code := x.call("apiVersion: krmflow.dev/v1alpha1\nkind: SopsSecretGenerator\nmanifests: [f.yaml]\n")
	if code != 0 || !strings.Contains(stdout, "name: mysecret") || strings.Count(stdout, "kind: Secret") != 1 {
		t.Error(code, stderr, stdout)
	}
}

// TestGoabout compares with SopsSecretGenerator of goabout.com.
func TestGoabout(t *testing.T) {
	x := newTree(t)
	x.encrypt("a.env", "A=1\nfile.txt=other\n")
	x.encrypt("file.txt", canary)
	x.encrypt("f.yaml", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: whole\nstringData:\n  a: b\n", encryptedRegex(onlyData))
	stdout, stderr, code := x.call(`apiVersion: goabout.com/v1beta1
kind: SopsSecretGenerator
metadata:
  name: my-secret
  labels: {app: my-app}
  annotations:
    create-by: me
    config.kubernetes.io/function: x
behavior: merge
disableNameSuffixHash: true
envs: [a.env]
files: [file.txt]
objects: [f.yaml]
unknown: 1
`)
	want := `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
  - apiVersion: v1
    kind: Secret
    metadata:
      name: whole
    stringData:
      a: b
  - apiVersion: v1
    data:
      A: MQ==
      file.txt: ` + b64(canary) + `
    kind: Secret
    metadata:
      annotations:
        create-by: me
        kustomize.config.k8s.io/behavior: merge
      labels:
        app: my-app
      name: my-secret
results:
  - message: unknown is not known and has no effect
    severity: warning
`
	if code != 0 || stdout != want {
		t.Errorf("exit code %d, %s\n%s", code, stderr, stdout)
	}
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// TestTransformer checks that other items remain.
func TestTransformer(t *testing.T) {
	x := newTree(t)
	x.encrypt("a", "v")
	config := "apiVersion: krmflow.dev/v1alpha1\nkind: SopsSecretGenerator\nmetadata: {name: s}\nfiles: [a]\n"
	stdout, stderr, code := x.callList("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n" +
		"- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: other\nfunctionConfig:\n" + indented(config))
	if code != 0 || !strings.Contains(stdout, "name: other\n") || !strings.Contains(stdout, "name: s\n") {
		t.Error(code, stderr, stdout)
	}
}

const generatorOf = "apiVersion: krmflow.dev/v1alpha1\nkind: SopsSecretGenerator\nmetadata: {name: app}\n"

func TestKeys(t *testing.T) {
	config := generatorOf + "files: [a]\n"
	x := newTree(t)
	x.encrypt("a", canary)
	ok := func() {
		t.Helper()
		if stdout, stderr, code := x.call(config); code != 0 || !strings.Contains(stdout, b64(canary)) {
			t.Error(code, stderr)
		}
	}
	ok()

	// A file of keys.
	id := x.key
	os.Unsetenv("SOPS_AGE_KEY")
	file := filepath.Join(t.TempDir(), "keys.txt")
	os.WriteFile(file, []byte("# created\n"+id+"\n"), 0o600)
	t.Setenv("SOPS_AGE_KEY_FILE", file)
	ok()

	// No key.
	os.Unsetenv("SOPS_AGE_KEY_FILE")
	x.fails(config, "a: missing key: no private key was given\n  encrypted for age age1",
		"  grant a key: set SOPS_AGE_KEY_FILE, and add --grant krmflow.dev/SopsSecretGenerator=SOPS_AGE_KEY_FILE,tree\n")

	// A different key, a file that is not there, and one that is not a key.
	other, _ := newAge(t)
	t.Setenv("SOPS_AGE_KEY", other)
	x.fails(config, "a: wrong key: no given key decrypts the file\n  encrypted for age age1", "identity did not match any of the recipients")
	t.Setenv("SOPS_AGE_KEY", "")
	os.Unsetenv("SOPS_AGE_KEY")
	t.Setenv("SOPS_AGE_KEY_FILE", "/nowhere/keys.txt")
	x.fails(config, "a: wrong key: no given key decrypts the file", "/nowhere/keys.txt: no such file or directory")
	t.Setenv("SOPS_AGE_KEY_FILE", "")
	os.Unsetenv("SOPS_AGE_KEY_FILE")
	for _, bad := range []string{id[:40], id + "X", "x" + canary, "AGE-SECRET-KEY-1" + strings.ToUpper(canary),
		"AGE-PLUGIN-NONE-1" + canary} {
		t.Setenv("SOPS_AGE_KEY", bad)
		x.key = bad
		x.fails(config, "a: wrong key: no given key decrypts the file")
	}
	// The command is not printed: it can contain a key.
	os.Unsetenv("SOPS_AGE_KEY")
	t.Setenv("SOPS_AGE_KEY_CMD", "/nowhere/command "+canary)
	x.fails(config, "a: wrong key")
}

func TestSSH(t *testing.T) {
	noKeys(t)
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "id")
	os.WriteFile(file, pem.EncodeToMemory(block), 0o600)
	p, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	key, err := sopsage.MasterKeyFromRecipient(strings.TrimSpace(string(ssh.MarshalAuthorizedKey(p))))
	if err != nil {
		t.Fatal(err)
	}
	x := &tree{T: t, dir: t.TempDir(), to: []keys.MasterKey{key}}
	x.encrypt("a", canary)
	t.Setenv("SOPS_AGE_SSH_PRIVATE_KEY_FILE", file)
	if stdout, stderr, code := x.call(generatorOf + "files: [a]\n"); code != 0 || !strings.Contains(stdout, b64(canary)) {
		t.Error(code, stderr)
	}
}

// pgpTree returns a tree with the key ring of a new key.
func pgpTree(t *testing.T) *tree {
	noKeys(t)
	e, err := openpgp.NewEntity("test", "", "test@example.com", &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA})
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	os.Chmod(home, 0o700)
	for name, write := range map[string]func(*os.File) error{
		"secring.gpg": func(f *os.File) error { return e.SerializePrivate(f, nil) },
		"pubring.gpg": func(f *os.File) error { return e.Serialize(f) },
	} {
		f, err := os.Create(filepath.Join(home, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := write(f); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	t.Setenv("GNUPGHOME", home)
	t.Setenv("SOPS_GPG_EXEC", "/nowhere/gpg")
	key := pgp.NewMasterKeyFromFingerprint(strings.ToUpper(hex.EncodeToString(e.PrimaryKey.Fingerprint)))
	return &tree{T: t, dir: t.TempDir(), to: []keys.MasterKey{key}}
}

func TestPGP(t *testing.T) {
	x := pgpTree(t)
	x.encrypt("a", canary)
	config := "apiVersion: viaduct.ai/v1\nkind: ksops\nsecretFrom:\n- metadata: {name: s}\n  files: [a]\n"
	if stdout, stderr, code := x.call(config); code != 0 || !strings.Contains(stdout, canary) {
		t.Error(code, stderr)
	}
	os.Remove(filepath.Join(os.Getenv("GNUPGHOME"), "secring.gpg"))
	x.fails(config, "a: wrong key: no given key decrypts the file\n  encrypted for PGP ")
	t.Setenv("GNUPGHOME", t.TempDir())
	x.fails(config, "a: missing key", "--grant viaduct.ai/ksops=GNUPGHOME,tree\n")
}

// TestCloud checks that the key of this machine is tried first, and the error without one.
func TestCloud(t *testing.T) {
	x := newTree(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "none")
	t.Setenv("AWS_SECRET_ACCESS_KEY", canary)
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	cloud := kms.NewMasterKeyFromArn("arn:aws:kms:eu-west-1:123456789012:key/00000000-0000-0000-0000-000000000000", nil, "")
	cloud.EncryptedKey = "AAAA"
	config := generatorOf + "files: [a]\n"
	x.encrypt("a", canary, func(m *sops.Metadata) {
		m.KeyGroups = []sops.KeyGroup{{x.to[0]}}
	})
	// The library would encrypt for the cloud key as well: add it afterwards.
	text := x.read("a")
	text = strings.Replace(text, `"age": [`, `"kms": [{"arn": "`+cloud.Arn+`", "created_at": "2026-01-01T00:00:00Z", "enc": "AAAA", "aws_profile": ""}], "age": [`, 1)
	x.write("a", text)
	if stdout, stderr, code := x.call(config); code != 0 || !strings.Contains(stdout, b64(canary)) {
		t.Error(code, stderr)
	}
	os.Unsetenv("SOPS_AGE_KEY")
	x.fails(config, "encrypted for AWS KMS arn:aws:kms:eu-west-1", "grant network")
}

// TestShamir checks files that need keys of several groups.
func TestShamir(t *testing.T) {
	x := newTree(t)
	id2, second := newAge(t)
	_, third := newAge(t)
	x.encrypt("a", canary, func(m *sops.Metadata) {
		m.KeyGroups, m.ShamirThreshold = []sops.KeyGroup{{x.to[0]}, {second}, {third}}, 2
	})
	config := generatorOf + "files: [a]\n"
	x.fails(config, "a: wrong key", "the file needs keys of 2 of its 3 groups")
	t.Setenv("SOPS_AGE_KEY", x.key+"\n"+id2)
	if stdout, stderr, code := x.call(config); code != 0 || !strings.Contains(stdout, b64(canary)) {
		t.Error(code, stderr)
	}
}

// lockRing replaces the key ring by one whose key has a passphrase.
func lockRing(t *testing.T) {
	t.Helper()
	path := filepath.Join(os.Getenv("GNUPGHOME"), "secring.gpg")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	ring, err := openpgp.ReadKeyRing(f)
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := ring[0].EncryptPrivateKeys([]byte("passphrase"), nil); err != nil {
		t.Fatal(err)
	}
	if f, err = os.Create(path); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := ring[0].SerializePrivateWithoutSigning(f, nil); err != nil {
		t.Fatal(err)
	}
}
