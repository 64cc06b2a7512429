package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
	"github.com/getsops/sops/v3/cmd/sops/formats"
	"github.com/getsops/sops/v3/config"
	"github.com/getsops/sops/v3/keyservice"
	"github.com/getsops/sops/v3/stores/dotenv"
	"github.com/getsops/sops/v3/stores/ini"
	"github.com/getsops/sops/v3/stores/json"
	"github.com/getsops/sops/v3/stores/yaml"
)

// decrypter decrypts files below a directory.
//
// It does the steps of the library's package decrypt itself, because errors of that package
// contain values and do not tell the causes apart. Everything remains in memory.
type decrypter struct {
	root     *os.Root
	function string
	total    int64
}

// decrypt returns the content of an encrypted file. Its name decides about its format, as for the
// program sops: .yaml, .yml, .json, .env, .ini, and otherwise binary.
func (d *decrypter) decrypt(src source, manifest bool) (plain []byte, err error) {
	defer func() {
		// The library is not made for hostile files. The text of a panic can contain values.
		if r := recover(); r != nil {
			plain, err = nil, damagedContent(src.path)
		}
	}()
	data, err := d.read(src)
	if err != nil {
		return nil, err
	}
	format := formats.FormatForPath(src.path)
	tree, err := load(src.path, format, data)
	if err != nil {
		return nil, err
	}
	if err := supported(src.path, &tree); err != nil {
		return nil, err
	}
	if err := encrypted(src.path, &tree, manifest); err != nil {
		return nil, err
	}
	key, err := d.dataKey(src.path, &tree.Metadata)
	if err != nil {
		return nil, err
	}
	if err := open(src.path, &tree, key); err != nil {
		return nil, err
	}
	plain, err = storeOf(format).EmitPlainFile(tree.Branches)
	if err != nil {
		return nil, problemf(src.path, "the decrypted content does not have the format %s", name(format))
	}
	return plain, nil
}

// read reads an encrypted file. os.Root refuses links out of the directory.
func (d *decrypter) read(src source) ([]byte, error) {
	info, err := d.root.Stat(src.path)
	if err != nil {
		return nil, d.unreadable(src, err)
	}
	if !info.Mode().IsRegular() {
		return nil, problemf(src.path, "not a regular file")
	}
	f, err := d.root.Open(src.path)
	if err != nil {
		return nil, d.unreadable(src, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, d.unreadable(src, err)
	}
	if len(data) > maxFile {
		return nil, problemf(src.path, "the encrypted file is too large: more than %d MiB", maxFile>>20)
	}
	if d.total += int64(len(data)); d.total > maxTotal {
		return nil, problemf(src.path, "the encrypted files are too large: together more than %d MiB", maxTotal>>20)
	}
	return data, nil
}

func (d *decrypter) unreadable(src source, err error) error {
	var at *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return problemf(src.path, "no such file").hint("it is named in %s, and is relative to the directory of the layer that lists the configuration", src.field)
	case errors.As(err, &at) && strings.Contains(at.Err.Error(), "escapes"):
		return problemf(src.path, "a link leads out of the directory of the layer")
	case errors.As(err, &at):
		return problemf(src.path, "%v", at.Err).
			hint("grant the files of the tree: add --grant %s=SOPS_AGE_KEY_FILE,tree", d.function)
	}
	return problemf(src.path, "cannot read the file")
}

// storeOf returns the reader and writer of a format.
func storeOf(f formats.Format) sops.Store {
	c := config.NewStoresConfig()
	switch f {
	case formats.Yaml:
		return yaml.NewStore(&c.YAML)
	case formats.Json:
		return json.NewStore(&c.JSON)
	case formats.Dotenv:
		return dotenv.NewStore(&c.Dotenv)
	case formats.Ini:
		return ini.NewStore(&c.INI)
	}
	return json.NewBinaryStore(&c.JSONBinary)
}

func name(f formats.Format) string {
	switch f {
	case formats.Yaml:
		return "YAML"
	case formats.Json:
		return "JSON"
	case formats.Dotenv:
		return "dotenv"
	case formats.Ini:
		return "INI"
	}
	return "binary"
}

