package yaml

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ScalarText returns the string s, which must be one line, as a scalar of block style YAML: plain if possible, else quoted,
// in the form that kyaml writes. It is meant for YAML within strings; the output of a build is quoted by other rules.
func ScalarText(s string) string {
	if isObviouslyPlain(s) {
		return s
	}
	var b bytes.Buffer
	if err := yaml.NewEncoder(&b).Encode(map[string]string{"k": s}); err != nil {
		return `""`
	}
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), "k: "), "\n")
}

// isObviouslyPlain recognises paths and names: an exact answer needs the whole of YAML.
func isObviouslyPlain(s string) bool {
	rest := strings.TrimLeft(s, "./")
	if len(rest) < 6 || len(rest) < len(s) && s[len(s)-len(rest)-1] != '/' {
		return false // short words may be booleans, and .inf a number
	}
	for i := range len(rest) {
		switch c := rest[i] | 0x20; {
		case 'a' <= c && c <= 'z':
		case i > 0 && (rest[i] == '-' || rest[i] == '_' || rest[i] == '.' || rest[i] == '/' || '0' <= rest[i] && rest[i] <= '9'):
		default:
			return false
		}
	}
	return true
}
