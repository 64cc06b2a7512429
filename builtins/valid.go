package builtins

import (
	"maps"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// Kubernetes accepts fewer names than kustomize. The functions below warn about rejected names at
// the place where they are written. They skip texts that contain $ or {{, which a later tool may
// replace.

// doubt warns about a text that Kubernetes rejects, at path in the configuration.
func (e Env) doubt(text string, valid bool, what, form string, path ...any) {
	if e.Warn != nil && !valid && text != "" && !strings.Contains(text, "$") && !strings.Contains(text, "{{") {
		e.warnIn(diag.Errorf(diag.Pos{}, "", "%q is not a valid %s", text, what).With(diag.InvalidName).Hint("%s", form),
			path...)
	}
}

const (
	namespaceForm = "write up to 63 lower-case letters, digits and -, with a letter or digit at both ends"
	keyForm       = "write up to 63 letters, digits, -, _ and ., with a letter or digit at both ends, optionally after a DNS name and /"
	valueForm     = "write up to 63 letters, digits, -, _ and ., with a letter or digit at both ends; use an annotation for any other text"
	dataKeyForm   = "write up to 253 letters, digits, -, _ and ."
)

func (e Env) doubtNamespace(name string, path ...any) {
	e.doubt(name, len(name) <= 63 && !strings.Contains(name, ".") && isDNSName(name), "namespace", namespaceForm, path...)
}

// doubtLabels checks labels or, if values is false, annotations, whose values may be any text. The
// pairs are at path in the configuration.
func (e Env) doubtLabels(pairs map[string]string, what string, values bool, path ...any) {
	if e.Warn == nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		path := append(slices.Clip(path), key)
		e.doubt(key, isQualifiedName(key), "name of "+what, keyForm, path...)
		if value := pairs[key]; values {
			e.doubt(value, len(value) <= 63 && isLabelWord(value), "value of the label "+key, valueForm, path...)
		}
	}
}

// doubtKeys checks the keys of a ConfigMap or Secret.
func (e Env) doubtKeys(pairs []keyValue) {
	if e.Warn == nil {
		return
	}
	for i := range pairs {
		if key := pairs[i].key; !isDataKey(key) && !strings.Contains(key, "$") {
			w := diag.Errorf(diag.Pos{}, "", "%s: %q is not a valid key", &pairs[i], key).With(diag.InvalidName)
			switch { // an invalid key may be secret
			case pairs[i].pos.Line > 0:
				w = diag.Errorf(pairs[i].pos, "", "the key on this line is not valid in Kubernetes").With(diag.InvalidName)
			case pairs[i].file == nil:
				w = diag.Errorf(diag.Pos{}, "", "%s: the text before = is not a valid key",
					&pairs[i]).With(diag.InvalidName)
			}
			e.warnIn(w.Hint("%s", dataKeyForm), pairs[i].path...)
		}
	}
}

func isDataKey(key string) bool {
	for i := range len(key) {
		if c := key[i]; !isAlnum(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return len(key) <= 253 && key != "." && !strings.HasPrefix(key, "..")
}
