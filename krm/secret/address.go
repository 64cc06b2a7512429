package secret

import (
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// hideAddresses returns v without the passwords of addresses in its texts.
func hideAddresses(v yaml.Value) yaml.Value {
	switch v.Type() {
	case yaml.String:
		if text := HideAddresses(v.Text()); text != v.Text() {
			return yaml.Str(text)
		}
	case yaml.Seq:
		v, _ = v.EditItems(func(x yaml.Value) (yaml.Value, error) { return hideAddresses(x), nil })
	case yaml.Map:
		return v.EditFields(func(f yaml.Field) yaml.Value { return hideAddresses(f.Value) })
	}
	return v
}

// HideAddresses returns a text without the passwords of addresses in it.
func HideAddresses(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	var b strings.Builder
	for text != "" {
		word := text[:wordEnd(text)]
		if _, host, ok := strings.Cut(word, "://"); ok && strings.Contains(host, ":") && !strings.ContainsAny(host, "/?#@") {
			rest := text[len(word):] // a password can contain most characters that end a word
			if i := strings.IndexAny(rest, " \t\r\n\"`<>/?#@"); i >= 0 && rest[i] == '@' {
				word = text[:len(word)+i+wordEnd(rest[i:])]
			}
		}
		if strings.Contains(word, "://") {
			b.WriteString(diag.Redact(word))
		} else {
			b.WriteString(word)
		}
		text = text[len(word):]
		if text != "" {
			b.WriteByte(text[0])
			text = text[1:]
		}
	}
	return b.String()
}

// wordEnd returns the length of the word that a text begins with.
func wordEnd(text string) int {
	if end := strings.IndexAny(text, " \t\r\n\"'`<>,;()"); end >= 0 {
		return end
	}
	return len(text)
}
