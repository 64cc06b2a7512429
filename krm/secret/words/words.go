// Package words guesses from words alone whether a text has values of Secrets. It is for code that
// makes messages: the text may be invalid YAML, a patch without a kind, or the configuration of a
// generator. When in doubt, it reports true. All other code uses package secret, which parses
// values.
package words

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Kind reports whether objects of a kind are Secrets, or lists that may have some.
func Kind(kind string) bool { return kind == "Secret" || strings.HasSuffix(kind, "List") }

// Document reports whether messages must hide the values of a document. kind is "" if the document
// has none.
func Document(kind, text string) bool {
	return Kind(kind) || kind != "ConfigMap" && namesData(text) || kind == "" && strings.Contains(text, "value")
}

// Text reports whether messages must hide a text without context.
func Text(text string) bool { return namesData(text) || strings.Contains(text, "Secret") }

// File reports whether a file may have values of Secrets, given its text.
func File(text string) bool {
	for _, word := range []string{"Secret", "secretGenerator", "stringData", "sourceValue", "/data/"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return hasData(text) && !strings.Contains(text, "onfigMap")
}

// Line reports whether a line of a file names a credential.
func Line(line string) bool {
	line = strings.ToLower(line)
	return slices.ContainsFunc([]string{"password", "passwd", "token", "secret", "credential", "apikey"}, func(word string) bool {
		return strings.Contains(line, word)
	})
}

// Usual reports whether a text is a common name of a user, a database or an environment. Hiding
// these names everywhere has no benefit, because they are easy to guess, and would hide names of
// images, roles and fields.
func Usual(text string) bool {
	switch strings.ToLower(text) {
	case "admin", "administrator", "anonymous", "guest", "root", "system", "user", "username",
		"elastic", "grafana", "keycloak", "localhost", "mariadb", "minio", "mongodb", "mysql", "postgres", "postgresql", "rabbitmq",
		"redis",
		"default", "dev", "development", "production", "staging", "test", "disabled", "enabled", "none",
		"opaque", "password", "secret", "token":
		return true
	}
	return false
}

// Path returns the part of a path in a document that messages may show. Keys below an entry of data
// are part of its value.
func Path(path []any) []any {
	for i, step := range path {
		switch step {
		case "data", "stringData":
			return path[:min(i+2, len(path))]
		case "literals", "value", "sourceValue", "currentValue", "proposedValue", "suggestedValue":
			return path[:i+1]
		}
	}
	return path
}

// In YAML, a tag, an anchor or a block scalar indicator may precede the kind. In a quoted text,
// line breaks and quotes are escaped.
var (
	secretKind = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:\b|\\[nrt])kind\\*["']?\s*:\s*(?:[!&>|]\S*\s+)*\\*["']?Secret(?:List)?\b`)
	})
	dataField = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:\b|\\[nrt])(?:data|stringData)\\*["']?\s*:`) })
)

// NamesKind reports whether a text has "kind: Secret" or "kind: SecretList" in YAML or JSON, as in
// manifests of Secrets and references to Secrets.
func NamesKind(text string) bool {
	return strings.Contains(text, "Secret") && secretKind().MatchString(text)
}

// Manifest reports whether a text seems to contain the manifest of a Secret in YAML or JSON: it
// names the kind and a field with values.
func Manifest(text string) bool { return NamesKind(text) && dataField().MatchString(text) }

// namesData reports whether text has words for data of Secrets: data, stringData, literals,
// sourceValue.
func namesData(text string) bool {
	return strings.Contains(text, "Data") || strings.Contains(text, "literals") || strings.Contains(text, "Value") || hasData(text)
}

// hasData reports whether text has the word data other than in metadata.
func hasData(text string) bool {
	for rest := text; ; {
		before, after, ok := strings.Cut(rest, "data")
		if !ok {
			return false
		}
		if !strings.HasSuffix(before, "meta") {
			return true
		}
		rest = after
	}
}
