package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/getsops/sops/v3/cmd/sops/formats"
	"github.com/joho/godotenv"
	"go.yaml.in/yaml/v3"
)

// generate decrypts the files of c, which are below dir, and returns the resources that are made of
// them. It reports all files that fail.
func generate(c *request, dir string) ([]*yaml.Node, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, problemf("", "cannot read the directory of the layer").
			hint("grant the files of the tree: add --grant %s=SOPS_AGE_KEY_FILE,tree", c.function)
	}
	defer root.Close()
	d := &decrypter{root: root, function: c.function}
	var items []*yaml.Node
	var bad problems
	for _, m := range c.manifests {
		plain, err := d.decrypt(m, true)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		list, err := manifests(m.path, plain)
		if err != nil {
			bad = append(bad, err)
		}
		items = append(items, list...)
	}
	for _, s := range c.secrets {
		item, err := d.secret(&s)
		if err != nil {
			bad = append(bad, err)
		}
		items = append(items, item)
	}
	return items, bad.err()
}

// manifests parses decrypted manifests. Empty documents are left out.
func manifests(file string, text []byte) ([]*yaml.Node, error) {
	docs, err := documents(text)
	if err != nil {
		return nil, problemf(file, "the decrypted content is %v", err)
	}
	var bad problems
	for i, doc := range docs {
		at := ""
		if len(docs) > 1 {
			at = fmt.Sprintf("document %d: ", i+1)
		}
		missing := ""
		switch {
		case doc.Kind != yaml.MappingNode:
			bad.addf(file, "%sthe decrypted content is not a manifest", at)
			continue
		case str(get(doc, "apiVersion")) == "":
			missing = "apiVersion"
		case str(get(doc, "kind")) == "":
			missing = "kind"
		case str(get(get(doc, "metadata"), "name")) == "" && !strings.HasSuffix(str(get(doc, "kind")), "List"):
			missing = "metadata.name"
		default:
			continue
		}
		bad = append(bad, problemf(file, "%sthe decrypted manifest has no %s", at, missing).
			hint("to make a key of a Secret of this file, list it in files of a SopsSecretGenerator, or of secretFrom of a ksops"))
	}
	if len(docs) == 0 {
		bad.addf(file, "the decrypted content has no manifest")
	}
	return docs, bad.err()
}

// secret makes a Secret of encrypted files.
func (d *decrypter) secret(s *secret) (*yaml.Node, error) {
	var bad problems
	texts, binary := map[string]string{}, map[string]string{}
	add := func(file, key string, value []byte, to map[string]string) {
		_, isText := texts[key]
		_, isBinary := binary[key]
		switch {
		case !secretKey.MatchString(key):
			bad.addf(file, "%q is not a key of a Secret: use letters, digits, dashes, underscores and dots", key)
		case (isText || isBinary) && !s.lastWins:
			bad.addf(file, "the key %s is defined twice", key)
		default:
			to[key] = string(value)
		}
	}
	decrypt := func(src source, f func(plain []byte)) {
		plain, err := d.decrypt(src, false)
		if err != nil {
			bad = append(bad, err)
			return
		}
		f(plain)
	}
	files := func() {
		for _, src := range s.files {
			decrypt(src, func(plain []byte) {
				if s.asKSOPS && !utf8.Valid(plain) {
					bad = append(bad, problemf(src.path, "the decrypted content is not text").hint("list the file in binaryFiles"))
					return
				}
				add(src.path, src.key, plain, texts)
			})
		}
	}
	envs := func() {
		for _, src := range s.envs {
			decrypt(src, func(plain []byte) {
				pairs, err := variables(src.path, plain, s.asKSOPS)
				if err != nil {
					bad = append(bad, err)
				}
				for _, p := range pairs {
					add(src.path, p[0], []byte(p[1]), texts)
				}
			})
		}
	}
	// The last of equal keys wins: KSOPS adds files first, the other generators envs.
	if s.asKSOPS {
		files()
		envs()
	} else {
		envs()
		files()
	}
	for _, src := range s.binaryFiles {
		decrypt(src, func(plain []byte) { add(src.path, src.key, plain, binary) })
	}
	if err := bad.err(); err != nil {
		return nil, err
	}
	if !s.asKSOPS {
		texts, binary = nil, texts
	}
	for k, v := range binary {
		binary[k] = base64.StdEncoding.EncodeToString([]byte(v))
	}
	// The order of KSOPS and of kustomize's own generator.
	return mapping("apiVersion", scalar("v1"), "data", stringsOf(binary), "immutable", s.immutable, "kind", scalar("Secret"),
		"metadata", mapping("annotations", stringsOf(s.annotations), "labels", stringsOf(s.labels),
			"name", text(s.name), "namespace", text(s.namespace)),
		"stringData", stringsOf(texts), "type", text(s.typ)), nil
}

// text returns a string, or nil for the empty one.
func text(s string) *yaml.Node {
	if s == "" {
		return nil
	}
	return scalar(s)
}

// variables returns the variables in a decrypted file. Its name decides about its format.
func variables(file string, plain []byte, asKSOPS bool) ([][2]string, error) {
	if asKSOPS {
		m, err := godotenv.Unmarshal(string(plain))
		if err != nil {
			// The message of the parser quotes the text.
			return nil, problemf(file, "the decrypted content is not a list of variables in dotenv syntax")
		}
		var list [][2]string
		for _, k := range sortedKeys(m) {
			list = append(list, [2]string{k, m[k]})
		}
		return list, nil
	}
	switch formats.FormatForPath(file) {
	case formats.Dotenv:
		return lines(file, plain)
	case formats.Yaml, formats.Json:
		return flat(file, plain)
	}
	return nil, problemf(file, "variables have the format dotenv, YAML or JSON: expected a name that ends in .env, .yaml or .json")
}

// lines reads lines KEY=VALUE as kustomize's generator does: a value has neither quotes nor
// escapes.
func lines(file string, plain []byte) (list [][2]string, err error) {
	var bad problems
	for i, line := range strings.Split(strings.TrimPrefix(string(plain), "\ufeff"), "\n") {
		line = strings.TrimLeftFunc(strings.TrimSuffix(line, "\r"), unicode.IsSpace)
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || key == "" || !utf8.ValidString(line) {
			bad.addf(file, "decrypted line %d is not of the form KEY=VALUE", i+1)
			continue
		}
		list = append(list, [2]string{key, value})
	}
	return list, bad.err()
}

// flat reads one object of plain values.
func flat(file string, plain []byte) (list [][2]string, err error) {
	docs, err := documents(plain)
	if err != nil {
		return nil, problemf(file, "the decrypted content is %v", err)
	}
	if len(docs) != 1 || docs[0].Kind != yaml.MappingNode {
		return nil, problemf(file, "the decrypted content is not one object")
	}
	var bad problems
	for i := 0; i+1 < len(docs[0].Content); i += 2 {
		key, v := docs[0].Content[i].Value, docs[0].Content[i+1]
		switch {
		case v.Kind != yaml.ScalarNode || v.ShortTag() == "!!binary":
			bad.addf(file, "the value of %s is not a plain value", key)
		case isNull(v):
			list = append(list, [2]string{key, ""})
		default:
			list = append(list, [2]string{key, v.Value})
		}
	}
	return list, bad.err()
}
