// Package words guesses from words alone whether a text has values of Secrets. It serves code that makes messages: the text may be no
// YAML, a patch without a kind, or the configuration of a generator. Its answers rather hide too much. Package secret, which reads
// values, decides everything else.
package words

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Kind reports whether objects of a kind are Secrets, or lists that may have some.
func Kind(kind string) bool { return kind == "Secret" || strings.HasSuffix(kind, "List") }

// Document reports whether messages must hide the values of a document, given its kind, "" if it has none, and its text.
func Document(kind, text string) bool {
	return Kind(kind) || kind != "ConfigMap" && namesData(text) || kind == "" && strings.Contains(text, "value")
}

// Text reports whether messages must hide a text of which nothing else is known.
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

// Usual reports whether a text is a name that many configurations have: of a user, a database, an
// environment. To hide it wherever it is hides nothing that could not be guessed, and changes names
// of images, roles and fields.
func Usual(text string) bool {
	switch strings.ToLower(text) {
	case "admin", "administrator", "anonymous", "guest", "root", "system", "user", "username",
		"elastic", "grafana", "keycloak", "localhost", "mariadb", "minio", "mongodb", "mysql", "postgres", "postgresql", "rabbitmq", "redis",
		"default", "dev", "development", "production", "staging", "test", "disabled", "enabled", "none",
		"opaque", "password", "secret", "token":
		return true
	}
	return false
}

// Path returns the part of a path in a document that messages may show: what follows an entry of data is in its value.
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

// In YAML, a tag, an anchor or the indicator of a block scalar may precede the kind. In a quoted text, line breaks and quotes are escaped.
var (
	secretKind = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:\b|\\[nrt])kind\\*["']?\s*:\s*(?:[!&>|]\S*\s+)*\\*["']?Secret(?:List)?\b`)
	})
	dataField = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:\b|\\[nrt])(?:data|stringData)\\*["']?\s*:`) })
)

// NamesKind reports whether a text has "kind: Secret" or "kind: SecretList" in YAML or JSON, as manifests of Secrets and references to
// Secrets have.
func NamesKind(text string) bool {
	return strings.Contains(text, "Secret") && secretKind().MatchString(text)
}

// Manifest reports whether a text looks like one with the manifest of a Secret in YAML or JSON: it names the kind and a field of values.
func Manifest(text string) bool { return NamesKind(text) && dataField().MatchString(text) }

// namesData reports whether text has words that name data of Secrets: data, stringData, literals, sourceValue.
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