// load parses an encrypted file. Errors of the library can quote the text.
func load(file string, format formats.Format, data []byte) (sops.Tree, error) {
	if format == formats.Yaml {
		if _, err := documents(data); err != nil {
			return sops.Tree{}, problemf(file, "%v", err)
		}
	}
	store := storeOf(format)
	tree, err := store.LoadEncryptedFile(data)
	if err == nil {
		return tree, nil
	}
	notEncrypted := problemf(file, "not encrypted with sops").hint("encrypt it: sops encrypt --in-place %s", file)
	if errors.Is(err, sops.MetadataNotFound) {
		return tree, notEncrypted
	}
	plain := store
	if format == formats.Binary {
		plain = storeOf(formats.Json) // the form of encrypted binary files
	}
	branches, err2 := plain.LoadPlainFile(data)
	switch {
	case err2 != nil && format == formats.Binary:
		return tree, notEncrypted.hint("its name selects the format binary; the names of other formats end in .yaml, .json, .env or .ini")
	case err2 != nil:
		return tree, problemf(file, "the encrypted file is not valid %s", name(format))
	case len(branches) > 0 && !store.HasSopsTopLevelKey(branches[0]):
		return tree, notEncrypted
	}
	return tree, damaged(file, "%v", err)
}

// damaged reports metadata that sops cannot have written. Metadata is public.
func damaged(file, format string, args ...any) error {
	text := printable(fmt.Sprintf(format, args...))
	return problemf(file, "the sops metadata is damaged: %s", cut(text, 200)).hint("restore the file from version control, and edit it with sops only")
}

func cut(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "") + "…"
	}
	return s
}

// supported checks the parts of the metadata that the library reads only when it is too late for a
// clear message, or not at all.
func supported(file string, tree *sops.Tree) error {
	m := &tree.Metadata
	if m.Version != "" {
		major, _, _ := strings.Cut(m.Version, ".")
		n, err := strconv.Atoi(major)
		if err != nil {
			return damaged(file, "version %q", cut(m.Version, 50))
		}
		if n > 3 || n < 1 {
			return problemf(file, "encrypted by sops %s: this program reads files of sops 1 to 3", cut(m.Version, 50))
		}
	}
	if m.MessageAuthenticationCode == "" {
		return damaged(file, "it has no mac")
	}
	if m.MasterKeyCount() == 0 {
		return damaged(file, "it names no keys")
	}
	if len(m.KeyGroups) > 1 && (m.ShamirThreshold < 2 || m.ShamirThreshold > len(m.KeyGroups)) {
		return damaged(file, "shamir_threshold is %d for %d groups of keys", m.ShamirThreshold, len(m.KeyGroups))
	}
	for _, expr := range []string{m.EncryptedRegex, m.UnencryptedRegex, m.EncryptedCommentRegex, m.UnencryptedCommentRegex} {
		if _, err := regexp.Compile(expr); err != nil {
			return damaged(file, "%v", err)
		}
	}
	return nil
}

// encrypted refuses a file that has sops metadata but no encrypted value, and a manifest with a
// Secret without one: its rule matches nothing, and the values are readable in the repository.
// Where a rule leaves out some values, that is what its author wants. Values that the rule selects
// and that are not encrypted are found by open.
func encrypted(file string, tree *sops.Tree, manifest bool) error {
	all, some := 0, 0
	for i, b := range tree.Branches {
		values, hidden := count(b)
		all, some = all+values, some+hidden
		if !manifest || !isSecret(b) {
			continue
		}
		values, hidden = 0, 0
		for _, item := range b {
			if item.Key == "data" || item.Key == "stringData" {
				v, h := count(item.Value)
				values, hidden = values+v, hidden+h
			}
		}
		if values > 0 && hidden == 0 {
			at := ""
			if len(tree.Branches) > 1 {
				at = fmt.Sprintf("document %d: ", i+1)
			}
			return problemf(file, "encrypted in part: %sno value of data and stringData of the Secret is encrypted%s", at, rule(&tree.Metadata)).
				hint("check the rule in .sops.yaml, for example encrypted_regex: ^(data|stringData)$, and encrypt the file again")
		}
	}
	if all > 0 && some == 0 {
		return problemf(file, "encrypted in part: no value is encrypted%s", rule(&tree.Metadata)).
			hint("check the rule in .sops.yaml and encrypt the file again")
	}
	return nil
}

