package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
	sopsage "github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/cmd/sops/formats"
	"github.com/getsops/sops/v3/keys"
	"github.com/getsops/sops/v3/keyservice"
)

// canary is a part of every value that the tests encrypt. It must be in no message.
const canary = "canary-7d1f"

// A tree is a directory with encrypted files and a process environment without keys.
type tree struct {
	*testing.T
	dir string
	key string // an age identity
	to  []keys.MasterKey
}

// newTree returns a directory and an age key, which is in the environment.
func newTree(t *testing.T) *tree {
	noKeys(t)
	id, recipient := newAge(t)
	t.Setenv("SOPS_AGE_KEY", id)
	return &tree{t, t.TempDir(), id, []keys.MasterKey{recipient}}
}

// noKeys removes all keys from the environment.
func noKeys(t *testing.T) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "SOPS_") || name == "GNUPGHOME" {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	os.Unsetenv("XDG_CONFIG_HOME")
}

func newAge(t *testing.T) (string, *sopsage.MasterKey) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	key, err := sopsage.MasterKeyFromRecipient(id.Recipient().String())
	if err != nil {
		t.Fatal(err)
	}
	return id.String(), key
}

func (t *tree) write(name, text string) {
	path := filepath.Join(t.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func (t *tree) read(name string) string {
	text, err := os.ReadFile(filepath.Join(t.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// encrypt writes an encrypted file, with the steps of the program sops.
func (t *tree) encrypt(name, plain string, options ...func(*sops.Metadata)) {
	t.Helper()
	t.write(name, encrypt(t, name, plain, t.to, options...))
}

func encrypt(t testing.TB, name, plain string, to []keys.MasterKey, options ...func(*sops.Metadata)) string {
	t.Helper()
	m := sops.Metadata{
		KeyGroups: []sops.KeyGroup{to}, Version: "3.13.3", LastModified: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		UnencryptedSuffix: sops.DefaultUnencryptedSuffix,
	}
	for _, o := range options {
		o(&m)
	}
	store := storeOf(formats.FormatForPath(name))
	branches, err := store.LoadPlainFile([]byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	tree := sops.Tree{Branches: branches, Metadata: m}
	key, errs := tree.GenerateDataKeyWithKeyServices([]keyservice.KeyServiceClient{keyservice.NewLocalClient()})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	cipher := aes.NewCipher()
	mac, err := tree.Encrypt(key, cipher)
	if err != nil {
		t.Fatal(err)
	}
	tree.Metadata.MessageAuthenticationCode, err = cipher.Encrypt(mac, key, m.LastModified.Format(time.RFC3339))
	if err != nil {
		t.Fatal(err)
	}
	out, err := store.EmitEncryptedFile(tree)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), canary) && m.EncryptedRegex == "" && !strings.Contains(plain, "_unencrypted") {
		t.Fatal("the encrypted file contains the canary")
	}
	return string(out)
}

func encryptedRegex(expr string) func(*sops.Metadata) {
	return func(m *sops.Metadata) { m.EncryptedRegex, m.UnencryptedSuffix = expr, "" }
}

// call runs the function with a configuration, as a generator.
func (t *tree) call(config string) (stdout, stderr string, code int) {
	t.Helper()
	return t.callList("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n-" + indented(config)[1:] +
		"functionConfig:\n" + indented(config))
}

func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("  " + line)
	}
	return b.String()
}

func (t *tree) callList(list string) (stdout, stderr string, code int) {
	t.Helper()
	before := listing(t, t.dir)
	var out, errs bytes.Buffer
	code = run(strings.NewReader(list), &out, &errs, t.dir)
	if after := listing(t, t.dir); !slices.Equal(before, after) {
		t.Errorf("the directory had %s, it has %s", before, after)
	}
	if strings.Contains(errs.String(), canary) {
		t.Errorf("a value is in stderr:\n%s", errs.String())
	}
	if t.key != "" && strings.Contains(errs.String(), t.key) {
		t.Errorf("the key is in stderr:\n%s", errs.String())
	}
	if code != 0 && out.Len() > 0 {
		t.Errorf("after an error, stdout has:\n%s", out.String())
	}
	return out.String(), errs.String(), code
}

// listing lists the files below a directory.
func listing(t *tree, dir string) (list []string) {
	filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		list = append(list, fmt.Sprint(path, info.Size(), info.Mode()))
		return err
	})
	return list
}

// want checks the items of an answer.
func (t *tree) want(config, items string) {
	t.Helper()
	stdout, stderr, code := t.call(config)
	if want := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n" + items; code != 0 || stdout != want || stderr != "" {
		t.Errorf("exit code %d, stderr:\n%s\nstdout:\n%s\nwant:\n%s", code, stderr, stdout, want)
	}
}

// fails checks an error.
func (t *tree) fails(config string, messages ...string) {
	t.Helper()
	stdout, stderr, code := t.call(config)
	if code != 1 || stdout != "" {
		t.Errorf("exit code %d, stdout:\n%s", code, stdout)
	}
	for _, m := range messages {
		if !strings.Contains(stderr, m) {
			t.Errorf("stderr:\n%s\nwant:\n%s", stderr, m)
		}
	}
}
