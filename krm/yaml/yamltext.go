package yaml

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ScalarText returns the string s, which must be one line, as a scalar of block style YAML: plain
// if possible, else quoted, in the form that kyaml writes. It is for YAML within strings. The
// output of a build follows different rules for quotes.
func ScalarText(s string) string {
	switch {
	case plainWord(s):
		return s
	case !printableASCII(s):
		return encodedText(s)
	case s == "" || hint[s[0]] != 0 && (resolve(s, false).typ != String || !staysString(s)):
		return `"` + s + `"` // texts like numbers or words need no escapes
	case analyze(s)&noPlain != 0:
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return s
}

// encodedText is ScalarText for any text. It is about a hundred times slower.
func encodedText(s string) string {
	var b bytes.Buffer
	if err := yaml.NewEncoder(&b).Encode(map[string]string{"k": s}); err != nil {
		return `""`
	}
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), "k: "), "\n")
}

func printableASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