// rule names the rule that selects values.
func rule(m *sops.Metadata) string {
	for _, r := range []struct{ name, value string }{
		{"encrypted_regex", m.EncryptedRegex}, {"unencrypted_regex", m.UnencryptedRegex},
		{"encrypted_suffix", m.EncryptedSuffix}, {"unencrypted_suffix", m.UnencryptedSuffix},
		{"encrypted_comment_regex", m.EncryptedCommentRegex}, {"unencrypted_comment_regex", m.UnencryptedCommentRegex},
	} {
		if r.value != "" {
			return fmt.Sprintf(" (%s: %s)", r.name, cut(r.value, 100))
		}
	}
	return ""
}

func isSecret(b sops.TreeBranch) bool {
	for _, item := range b {
		if item.Key == "kind" {
			// An encrypted kind hides whether the rule is right; then everything is encrypted.
			return item.Value == "Secret"
		}
	}
	return false
}

// count returns the number of values and of those that are encrypted. Empty strings remain as they
// are.
func count(v any) (values, hidden int) {
	switch v := v.(type) {
	case sops.TreeBranch:
		for _, item := range v {
			if _, ok := item.Key.(sops.Comment); ok {
				continue
			}
			n, h := count(item.Value)
			values, hidden = values+n, hidden+h
		}
	case []any:
		for _, item := range v {
			n, h := count(item)
			values, hidden = values+n, hidden+h
		}
	case string:
		if v == "" {
			break
		}
		values++
		if isEncrypted(v) {
			hidden++
		}
	case nil, sops.Comment:
	default:
		values++
	}
	return values, hidden
}

func isEncrypted(s string) bool { return strings.HasPrefix(s, "ENC[AES256_GCM,") }

// open decrypts the values of a tree in place and verifies their message authentication code.
func open(file string, tree *sops.Tree, key []byte) error {
	c := &watchedCipher{Cipher: aes.NewCipher()}
	mac, err := tree.Decrypt(key, c)
	if err != nil {
		switch {
		case strings.Contains(err.Error(), "Expected encrypted value"):
			return plainValue(file, "")
		case c.failed && !isEncrypted(c.value):
			return plainValue(file, c.path)
		case c.failed:
			return problemf(file, "the value at %s cannot be decrypted: it was changed, moved or damaged after it was encrypted", c.path).
				hint("restore the file from version control, and edit it with sops only")
		}
		return damagedContent(file)
	}
	// The message of a mismatch must not have the codes: they are digests of the values.
	c.failed = false
	want, err := c.Decrypt(tree.Metadata.MessageAuthenticationCode, key, tree.Metadata.LastModified.Format(time.RFC3339))
	if err != nil {
		return problemf(file, "MAC mismatch: mac or lastmodified was changed after the file was encrypted").
			hint("restore the file from version control, and edit it with sops only")
	}
	if want != mac {
		return problemf(file, "MAC mismatch: a value was changed, added or removed after the file was encrypted").
			hint("restore the file from version control, and edit it with sops only")
	}
	return nil
}

func damagedContent(file string) error {
	return problemf(file, "the encrypted file has content that sops does not write").
		hint("restore the file from version control, and edit it with sops only")
}

func plainValue(file, path string) error {
	at := "a value"
	if path != "" {
		at = "the value at " + path
	}
	return problemf(file, "encrypted in part: %s is not encrypted", at).
		hint("encrypt it: open the file with sops edit, or decrypt and encrypt it again")
}

// watchedCipher remembers which value could not be decrypted. Its path has only names.
type watchedCipher struct {
	aes.Cipher
	failed      bool
	path, value string
}

func (c *watchedCipher) Decrypt(value string, key []byte, path string) (any, error) {
	plain, err := c.Cipher.Decrypt(value, key, path)
	if err != nil {
		c.failed, c.value = true, value
		c.path = cut(strings.ReplaceAll(strings.TrimSuffix(path, ":"), ":", "."), 200)
	}
	return plain, err
}

// dataKey decrypts the key of a file.
func (d *decrypter) dataKey(file string, m *sops.Metadata) ([]byte, error) {
	keys := &keyClient{LocalClient: keyservice.NewLocalClient()}
	// Keys of this machine first: they need no network.
	key, err := m.GetDataKeyWithKeyServices([]keyservice.KeyServiceClient{keys}, sops.DefaultDecryptionOrder)
	if err != nil {
		return nil, keys.explain(file, d.function, m)
	}
	if len(key) != 32 {
		return nil, damaged(file, "the data key has %d bytes, not 32", len(key))
	}
	return key, nil
}
