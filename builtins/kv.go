// Follows api/kv/kv.go.

package builtins

import (
	"bytes"
	"errors"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/lint"
)

// KeyValueSources are the sources of the entries of a generated ConfigMap or Secret.
type KeyValueSources struct {
	// Literals are entries of the form key=value. One pair of quotes around the value is removed.
	Literals []string `json:"literals,omitempty"`
	// Files have the form path or key=path. Without a key, the key is the base name of the file.
	Files []string `json:"files,omitempty"`
	// Envs are files of key=value lines.
	Envs []string `json:"envs,omitempty"`
	// Env is the old form of Envs. Only Kustomizations have it.
	Env string `json:"env,omitempty"`
}

// A keyValue is an entry and its position. Messages may show its key but never its value. For a
// line of a file, they may not even show the key, because it may be part of a longer text.
type keyValue struct {
	key, value string
	path       []any        // the entry of literals or files
	file       *yaml.Source // the file, if value is its entire content
	pos        diag.Pos     // the line of an env file, zero for other sources
}

// base64 returns the encoded value.
func (kv *keyValue) base64() string {
	if kv.file != nil {
		return kv.file.Encoded(encodeBase64)
	}
	return encodeBase64(kv.value)
}

// load reads all sources in kustomize's order. The error joins all mistakes.
func (s *KeyValueSources) load(env Env) (all []keyValue, _ error) {
	var errs []error
	size := 0
	for i, name := range s.Envs {
		src, err := env.Read(name)
		if err == nil {
			n := len(all)
			all, err = appendEnvFile(all, src)
			for i := range all[n:] {
				if kv := &all[n+i]; env.Warn != nil {
					lint.QuotedValue(kv.value, kv.pos, env.Warn)
				}
			}
		}
		errs = append(errs, inField(err, "envs", i))
	}
	all = slices.Grow(all, len(s.Literals))
	for i, text := range s.Literals {
		key, value, ok := strings.Cut(text, "=")
		var err error
		switch {
		case text == "":
			err = advised(notGiven("must not be empty"), "write key=value, or remove the entry")
		case !ok || key == "":
			err = advised(diag.BadLiteral.Errorf("must be of the form key=value"), "an empty value is written key=")
		}
		if err != nil {
			errs = append(errs, inField(err, "literals", i))
			continue
		}
		all = append(all, keyValue{key: key, value: unquote(value), path: []any{"literals", i}})
	}
	for i, text := range s.Files {
		path := []any{"files", i}
		key, src, err := readFileSource(env, text)
		if err == nil {
			if size += len(src.Data); size > yaml.MaxResource {
				// One file may be listed many times.
				return nil, inField(errTooLarge(), path...)
			}
		}
		if err != nil {
			errs = append(errs, inField(err, path...))
			continue
		}
		all = append(all, keyValue{key: key, value: src.Text(), path: path, file: src})
		if env.Warn != nil {
			lint.UnreadableText(src, env.Warn)
		}
	}
	return all, errors.Join(append(errs, checkKeys(all)...)...)
}

// String returns the place of the entry for messages.
func (kv *keyValue) String() string {
	if kv.pos.Line > 0 {
		return kv.pos.String()
	}
	return diag.FieldPath(kv.path)
}

func checkKeys(all []keyValue) (errs []error) {
	seen := make(map[string]*keyValue, len(all))
	for i := range all {
		kv := &all[i]
		first, ok := seen[kv.key]
		switch {
		case !ok:
			seen[kv.key] = kv
		case kv.pos.Line > 0:
			errs = append(errs, diag.Errorf(kv.pos, "", "the key of this line is already given by %s",
				first).With(diag.DuplicateKey).Hint("remove one of them"))
		case !isDataKey(kv.key):
			errs = append(errs, inField(advised(diag.DuplicateKey.Errorf("its key is already given by %s", first), "remove one of them"),
				kv.path...))
		default:
			errs = append(errs, inField(advised(diag.DuplicateKey.Errorf("key %q is already given by %s", kv.key, first),
				"remove one, or give it another key, for a file as key=path"), kv.path...))
		}
	}
	return errs
}

func readFileSource(env Env, text string) (key string, src *yaml.Source, err error) {
	key, name, err := parseFileSource(text)
	if err != nil {
		return "", nil, err
	}
	src, err = env.Read(name)
	return key, src, err
}

func parseFileSource(text string) (key, name string, err error) {
	key, name, ok := strings.Cut(text, "=")
	switch {
	case !ok:
		return path.Base(text), text, nil
	case strings.Contains(name, "="):
		return "", "", advised(diag.BadFileArgument.Errorf("must be of the form path or key=path, with no further '='"),
			"a file with = in its name cannot be used: rename it")
	case key == "":
		return "", "", advised(diag.BadFileArgument.Errorf("no key before '='"), "write key=path, or the path alone")
	case name == "":
		return "", "", advised(diag.BadFileArgument.Errorf("no path after '='"), "write key=path; for literal values, use literals")
	}
	return key, name, nil
}

// unquote removes one pair of quotes around s.
func unquote(s string) string {
	if len(s) < 2 || s[0] != s[len(s)-1] || s[0] != '"' && s[0] != '\'' {
		return s
	}
	return s[1 : len(s)-1]
}

// maxEnvLine is the length at which a line is rejected. Kustomize takes no entry from such a
// line.
const maxEnvLine = 64 << 10

// appendEnvFile appends the entries of a file of key=value lines. A line without "=" is a key
// with an empty value. Comments and lines without a key are skipped. Quotes are part of the
// value.
func appendEnvFile(all []keyValue, src *yaml.Source) ([]keyValue, error) {
	data := string(bytes.TrimPrefix(src.Data, []byte("\ufeff")))
	all = slices.Grow(all, min(strings.Count(data, "\n"), strings.Count(data, "=")))
	for n := 1; data != ""; n++ {
		var line string
		line, data, _ = strings.Cut(data, "\n")
		pos := diag.Pos{File: src.File, Line: n}
		switch {
		case len(line) >= maxEnvLine:
			return nil, diag.Errorf(pos, "", "the line is longer than %s", diag.Size(maxEnvLine)).With(diag.BadEnvFile).
				Hint("use files for longer values: KEY=PATH")
		case !utf8.ValidString(line):
			return nil, diag.Errorf(pos, "", "line is not valid UTF-8").With(diag.BadEnvFile)
		}
		line = strings.TrimLeftFunc(strings.TrimSuffix(line, "\r"), unicode.IsSpace)
		key, value, _ := strings.Cut(line, "=")
		if key == "" || key[0] == '#' {
			continue
		}
		all = append(all, keyValue{key: key, value: value, pos: pos})
	}
	return all, nil
}
