package diag

import (
	"path/filepath"
	"strconv"
	"strings"
)

// FieldPath formats a path of mapping keys (string) and list indexes (int) for messages, for
// instance "patches[2].target.kind".
func FieldPath(path []any) string {
	var b strings.Builder
	for _, p := range path {
		switch p := p.(type) {
		case int:
			b.WriteByte('[')
			b.WriteString(strconv.Itoa(p))
			b.WriteByte(']')
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			if strings.ContainsAny(p, ".[] ") {
				p = strconv.Quote(p)
			}
			b.WriteString(p)
		}
	}
	return b.String()
}

// Within reports whether path is dir or lies below it. Both must be absolute and clean. Within
// does not resolve symbolic links.
func Within(path, dir string) bool {
	const sep = string(filepath.Separator)
	below, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, sep))
	return path == dir || ok && strings.HasPrefix(below, sep)
}
