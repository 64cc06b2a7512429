package yaml

import (
	"slices"
	"strings"
)

// Messages must not show values of Secrets. Whoever makes a message often does not know whether a text holds some: it may be no
// YAML, a patch without a kind, or a generator's configuration. So words decide, and they rather hide too much.

// HoldsSecrets reports whether objects of a kind are Secrets, or lists that may have some.
func HoldsSecrets(kind string) bool { return kind == "Secret" || strings.HasSuffix(kind, "List") }

// hides reports whether messages must not show the values of a document.
func (s *Source) hides(kind, text string) bool {
	return s.answer || HoldsSecrets(kind) || kind != "ConfigMap" && namesData(text) || kind == "" && strings.Contains(text, "value")
}

// mayBeSecret reports whether messages must not show anything of a text, of which no more is known.
func mayBeSecret(text string) bool { return namesData(text) || strings.Contains(text, "Secret") }

// namesData reports whether text has words that name data of Secrets: data, stringData, literals, sourceValue.
func namesData(text string) bool {
	return strings.Contains(text, "Data") || strings.Contains(text, "literals") || strings.Contains(text, "Value") || hasData(text)
}

// hasData reports whether text has the word data, as other words than metadata do.
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

// MayHoldSecrets reports whether there may be values of Secrets in the file: it was read for one, or it has words that say so.
func (s *Source) MayHoldSecrets() bool {
	text, err := s.readText()
	if err != nil || s.original().secret.Load() {
		return true
	}
	if s.docsRead.Load() && slices.ContainsFunc(s.docs, func(d Document) bool { return HoldsSecrets(d.Value.Get("kind").Text()) }) {
		return true
	}
	for _, word := range []string{"Secret", "secretGenerator", "stringData", "sourceValue", "/data/"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return hasData(text) && !strings.Contains(text, "onfigMap")
}

// HoldSecret says that the file is read for a Secret.
func (s *Source) HoldSecret() { s.original().secret.Store(true) }

// shown returns the part of a path in a document that messages may show: what follows an entry of data is in its value.
func shown(path []any) []any {
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
